// Colours, channels last: conversion between RGB and HSV, and adjustments.
//
// M and m are the greatest and the least of the channels r, g, b; C = M - m. In the circle r, g, b,
// the channels p and n are before and after the greatest one:
//
//   value V = M,  saturation S = C / M,  hue H = constant + (n - p) / (6 C),
//
// where the constant depends on which channel is the greatest, and back
//
//   channels = m + C k(H) = V (1 - S + S k(H))
//
// where k is the three channels of the pure colour of that hue (A. R. Smith, "Color gamut transform
// pairs", SIGGRAPH 1978). Among equal channels, M is the first and m the last; a gray pixel's hue
// is constant.

#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

Value LastAxisReversed(Value x) { return Call("ReverseV2", {x, x.gradient()->Ints({-1})}); }

// 1 at the first maximum of the three channels, 0 at the others.
Value FirstGreatest(Value x) {
  Gradient* g = x.gradient();
  return g->Call("OneHot", {Call("ArgMax", {StopGradient(x), g->Int(-1)}), g->Int(3),
                            g->Scalar(1, x.type()), g->Scalar(0, x.type())});
}

// The sum over the channels, whose axis stays with size 1.
Value SumChannels(Value x) { return Sum(x, x.gradient()->Int(-1), true); }

// The quantities of the formulas above for each pixel. [p] is the vector with 1 in channel p and 0
// elsewhere; `is_max` is [M] and `is_min` is [m].
struct Pixels {
  explicit Pixels(Value x)
      : is_max(FirstGreatest(x)),
        is_min(LastAxisReversed(FirstGreatest(LastAxisReversed(-x)))),
        max(SumChannels(x * is_max)),
        min(SumChannels(x * is_min)),
        range(max - min) {
    const auto roll = [](Value v, int shift) {
      Gradient* g = v.gradient();
      return g->Call("Roll", {v, g->Int(shift), g->Int(-1)});
    };
    const Value circle = roll(is_max, 1) - roll(is_max, -1);
    const Value slope = DivNoNan(SumChannels(x * circle), range);
    hue_slope = circle + slope * (is_min - is_max);
  }

  const Value is_max, is_min;   // [.., 3]
  const Value max, min, range;  // [.., 1]
  // 6 C dH / dx = ([n] - [p]) + (n - p) / C ([m] - [M]).
  Value hue_slope;
};

// The pure colour of a hue [.., 1] in [0, 1], piecewise linear in the hue:
//   k = clip(|6 H - 3| - 1), clip(2 - |6 H - 2|), clip(2 - |6 H - 4|),
// each clipped to [0, 1], and dk / d(6 H).
struct PureColour {
  explicit PureColour(Value hue) {
    Gradient& g = *hue.gradient();
    const auto vector = [&](const std::vector<double>& numbers) {
      return g.Vector(numbers, hue.type());
    };
    const Value sign = vector({1, -1, -1});
    const Value distance = 6 * hue - vector({3, 2, 4});
    const Value straight = sign * Abs(distance) + vector({-1, 2, 2});
    channels = Minimum(Maximum(straight, 0), 1);
    const Value inside = LogicalAnd(Greater(straight, 0), Less(straight, 1));
    slope = sign * Sign(distance) * Cast(inside, hue.type());
  }

  Value channels, slope;  // [.., 3]
};

// dV = [M],  dS = m / M^2 [M] - 1 / M [m]. As in Python's _RGBToHSVGrad, a
// channel at 0 has no gradient of S, and a black pixel none of H.
void RgbToHsvGrad(Gradient& g) {
  const Value x = g.Input(0);
  const Values d = CallAll("Split", {g.Int(-1), g.Upstream()}, {{"num_split", 3}});
  const Value dh = d[0], ds = d[1], dv = d[2];
  const Pixels pixels(x);
  const Value by_s =
      DivNoNan(DivNoNan(pixels.min, pixels.max) * pixels.is_max - pixels.is_min, pixels.max);
  const Value by_h = DivNoNan(pixels.hue_slope, 6 * pixels.range);
  const auto where_positive = [&](Value v, Value value) { return Where(Greater(v, 0), value, 0); };
  g.Return(
      {dv * pixels.is_max + where_positive(x, ds * by_s) + where_positive(pixels.max, dh * by_h)});
}
REGISTER_GRADIENT("RGBToHSV", RgbToHsvGrad);

void HsvToRgbGrad(Gradient& g) {
  const Value last = g.Int(-1), dy = g.Upstream();
  const Values hsv = CallAll("Split", {last, g.Input(0)}, {{"num_split", 3}});
  const Value h = hsv[0], s = hsv[1], v = hsv[2];
  const PureColour pure(h);
  const Value whiteness = pure.channels - 1;
  const Value by_h = 6 * s * v * SumChannels(dy * pure.slope);
  const Value by_s = v * SumChannels(dy * whiteness);
  const Value by_v = SumChannels(dy * (1 + s * whiteness));
  g.Return({Concat({by_h, by_s, by_v}, last)});
}
REGISTER_GRADIENT("HSVToRGB", HsvToRgbGrad);

