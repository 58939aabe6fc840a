// SPDX-License-Identifier: Apache-2.0
//
// The shrinkage functions and their derivatives, for host, device and XLA.

#ifndef TENSORFLOW_EXT_OPS_ACTIVATIONS_SHRINK_H_
#define TENSORFLOW_EXT_OPS_ACTIVATIONS_SHRINK_H_

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// x - tanh(x).
struct Tanhshrink {
  static constexpr int kArity = 1;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return Tanh(x).shrunk;
  }
};

// 1 - tanh'(x) = tanh(x)^2.
struct TanhshrinkGrad {
  static constexpr int kArity = 2;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T tangent = Tanh(x).value;
    return gradient * (tangent * tangent);
  }
};

// x outside [lower, upper], else 0. NaN is outside.
struct Hardshrink {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T not_above = Where(x <= T(upper), T(0), x);
    return Where(x >= T(lower), not_above, x);
  }

  float lower, upper;
};

// x - upper above the interval, x - lower below it, else 0. NaN stays NaN.
struct Softshrink {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T not_above = Where(x <= T(upper), T(0), x - T(upper));
    return Where(x >= T(lower), not_above, x - T(lower));
  }

  float lower, upper;
};

// The derivative of both: the upstream gradient outside [lower, upper], also
// where x is NaN, else 0.
struct ShrinkGrad {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T not_above = Where(x <= T(upper), T(0), gradient);
    return Where(x >= T(lower), not_above, gradient);
  }

  float lower, upper;
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ACTIVATIONS_SHRINK_H_
