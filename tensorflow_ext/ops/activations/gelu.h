// SPDX-License-Identifier: Apache-2.0
//
// The Gaussian error linear unit and its derivative, for host, device and XLA.

#ifndef TENSORFLOW_EXT_OPS_ACTIVATIONS_GELU_H_
#define TENSORFLOW_EXT_OPS_ACTIVATIONS_GELU_H_

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// From here on Phi and its approximation are 0 and 1, their slopes 0, in every
// type.
constexpr double kGeluLimit = 40;

// x Phi(x) with the cumulative normal distribution Phi.
struct GeluExact {
  static constexpr int kArity = 1;
  static constexpr int kCycles = 12;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T near = Clamp(x, T(kGeluLimit));
    return Gated(x, Normal(near).cumulative, kGeluLimit);
  }
};

// Phi(x) + x phi(x) with the normal density phi = Phi'.
struct GeluExactGrad {
  static constexpr int kArity = 2;
  static constexpr int kCycles = 12;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T near = Clamp(x, T(kGeluLimit));
    const NormalDistribution<T> normal = Normal(near);
    return gradient * (normal.cumulative + near * normal.density);
  }
};

// Phi(x) is about (1 + tanh(u)) / 2 = s(2u), with the logistic function s and
// 2u = kGeluScale (x + kGeluCubic x^3).
constexpr double kGeluScale = 1.59576912160573071176;  // 2 sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

// For x > 0 that is 1 / (1 + 2^-v) with v = 2u log2(e), that is kGeluPower x +
// kGeluPowerCubic x^3.
constexpr double kGeluPower = 2.3022081981443248891;
constexpr double kGeluPowerCubic = kGeluCubic * kGeluPower;

struct GeluTanh {
  static constexpr int kArity = 1;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T y = Abs(x);
    const T cubic = T(kGeluPowerCubic) * (y * y);
    const T decay = Exp2OfMinus(y * (T(kGeluPower) + cubic));
    const T gate = Where(x < T(0), decay, T(1)) / (T(1) + decay);
    return Gated(x, gate, kGeluLimit);
  }
};

struct GeluTanhGrad {
  static constexpr int kArity = 2;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T y = Abs(x);
    const T cubic = T(kGeluPowerCubic) * (y * y);
    const T argument = y * (T(kGeluPower) + cubic);
    const T slope =
        T(kGeluScale) + T(3 * kGeluScale / kGeluPower) * cubic;  // of 2u
    const T decay = Exp2OfMinus(argument);
    const T inverse = T(1) / (T(1) + decay);
    const T rest = decay * inverse;
    // The slope is 0 where the power is; infinity times 0 is to be 0.
    const T rise = Where(argument > T(kExp2Limit<T>), T(0),
                         (x * slope) * (rest * inverse));
    return gradient * (Where(x < T(0), rest, inverse) + rise);
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ACTIVATIONS_GELU_H_
