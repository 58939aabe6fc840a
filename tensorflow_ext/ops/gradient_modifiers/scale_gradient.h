// SPDX-License-Identifier: Apache-2.0
//
// Multiplication by a constant, for host and device.

#ifndef TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_SCALE_GRADIENT_H_
#define TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_SCALE_GRADIENT_H_

#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// factor * x.
struct Scale {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return T(factor) * x;
  }

  float factor;
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_SCALE_GRADIENT_H_
