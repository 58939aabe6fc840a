// SPDX-License-Identifier: Apache-2.0
//
// The linearly scaled hyperbolic tangent and its derivative, for host, device
// and XLA.

#ifndef TENSORFLOW_EXT_OPS_ACTIVATIONS_LISHT_H_
#define TENSORFLOW_EXT_OPS_ACTIVATIONS_LISHT_H_

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// x tanh(x).
struct Lisht {
  static constexpr int kArity = 1;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return x * Tanh(x).value;
  }
};

// tanh(x) + x tanh'(x).
struct LishtGrad {
  static constexpr int kArity = 2;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const HyperbolicTangent<T> tangent = Tanh(x);
    return gradient * (tangent.value + Sloped(x, tangent.slope, kExpLimit<T>));
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ACTIVATIONS_LISHT_H_
