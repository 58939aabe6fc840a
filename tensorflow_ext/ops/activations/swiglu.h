// SPDX-License-Identifier: Apache-2.0
//
// The SiLU-gated linear unit and its derivatives, for host, device and XLA.

#ifndef TENSORFLOW_EXT_OPS_ACTIVATIONS_SWIGLU_H_
#define TENSORFLOW_EXT_OPS_ACTIVATIONS_SWIGLU_H_

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// silu(gate) value, where silu(x) = x s(x) with the logistic function s.
struct SwiGlu {
  static constexpr int kArity = 2;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gate, T value) const {
    return Gated(gate, Sigmoid(gate).value, kExpLimit<T>) * value;
  }
};

// The gradients of both, where silu'(x) = s(x) + x s'(x).
struct SwiGluGrad {
  static constexpr int kArity = 3;
  static constexpr int kCycles = 8;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE Pair<T> operator()(T gradient, T gate,
                                                T value) const {
    const Logistic<T> logistic = Sigmoid(gate);
    const T silu = Gated(gate, logistic.value, kExpLimit<T>);
    const T slope = logistic.value + Sloped(gate, logistic.slope, kExpLimit<T>);
    return {gradient * value * slope, gradient * silu};
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ACTIVATIONS_SWIGLU_H_
