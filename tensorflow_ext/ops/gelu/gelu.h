// SPDX-License-Identifier: Apache-2.0
//
// The Gaussian error linear unit and its derivative, for host, device and XLA.

#ifndef TENSORFLOW_EXT_OPS_GELU_GELU_H_
#define TENSORFLOW_EXT_OPS_GELU_GELU_H_

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
    return Gated(x, Normal(near).cumulative);
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

struct GeluTanh {
  static constexpr int kArity = 1;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T near = Clamp(x, T(kGeluLimit));
    const T cubic = T(kGeluScale * kGeluCubic) * (near * near);
    const T argument = near * (T(kGeluScale) + cubic);
    return Gated(x, Sigmoid(argument).value);
  }
};

struct GeluTanhGrad {
  static constexpr int kArity = 2;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T near = Clamp(x, T(kGeluLimit));
    const T cubic = T(kGeluScale * kGeluCubic) * (near * near);
    const T argument = near * (T(kGeluScale) + cubic);
    const T argument_slope = T(kGeluScale) + T(3) * cubic;
    const Logistic<T> logistic = Sigmoid(argument);
    return gradient * (logistic.value + near * argument_slope * logistic.slope);
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_GELU_GELU_H_
