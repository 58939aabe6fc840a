// SPDX-License-Identifier: Apache-2.0
//
// Rounding to an integer, for host and device.

#ifndef TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_ROUND_STRAIGHT_THROUGH_H_
#define TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_ROUND_STRAIGHT_THROUGH_H_

#include <cmath>

#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

// The nearest integer, the even one of two. Adding 2^p, p the bits of the
// mantissa, to a smaller magnitude makes the adder round so; larger ones are
// integers already. Unlike rint it vectorises on every machine, and like it, it
// keeps the sign of zero, infinity and NaN.
struct Round {
  static constexpr int kArity = 1;

  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    constexpr T kInteger = sizeof(T) == 4 ? T(1 << 23) : T(int64_t{1} << 52);
    const T magnitude = std::fabs(x);
    const T shift = magnitude < kInteger ? kInteger : T(0);
    return std::copysign((magnitude + shift) - shift, x);
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_GRADIENT_MODIFIERS_ROUND_STRAIGHT_THROUGH_H_
