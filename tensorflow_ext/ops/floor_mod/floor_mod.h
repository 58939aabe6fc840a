// Floored division, remainder and quotient, for host, device and XLA. The results are those of
// NumPy's mod and floor_divide: https://numpy.org/doc/stable/reference/generated/numpy.divmod.html

#pragma once

#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/elementary.h"

namespace tensorflow_ext {

// Double gives the exact whole quotient of two floats below this limit: its distance from whole
// numbers is 0 or more than double's rounding.
constexpr double kNearQuotient = 0x1p28;
// The bits of a double that remain in a power of two.
constexpr int64_t kExponentBits = 0x7ff0000000000000;

// True if the floored quotient is one less than the truncated one, which leaves a remainder of x's
// sign.
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE auto IsFlooredBelow(C truncated, C y) {
  return (truncated != C(0)) & ((truncated < C(0)) != (y < C(0)));
}

// The quotient that the floored remainder belongs to: x = quotient * y + mod. (x - mod) / y is a
// whole number except for its rounding, which this function removes. `truncated` is Remainder(x,
// y).
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

// The floored remainder. It has y's sign, even if it is zero.
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE C FlooredRemainder(C y, C truncated) {
  const C floored = Where(IsFlooredBelow(truncated, y), truncated + y, truncated);
  return Where(truncated == C(0), CopySign(C(0), y), floored);
}

struct FloorMod {
  static constexpr int kArity = 2;
  static constexpr bool kBroadcasts = true;
  static constexpr bool kIntegers = true;
  static constexpr int kCost = 10;

  template <typename C>
  TENSORFLOW_EXT_HOST_DEVICE C operator()(C x, C y) const {
    if constexpr (std::is_integral_v<typename RealOf<C>::type>) {
      // The divisors 0 and -1 would trap. Every x is a multiple of -1.
      const C divisor = Where((y == C(0)) | (y == C(-1)), C(1), y);
      const C truncated = x % divisor;
      // Where it is not needed, truncated + divisor may overflow C.
      return truncated + Where(IsFlooredBelow(truncated, divisor), divisor, C(0));
    } else {
      return FlooredRemainder(y, Remainder(x, y));
    }
  }
};

// -floor(x / y) * gradient.
struct FloorModGrad {
  static constexpr int kArity = 3;
  static constexpr bool kBroadcasts = true;
  static constexpr int kCost = 10;

  template <typename C>
  TENSORFLOW_EXT_HOST_DEVICE C operator()(C gradient, C x, C y) const {
    return -FlooredQuotient(x, y) * gradient;
  }
};

// The index of the first of `size` integers that is 0, or -1.
int64_t FindZeroCpu(NumericType type, const void* values, int64_t size);

}  // namespace tensorflow_ext

#define TENSORFLOW_EXT_FLOOR_MOD(OP) \
  OP("TfExt>FloorMod", FloorMod)     \
  OP("TfExt>FloorModGrad", FloorModGrad)
