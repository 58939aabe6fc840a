// The activations and their derivatives, for host, device and XLA, and one table row for each op
// that has elementwise kernels (elementwise.h).

#pragma once

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// max(x, 0). The comparison is written so that NaN stays NaN.
struct Relu {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T feature) const {
    return Where(feature <= T(0), T(0), feature);
  }
};

// The upstream gradient where x > 0, else 0. The result is 0 where x is NaN.
struct ReluGrad {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T feature) const {
    return Where(feature > T(0), gradient, T(0));
  }
};

// Functors that compute an exponential.
struct WithExponential {
  static constexpr int kCycles = 8;
  static constexpr bool kTwoAtOnce = true;
};

// The Gaussian error linear unit. For |x| >= kGeluLimit, Phi and its approximation are 0 or 1 and
// their slopes are 0, in every type.
constexpr double kGeluLimit = 40;

// x Phi(x), where Phi is the cumulative normal distribution.
struct GeluExact {
  static constexpr int kArity = 1;
  static constexpr int kCycles = 12;
  static constexpr bool kTwoAtOnce = true;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T near = Clamp(x, T(kGeluLimit));
    return Gated(x, Normal(near).cumulative, kGeluLimit);
  }
};

// Phi(x) + x phi(x), where phi = Phi' is the normal density.
struct GeluExactGrad {
  static constexpr int kArity = 2;
  static constexpr int kCycles = 12;
  static constexpr bool kTwoAtOnce = true;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T near = Clamp(x, T(kGeluLimit));
    const NormalDistribution<T> normal = Normal(near);
    return gradient * (normal.cumulative + near * normal.density);
  }
};

// Phi(x) is about (1 + tanh(u)) / 2 = s(2u), where s is the logistic function and 2u = kGeluScale
// (x + kGeluCubic x^3).
constexpr double kGeluScale = 1.59576912160573071176;  // 2 sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

// For x > 0, s(2u) = 1 / (1 + 2^-v), where v = 2u log2(e) =
// kGeluPower x + kGeluPowerCubic x^3.
constexpr double kGeluPower = 2.3022081981443248891;
constexpr double kGeluPowerCubic = kGeluCubic * kGeluPower;

struct GeluTanh : WithExponential {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T y = Abs(x);
    const T cubic = T(kGeluPowerCubic) * (y * y);
    const T decay = Exp2OfMinus(y * (T(kGeluPower) + cubic));
    const T gate = Where(x < T(0), decay, T(1)) / (T(1) + decay);
    return Gated(x, gate, kGeluLimit);
  }
};

struct GeluTanhGrad : WithExponential {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T y = Abs(x);
    const T cubic = T(kGeluPowerCubic) * (y * y);
    const T argument = y * (T(kGeluPower) + cubic);
    const T slope = T(kGeluScale) + T(3 * kGeluScale / kGeluPower) * cubic;  // slope of 2u
    const T decay = Exp2OfMinus(argument);
    const T inverse = T(1) / (T(1) + decay);
    const T rest = decay * inverse;
    // The slope is 0 where the power is 0, even times infinity.
    const T rise = Where(argument > T(kExp2Limit<T>), T(0), (x * slope) * (rest * inverse));
    return gradient * (Where(x < T(0), rest, inverse) + rise);
  }
};

// The attribute that selects a formula.
inline constexpr char kApproximate[] = "approximate";
using Gelu = Choice<GeluTanh, GeluExact, kApproximate>;
using GeluGrad = Choice<GeluTanhGrad, GeluExactGrad, kApproximate>;

// silu(gate) value, where silu(x) = x s(x) and s is the logistic function.
struct SwiGlu : WithExponential {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gate, T value) const {
    return Gated(gate, Sigmoid(gate).value, kExpLimit<T>) * value;
  }
};

// The gradients of gate and value, where silu'(x) = s(x) + x s'(x).
struct SwiGluGrad : WithExponential {
  static constexpr int kArity = 3;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE Pair<T> operator()(T gradient, T gate, T value) const {
    const Logistic<T> logistic = Sigmoid(gate);
    const T silu = Gated(gate, logistic.value, kExpLimit<T>);
    const T slope = logistic.value + Sloped(gate, logistic.slope, kExpLimit<T>);
    return {gradient * value * slope, gradient * silu};
  }
};

