// ScaleAndTranslate samples images with a kernel K, y = R x S^T for each channel. On each axis,
// output o depends on input i, with pixel centres at halves, by
//
//   R_oi = W_oi / sum_j W_oj,  W_oi = K(z_oi),
//   z_oi = a (i + 1/2 - s_o),  s_o = (o + 1/2 - translation) / scale,
//
// where a = min(scale, 1) if antialiased, which makes the kernel as wide as the output's pixels,
// else a = 1. Samples s_o outside of the image give 0. The kernels are those of sampling_kernels.h.
// They are smooth except at edges, so scale and translation have gradients; a box has no slope.

#include <string>
#include <utility>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/stock_gradients/image/image.h"

namespace tensorflow_ext {
namespace {

// A kernel, which is even, at x >= 0, and its derivative.
struct Kernel {
  Value value, slope;
};

// radius sinc(x) sinc(x / radius), and 1 near 0, with the slope of the second order in x there
// (Duchon, "Lanczos filtering in one and two dimensions", 1979).
Kernel Lanczos(Value x, double radius) {
  constexpr double kPi = 3.14159265358979323846;
  const Value is_near = Less(x, 1e-3), is_far = Greater(x, radius);
  const Value u = Where(is_near, 1, x), v = u / radius;
  const auto sinc = [](Value t) { return Sin(kPi * t) / (kPi * t); };
  const auto slope = [&](Value t) { return (Cos(kPi * t) - sinc(t)) / t; };
  const double curvature = -kPi * kPi / 3 * (1 + 1 / (radius * radius));
  return {Where(is_far, 0, Where(is_near, 1, sinc(u) * sinc(v))),
          Where(is_far, 0,
                Where(is_near, curvature * x, slope(u) * sinc(v) + sinc(u) * slope(v) / radius))};
}

// p + q x + r x^2 + s x^3
struct Cubic {
  double p, q, r, s;
  Value At(Value x) const { return ((s * x + r) * x + q) * x + p; }
  Value Slope(Value x) const { return (3 * s * x + 2 * r) * x + q; }
};

// One cubic in [0, 1), another in [1, 2), 0 beyond.
Kernel Cubics(Value x, const Cubic& near, const Cubic& far) {
  const auto either = [&](Value inner, Value outer) {
    return Where(Less(x, 1), inner, Where(Less(x, 2), outer, 0));
  };
  return {either(near.At(x), far.At(x)), either(near.Slope(x), far.Slope(x))};
}

Kernel KernelAt(const std::string& type, Value x) {
  if (type == "lanczos1") return Lanczos(x, 1);
  if (type == "lanczos3") return Lanczos(x, 3);
  if (type == "lanczos5") return Lanczos(x, 5);
  if (type == "keyscubic") {
    return Cubics(x, {1, 0, -2.5, 1.5}, {2, -4, 2.5, -0.5});
  }
  if (type == "mitchellcubic") {
    return Cubics(x, {8.0 / 9, 0, -2, 7.0 / 6}, {16.0 / 9, -10.0 / 3, 2, -7.0 / 18});
  }
  if (type == "gaussian") {
    const Value bell = Where(Less(x, 1.5), Exp(-2 * Square(x)), 0);
    return {bell, -4 * x * bell};
  }
  const Value inside = Cast(Less(x, 1), x.type());  // triangle
  return {Maximum(1 - x, 0), -inside};
}

// R along one axis, and the gradients for scale and translation.
class Axis {
 public:
  // `i`: the axis, with `in` and `out` pixels.
  Axis(Gradient& g, int i, Value in, Value out) : g_(g) {
    const Value scale = Element(g.Input(2), i);
    const Value translation = Element(g.Input(3), i);
    const bool antialias = g.Attr<bool>("antialias");
    const auto centres = [&](Value count) {
      return Cast(Range(g.Int(0), count, g.Int(1)), DT_FLOAT) + 0.5;
    };
    inverse_ = 1 / scale;
    sample_ = ExpandDims(centres(out) * inverse_ - inverse_ * translation, g.Int(1));
    distance_ = centres(in) - sample_;
    width_ = antialias ? Minimum(scale, 1) : OnesLike(scale);
    is_wide_ = antialias ? Cast(Less(scale, 1), DT_FLOAT) : ZerosLike(scale);
    inside_ = Cast(LogicalAnd(GreaterEqual(sample_, 0), LessEqual(sample_, Cast(in, DT_FLOAT))),
                   DT_FLOAT);
    const Value z = width_ * distance_;
    const Kernel kernel = KernelAt(g.Attr<std::string>("kernel_type"), Abs(z));
    slope_ = Sign(z) * kernel.slope;
    const Value weights = inside_ * kernel.value;
    total_ = Sum(weights, g.Int(1), true);
    shares_ = DivNoNan(weights, total_);
  }