// y = m + C k(H + delta), with the hue modulo the circle. dH / dx has a factor 1 / C, which cancels
// C in H's part of the gradient.
void AdjustHueGrad(Gradient& g) {
  // The kernels for half compute in float.
  const Value x = Cast(g.Input(0), DT_FLOAT), delta = g.Input(1);
  const Value dy = Cast(g.Upstream(), DT_FLOAT);
  const Pixels pixels(x);
  const Value hsv = Call("RGBToHSV", {x});
  const Value hue = CallAll("Split", {g.Int(-1), hsv}, {{"num_split", 3}})[0];
  const PureColour pure(FloorMod(hue + delta, 1));
  const Value by_hue = SumChannels(dy * pure.slope);  // without the factor 6 C
  const Value colourful = Cast(Greater(pixels.range, 0), DT_FLOAT);
  const Value dx = SumChannels(dy) * pixels.is_min +
                   SumChannels(dy * pure.channels) * (pixels.is_max - pixels.is_min) +
                   colourful * by_hue * pixels.hue_slope;
  g.Return({Cast(dx, g.Input(0).type()), SumAll(6 * pixels.range * by_hue)});
}
REGISTER_GRADIENT("AdjustHue", AdjustHueGrad);

// S is scaled, then clipped to [0, 1]:
//
//   y = M + f (x - M),  f = scale,  or M / C if clipped to 1,  or 0 if to 0.
//
// The kernel uses S = 0 where M is not positive.
void AdjustSaturationGrad(Gradient& g) {
  const Value x = Cast(g.Input(0), DT_FLOAT), scale = g.Input(1);
  const Value dy = Cast(g.Upstream(), DT_FLOAT);
  const Pixels pixels(x);
  const Value M = pixels.max, m = pixels.min, C = pixels.range;
  const Value scaled = scale * DivNoNan(C, M);
  const Value positive = Greater(M, 0);
  const Value is_free =
      LogicalAnd(positive, LogicalAnd(GreaterEqual(scaled, 0), LessEqual(scaled, 1)));
  const Value is_full = LogicalAnd(positive, Greater(scaled, 1));
  const auto where_full = [&](Value v) { return Where(is_full, v, 0); };
  const Value f = Where(is_free, scale * OnesLike(M), where_full(DivNoNan(M, C)));
  const Value by_f = SumChannels(dy * (x - M));
  // d(M / C) = (M dm - m dM) / C^2
  const Value by_full = DivNoNan(M * pixels.is_min - m * pixels.is_max, Square(C));
  const Value dx = f * dy + SumChannels((1 - f) * dy) * pixels.is_max + where_full(by_f) * by_full;
  g.Return({Cast(dx, g.Input(0).type()), SumAll(Where(is_free, by_f, 0))});
}
REGISTER_GRADIENT("AdjustSaturation", AdjustSaturationGrad);

// y = mean + f (x - mean), with the mean of each channel of each image.
struct Contrast {
  explicit Contrast(Gradient& g)
      : axes(g.Ints({-3, -2})),
        x(Cast(g.Input(0), DT_FLOAT)),
        f(g.Input(1)),
        difference(x - Mean(x, axes, true)) {}

  // The gradients with respect to x and f.
  Value ByImages(Value dy) const { return f * dy + (1 - f) * Mean(dy, axes, true); }
  Value ByFactor(Value dy) const { return SumAll(dy * difference); }

  const Value axes, x, f, difference;
};

void AdjustContrastV2Grad(Gradient& g) {
  const Contrast contrast(g);
  const Value dy = Cast(g.Upstream(), DT_FLOAT);
  g.Return({Cast(contrast.ByImages(dy), g.Input(0).type()), contrast.ByFactor(dy)});
}
REGISTER_GRADIENT("AdjustContrastv2", AdjustContrastV2Grad);

// TensorFlow 1's op clips the result to max_value, then to min_value.
void AdjustContrastGrad(Gradient& g) {
  const Contrast contrast(g);
  const Value dy = g.Upstream(), min_value = g.Input(2), max_value = g.Input(3);
  const Value y = contrast.x + (contrast.f - 1) * contrast.difference;
  const Value is_high = Greater(y, max_value);
  const Value is_low = Less(Minimum(y, max_value), min_value);
  const Value by_min = Where(is_low, dy, 0);
  const Value by_max = Where(LogicalAnd(is_high, LogicalNot(is_low)), dy, 0);
  const Value by_y = Where(LogicalOr(is_high, is_low), 0, dy);
  const Value images = g.Input(0);
  g.Return({IsFloating(images) ? Cast(contrast.ByImages(by_y), images.type()) : Value(),
            contrast.ByFactor(by_y), SumAll(by_min), SumAll(by_max)});
}
REGISTER_GRADIENT("AdjustContrast", AdjustContrastGrad);

}  // namespace
}  // namespace tensorflow_ext