// tanh(softplus(x)) = above / below and its derivative rise / below^2. They need no logarithm. With
// e = e^x they are
//
//   (e^2 + 2e) / (e^2 + 2e + 2)   and   4e (e + 1) / (e^2 + 2e + 2)^2.
//
// The code uses w = e^-|x|, which does not overflow. For x > 0 it multiplies numerator and
// denominator by w^2 and w^4.
template <typename T>
struct TanhOfSoftplus {
  T above, rise, below;
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE TanhOfSoftplus<T> MishGate(T x) {
  const T w = ExpOfMinus(Abs(x));
  const T twice = w + w, square = w * w, squares = square + square;
  const T above = Where(x < T(0), square, T(1)) + twice;
  const T rise = Where(x < T(0), twice, squares) * (twice + T(2));
  return {above, rise, above + Where(x < T(0), T(2), squares)};
}

// x tanh(softplus(x)).
struct Mish : WithExponential {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const TanhOfSoftplus<T> gate = MishGate(x);
    return Gated(x, gate.above / gate.below, kExpLimit<T>);
  }
};

struct MishGrad : WithExponential {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const TanhOfSoftplus<T> gate = MishGate(x);
    const T inverse = T(1) / gate.below;
    const T rise = Sloped(x, gate.rise, kExpLimit<T>);
    return gradient * ((gate.above + rise * inverse) * inverse);
  }
};

// x tanh(x).
struct Lisht : WithExponential {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return x * TanhValue(x);
  }
};

// tanh(x) + x tanh'(x).
struct LishtGrad : WithExponential {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const HyperbolicTangent<T> tangent = Tanh(x);
    return gradient * (tangent.value + Sloped(x, tangent.slope, kExpLimit<T>));
  }
};

// x - tanh(x).
struct Tanhshrink : WithExponential {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return Tanh(x).shrunk;
  }
};

// 1 - tanh'(x) = tanh(x)^2.
struct TanhshrinkGrad : WithExponential {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T tangent = Tanh(x).value;
    return gradient * (tangent * tangent);
  }
};

// The attributes of Hardshrink, Softshrink and their gradients.
struct ShrinkBounds {
  float lower, upper;

  template <typename Reader>
  void Read(Reader& reader) {
    reader.Range("lower", &lower, "upper", &upper);
  }
};

// x outside [lower, upper], else 0. NaN counts as outside.
struct Hardshrink : ShrinkBounds {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T not_above = Where(x <= T(upper), T(0), x);
    return Where(x >= T(lower), not_above, x);
  }
};

// x - upper above the interval, x - lower below it, else 0. NaN stays NaN.
struct Softshrink : ShrinkBounds {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T not_above = Where(x <= T(upper), T(0), x - T(upper));
    return Where(x >= T(lower), not_above, x - T(lower));
  }
};

// The derivative of Hardshrink and Softshrink: the upstream gradient where x is outside [lower,
// upper] or NaN, else 0.
struct HardshrinkGrad : ShrinkBounds {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    return Where(x == Clamp(x, T(lower), T(upper)), T(0), gradient);
  }
};
struct SoftshrinkGrad : HardshrinkGrad {};

}  // namespace tensorflow_ext

#define TENSORFLOW_EXT_ACTIVATIONS(OP)       \
  OP("TfExt>Relu", Relu)                     \
  OP("TfExt>ReluGrad", ReluGrad)             \
  OP("TfExt>Gelu", Gelu)                     \
  OP("TfExt>GeluGrad", GeluGrad)             \
  OP("TfExt>SwiGlu", SwiGlu)                 \
  OP("TfExt>SwiGluGrad", SwiGluGrad)         \
  OP("TfExt>Mish", Mish)                     \
  OP("TfExt>MishGrad", MishGrad)             \
  OP("TfExt>Lisht", Lisht)                   \
  OP("TfExt>LishtGrad", LishtGrad)           \
  OP("TfExt>Tanhshrink", Tanhshrink)         \
  OP("TfExt>TanhshrinkGrad", TanhshrinkGrad) \
  OP("TfExt>Hardshrink", Hardshrink)         \
  OP("TfExt>HardshrinkGrad", HardshrinkGrad) \
  OP("TfExt>Softshrink", Softshrink)         \
  OP("TfExt>SoftshrinkGrad", SoftshrinkGrad)