  Value shares() const { return shares_; }  // R, [out, in]

  // The gradients for scale and translation, from the gradient for R.
  std::pair<Value, Value> Gradients(Value by_shares) const {
    const Value mean = Sum(by_shares * shares_, g_.Int(1), true);
    const Value by_z = inside_ * DivNoNan(by_shares - mean, total_) * slope_;
    const Value by_sample = -by_z * width_;
    return {SumAll(by_z * distance_ * is_wide_ - by_sample * sample_ * inverse_),
            -SumAll(by_sample * inverse_)};
  }

 private:
  Gradient& g_;
  Value inverse_;   // 1 / scale
  Value sample_;    // s, [out, 1]
  Value distance_;  // i + 1/2 - s, [out, in]
  Value width_;     // a
  Value is_wide_;   // da / dscale
  Value inside_;    // 1 or 0, [out, 1]
  Value slope_;     // dW / dz
  Value total_;     // sum of W, [out, 1]
  Value shares_;
};

// The gradients of the sum of dy R x S^T for scale and translation.
std::pair<Value, Value> ByPlace(Gradient& g, Value x, Value dy) {
  if (g.Attr<std::string>("kernel_type") == "box") return {};
  const Value from = ImageSize(x), to = ImageSize(dy);
  const Axis rows(g, 0, Element(from, 0), Element(to, 0));
  const Axis columns(g, 1, Element(from, 1), Element(to, 1));
  const Value in_columns = Einsum("bijc,wj->biwc", {x, columns.shares()});
  const Value in_rows = Einsum("bijc,hi->bhjc", {x, rows.shares()});
  const auto [row_scale, row_translation] =
      rows.Gradients(Einsum("bhwc,biwc->hi", {dy, in_columns}));
  const auto [column_scale, column_translation] =
      columns.Gradients(Einsum("bhwc,bhjc->wj", {dy, in_rows}));
  return {Pack({row_scale, column_scale}), Pack({row_translation, column_translation})};
}

// Python's and TensorFlow's client gradients cover only the images.
void ScaleAndTranslateGrad(Gradient& g) {
  const Value images = g.Input(0), dy = g.Upstream();
  const Value x = Cast(images, DT_FLOAT);
  Value dx;
  if (IsFloating(images)) {
    dx = Cast(g.Call("ScaleAndTranslateGrad", {dy, x, g.Input(2), g.Input(3)},
                     g.AttrsOfOp({"kernel_type", "antialias"})),
              images.type());
  }
  const auto [by_scale, by_translation] = ByPlace(g, x, dy);
  g.Return({dx, Value(), by_scale, by_translation});
}
REGISTER_STAND_IN("ScaleAndTranslate", ScaleAndTranslateGrad);

// R^T dy S, the transpose: the upstream gradient is an image x.
void ScaleAndTranslateGradGrad(Gradient& g) {
  const Value dy = g.Input(0), x = g.Upstream();
  const Value resized = g.Call("ScaleAndTranslate", {x, ImageSize(dy), g.Input(2), g.Input(3)},
                               g.AttrsOfOp({"kernel_type", "antialias"}));
  const auto [by_scale, by_translation] = ByPlace(g, x, dy);
  g.Return({resized, Value(), by_scale, by_translation});
}
REGISTER_GRADIENT("ScaleAndTranslateGrad", ScaleAndTranslateGradGrad);

}  // namespace
}  // namespace tensorflow_ext
