// SPDX-License-Identifier: Apache-2.0
//
// Floored division, remainder and quotient, for host, device and XLA; the
// results are NumPy's mod and floor_divide:
// https://numpy.org/doc/stable/reference/generated/numpy.divmod.html

#ifndef TENSORFLOW_EXT_OPS_FLOOR_MOD_FLOOR_MOD_H_
#define TENSORFLOW_EXT_OPS_FLOOR_MOD_FLOOR_MOD_H_

#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/elementary.h"

namespace tensorflow_ext {

// A quotient of two floats below it is found exactly in double: its distance
// from the whole numbers is then either 0 or more than double's rounding.
constexpr double kNearQuotient = 0x1p28;
// Of the bits of a double, those that are left of a power of two.
constexpr int64_t kExponentBits = 0x7ff0000000000000;

// Whether the floored quotient is one less than the truncated one, which leaves
// a remainder of x's sign.
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE auto IsFlooredBelow(C truncated, C y) {
  return (truncated != C(0)) & ((truncated < C(0)) != (y < C(0)));
}

// The quotient that the floored remainder belongs to: x = quotient * y + mod.
// (x - mod) / y is a whole number but for its rounding, which this takes away.
// `truncated` is Remainder(x, y).
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE C FlooredQuotient(C x, C y, C truncated) {
  const C ratio = (x - truncated) / y;
  const C quotient = Where(IsFlooredBelow(truncated, y), ratio - C(1), ratio);
  const C whole = Floor(quotient);
  const C rounded = Where(quotient - whole > C(0.5), whole + C(1), whole);
  return Where(y == C(0), x / y, rounded);
}
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE C FlooredQuotient(C x, C y) {
  return FlooredQuotient(x, y, Remainder(x, y));
}

// The floored remainder, of y's sign, zero included.
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE C FlooredRemainder(C y, C truncated) {
  const C floored =
      Where(IsFlooredBelow(truncated, y), truncated + y, truncated);
  return Where(truncated == C(0), CopySign(C(0), y), floored);
}

struct FloorMod {
  static constexpr int kArity = 2;
  static constexpr bool kIntegers = true;
  static constexpr int64_t kCost = 10;

  template <typename C>
  TENSORFLOW_EXT_HOST_DEVICE C operator()(C x, C y) const {
    if constexpr (std::is_integral_v<typename RealOf<C>::type>) {
      // The divisors 0 and -1 would trap; every x is a multiple of -1.
      const C divisor = Where((y == C(0)) | (y == C(-1)), C(1), y);
      const C truncated = x % divisor;
      // Their sum, where it is not wanted, may be too large for C.
      return truncated +
             Where(IsFlooredBelow(truncated, divisor), divisor, C(0));
    } else {
      return FlooredRemainder(y, Remainder(x, y));
    }
  }
};

// -floor(x / y) * gradient.
struct FloorModGrad {
  static constexpr int kArity = 3;
  static constexpr bool kIntegers = false;
  static constexpr int64_t kCost = 10;

  template <typename C>
  TENSORFLOW_EXT_HOST_DEVICE C operator()(C gradient, C x, C y) const {
    return -FlooredQuotient(x, y) * gradient;
  }
};

// The first of `size` integers that is 0; -1 if none is.
int64_t FindZeroCpu(NumericType type, const void* values, int64_t size);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_FLOOR_MOD_FLOOR_MOD_H_
