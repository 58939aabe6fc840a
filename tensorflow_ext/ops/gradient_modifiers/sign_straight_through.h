// SPDX-License-Identifier: Apache-2.0
//
// The sign and the clipped straight-through gradient, for host and device.

#ifndef TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_SIGN_STRAIGHT_THROUGH_H_
#define TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_SIGN_STRAIGHT_THROUGH_H_

#include <cmath>

#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// 1, 0 or -1; NaN stays NaN, and zero keeps its sign.
struct Sign {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T positive_or_x = x > T(0) ? T(1) : x;
    return x < T(0) ? T(-1) : positive_or_x;
  }
};

// The upstream gradient where |x| <= clip, else 0; also where x is NaN.
struct SignStraightThroughGrad {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    return std::fabs(x) <= T(clip) ? gradient : T(0);
  }

  float clip;
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_SIGN_STRAIGHT_THROUGH_H_
