// SPDX-License-Identifier: Apache-2.0
//
// The rectified linear unit and its derivative, for host and device.

#ifndef TENSORFLOW_EXT_OPS_ACTIVATIONS_RELU_H_
#define TENSORFLOW_EXT_OPS_ACTIVATIONS_RELU_H_

#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// max(x, 0). Written so that NaN stays NaN.
struct Relu {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T feature) const {
    return feature <= T(0) ? T(0) : feature;
  }
};

// The upstream gradient where x > 0, else 0; also where x is NaN.
struct ReluGrad {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T feature) const {
    return feature > T(0) ? gradient : T(0);
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ACTIVATIONS_RELU_H_
