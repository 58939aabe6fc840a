// SPDX-License-Identifier: Apache-2.0
//
// Clipping to an interval and its derivative, for host and device.

#ifndef TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_CLIP_GRADIENT_H_
#define TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_CLIP_GRADIENT_H_

#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// The nearest number in [min, max]; NaN stays NaN.
struct Clip {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T at_least_min = x < T(min) ? T(min) : x;
    return at_least_min > T(max) ? T(max) : at_least_min;
  }

  float min, max;
};

// The upstream gradient where min <= x <= max, else 0; also where x is NaN.
struct ClipGrad {
  static constexpr int kArity = 2;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T x) const {
    const T above = x >= T(min) ? gradient : T(0);
    return x <= T(max) ? above : T(0);
  }

  float min, max;
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_CLIP_GRADIENT_H_
