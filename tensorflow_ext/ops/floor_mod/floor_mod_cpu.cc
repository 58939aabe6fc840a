// fmod is a function call that computes the quotient bit by bit, and an integer division does not
// vectorise. Double gives the exact quotient of two floats if it is small enough, and of any two
// int32 (floor_mod.h). A larger quotient of floats is computed 28 bits at a time. If only the
// quotient is needed, its rounded value and the sign of an exact remainder are enough, without
// double.

#include <algorithm>
#include <cmath>

#include "tensorflow_ext/kernels/broadcast_cpu.h"
#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/floor_mod/floor_mod.h"

namespace tensorflow_ext {
namespace {

constexpr int64_t kBlock = 64;

// The truncated quotients and remainders of a block. They are right if each remainder is smaller
// than its divisor, as for quotients below 2^28 of finite floats: no product or difference is
// rounded, and the remainder is a float.
template <int kX, int kY>
TENSORFLOW_EXT_INLINE void DivideInDouble(const float* x, const float* y, int64_t size,
                                          int32_t* quotients, float* remainders) {
  for (int64_t i = 0; i < size; ++i) {
    const double dividend = x[i * kX], divisor = y[i * kY];
    double ratio = dividend / divisor;
    ratio = ratio < kNearQuotient ? ratio : kNearQuotient;  // also for NaN
    ratio = ratio > -kNearQuotient ? ratio : -kNearQuotient;
    quotients[i] = static_cast<int32_t>(ratio);
    remainders[i] = static_cast<float>(dividend - divisor * quotients[i]);
  }
}

// dividend - trunc(dividend / divisor) * divisor for quotients below twice kNearQuotient.
TENSORFLOW_EXT_INLINE double Difference(double dividend, double divisor) {
  return dividend - static_cast<int32_t>(dividend / divisor) * divisor;
}

// Remainder(x, y) of any quotient, by the method of floor_mod_xla.cc. The divisor is multiplied by
// a power of two, so that the quotient is between kNearQuotient and twice that. The rest also has
// 24 bits.
TENSORFLOW_EXT_INLINE float RemainderOfAny(float x, float y) {
  if (!(std::isfinite(x) && std::isfinite(y) && y != 0)) return Remainder(x, y);
  const double divisor = y;
  double rest = x;
  while (std::fabs(rest) >= std::fabs(divisor) * kNearQuotient) {
    const double power =
        internal::BitCast<double>(internal::BitCast<int64_t>(rest / divisor) & kExponentBits);
    rest = Difference(rest, divisor * power / kNearQuotient);
  }
  return static_cast<float>(Difference(rest, divisor));
}

TENSORFLOW_EXT_INLINE bool IsRight(float remainder, float y) {
  return std::fabs(remainder) < std::fabs(y);
}

template <int kY>
TENSORFLOW_EXT_INLINE bool AllRight(const float* remainders, const float* y, int64_t size) {
  int32_t wrong = 0;
  for (int64_t i = 0; i < size; ++i) {
    wrong |= IsRight(remainders[i], y[i * kY]) ? 0 : 1;
  }
  return wrong == 0;
}

// All ones if flooring gives one less than truncating: the remainder is not 0 and its sign is not
// y's. This uses the bits, because the compiler makes branches of comparisons of floats here and
// does not vectorise the loop.
TENSORFLOW_EXT_INLINE uint32_t RoundsDown(uint32_t remainder, uint32_t y) {
  const uint32_t nonzero = (remainder & 0x7fffffff) != 0 ? ~0u : 0;
  const uint32_t differs = ((remainder ^ y) >> 31) != 0 ? ~0u : 0;
  return nonzero & differs;
}

// FloorMod of floor_mod.h.
TENSORFLOW_EXT_INLINE float FlooredByBits(float remainder, float y) {
  constexpr uint32_t kSign = 0x80000000;
  const uint32_t bits = internal::BitCast<uint32_t>(remainder);
  const uint32_t y_bits = internal::BitCast<uint32_t>(y);
  const uint32_t nonzero = (bits & ~kSign) != 0 ? ~0u : 0;
  const uint32_t base = (bits & nonzero) | (y_bits & kSign & ~nonzero);
  const uint32_t below = RoundsDown(bits, y_bits);
  // Adding -0 changes nothing, not even the sign of a zero.
  const uint32_t shift = (y_bits & below) | (kSign & ~below);
  return internal::BitCast<float>(base) + internal::BitCast<float>(shift);
}

// Splits a divisor in two halves, for floor(x / y) with |x / y| < kLargest and
// |y| between kLow and kHigh. The product of a smaller quotient and a half is
// exact. No product or difference below is subnormal.
template <typename C>
struct Halves {
  using Bits = BitsOf<C>;
  static constexpr int kBits = std::is_same_v<C, float> ? 12 : 26;
  static constexpr Bits kHighMask = ~Bits{0} << (std::is_same_v<C, float> ? 12 : 27);
  static constexpr C kLargest = static_cast<C>(Bits{1} << kBits);
  static constexpr C kLow = static_cast<C>(0x1p-90);
  static constexpr C kHigh = static_cast<C>(0x1p90);
  // Adding 1.5 * 2^(fraction bits) rounds to the nearest whole number.
  static constexpr C kRounding = static_cast<C>(Bits{3} << (std::is_same_v<C, float> ? 22 : 51));
};

// True if a quotient, or its negative, by a divisor > 0 is in reach.
template <typename C>
TENSORFLOW_EXT_INLINE bool IsInReach(C quotient, C divisor) {
  using H = Halves<C>;
  return (Abs(quotient) < H::kLargest) & (divisor >= H::kLow) & (divisor <= H::kHigh);
}

// floor(x / y) for quotients in reach: the whole number n nearest to x / y, or n - 1 where x - n y
// is negative (both for y > 0). Where the sign is in doubt, x and n y are close to each other, so
// the difference of x and n times the upper half is exact: P. H. Sterbenz, "Floating-Point
// Computation", 1974, theorem 4.3.1. Returns true if all quotients are in reach.
template <int kX, int kY, typename C>
TENSORFLOW_EXT_INLINE bool DivideFlooring(const C* x, const C* y, int64_t size, C* quotients) {
  using H = Halves<C>;
  using Bits = BitsOf<C>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(C) - 1);
  Bits beyond = 0;
  for (int64_t i = 0; i < size; ++i) {
    const Bits y_bits = internal::BitCast<Bits>(y[i * kY]);
    const C divisor = internal::BitCast<C>(y_bits & ~kSign);
    const C dividend = internal::BitCast<C>(internal::BitCast<Bits>(x[i * kX]) ^ (y_bits & kSign));
    const C upper = internal::BitCast<C>(y_bits & ~kSign & H::kHighMask);
    const C lower = divisor - upper;
    const C ratio = dividend / divisor;
    const C nearest = (ratio + H::kRounding) - H::kRounding;
    const bool over = dividend - nearest * upper < nearest * lower;
    quotients[i] = nearest - Where(over, C(1), C(0));
    beyond |= IsInReach(ratio, divisor) ? 0 : 1;
  }
  return beyond == 0;
}

// The same for a block in which some quotients are not in reach.
template <int kX, int kY>
TENSORFLOW_EXT_INLINE void DivideBeyond(const float* x, const float* y, int64_t size,
                                        float* quotients) {
  int32_t truncated[kBlock];
  float remainders[kBlock];
  DivideInDouble<kX, kY>(x, y, size, truncated, remainders);
  for (int64_t i = 0; i < size; ++i) {
    const uint32_t below = RoundsDown(internal::BitCast<uint32_t>(remainders[i]),
                                      internal::BitCast<uint32_t>(y[i * kY]));
    // `below` has all ones for -1.
    quotients[i] = static_cast<float>(truncated[i] + static_cast<int32_t>(below));
  }
  for (int64_t i = 0; i < size; ++i) {
    if (!IsRight(remainders[i], y[i * kY])) {
      quotients[i] = FlooredQuotient(x[i * kX], y[i * kY], RemainderOfAny(x[i * kX], y[i * kY]));
    }
  }
}

template <int kX, int kY>
TENSORFLOW_EXT_INLINE void DivideBeyond(const double* x, const double* y, int64_t size,
                                        double* quotients) {
  for (int64_t i = 0; i < size; ++i) {
    if (!IsInReach(x[i * kX] / y[i * kY], Abs(y[i * kY]))) {
      quotients[i] = FlooredQuotient(x[i * kX], y[i * kY]);
    }
  }
}

}  // namespace

template <>
struct BroadcastRun<FloorMod> {
  template <int kX, int kY, typename C>
  TENSORFLOW_EXT_INLINE static void Run(const C* const* inputs, C* const* outputs, int64_t size) {
    constexpr FloorMod functor{};
    const C *x = inputs[0], *y = inputs[1];
    C* output = outputs[0];
    const C x0 = x[0], y0 = y[0];
    for (int64_t i = 0; i < size; ++i) {
      output[i] = functor(kX ? x[i] : x0, kY ? y[i] : y0);
    }
  }

  template <int kX, int kY>
  TENSORFLOW_EXT_INLINE static void Run(const int32_t* const* inputs, int32_t* const* outputs,
                                        int64_t size) {
    const int32_t *x = inputs[0], *y = inputs[1];
    int32_t* output = outputs[0];
    const int32_t x0 = x[0], y0 = y[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const int32_t dividend = kX ? x[i] : x0;
      const int32_t y_i = kY ? y[i] : y0;
      // As in FloorMod. The quotient -lowest would not be an int32.
      const int32_t one = -static_cast<int32_t>((y_i == 0) | (y_i == -1));
      const int32_t divisor = (y_i & ~one) | (one & 1);
      const int32_t quotient = static_cast<int32_t>(static_cast<double>(dividend) / divisor);
      const int32_t truncated = dividend - quotient * divisor;
      const int32_t shifts = -static_cast<int32_t>((truncated != 0) & ((truncated ^ divisor) < 0));
      output[i] = truncated + (shifts & divisor);
    }
  }

  template <int kX, int kY>
  TENSORFLOW_EXT_INLINE static void Run(const float* const* inputs, float* const* outputs,
                                        int64_t size) {
    const float *x = inputs[0], *y = inputs[1];
    float* output = outputs[0];
    // The output may be x or y, which are read more than once. So a block of the output is written
    // only when it is complete.
    int32_t quotients[kBlock];
    float remainders[kBlock], result[kBlock];
    for (int64_t begin = 0; begin < size; begin += kBlock) {
      const int64_t n = std::min(kBlock, size - begin);
      const float* x_block = x + begin * kX;
      const float* y_block = y + begin * kY;
      DivideInDouble<kX, kY>(x_block, y_block, n, quotients, remainders);
      for (int64_t i = 0; i < n; ++i) {
        result[i] = FlooredByBits(remainders[i], y_block[i * kY]);
      }
      const bool all_right = AllRight<kY>(remainders, y_block, n);
      for (int64_t i = 0; !all_right && i < n; ++i) {
        if (!IsRight(remainders[i], y_block[i * kY])) {
          result[i] =
              FlooredRemainder(y_block[i * kY], RemainderOfAny(x_block[i * kX], y_block[i * kY]));
        }
      }
      std::copy_n(result, n, output + begin);
    }
  }
};

template <>
struct BroadcastRun<FloorModGrad> {
  template <int kX, int kY, typename C>
  TENSORFLOW_EXT_INLINE static void Run(const C* const* inputs, C* const* outputs, int64_t size) {
    const C *gradient = inputs[0], *x = inputs[1], *y = inputs[2];
    C* output = outputs[0];
    C quotients[kBlock];
    for (int64_t begin = 0; begin < size; begin += kBlock) {
      const int64_t n = std::min(kBlock, size - begin);
      const C* x_block = x + begin * kX;
      const C* y_block = y + begin * kY;
      if (!DivideFlooring<kX, kY>(x_block, y_block, n, quotients)) {
        DivideBeyond<kX, kY>(x_block, y_block, n, quotients);
      }
      for (int64_t i = 0; i < n; ++i) {
        output[begin + i] = -quotients[i] * gradient[begin + i];
      }
    }
  }
};

TENSORFLOW_EXT_FLOOR_MOD(INSTANTIATE_CPU_ELEMENTWISE)

int64_t FindZeroCpu(NumericType type, const void* values, int64_t size) {
  return DispatchNumeric(type, [&](auto tag) -> int64_t {
    using T = TypeOf<decltype(tag)>;
    if constexpr (std::is_integral_v<T>) {
      const T* begin = static_cast<const T*>(values);
      const T* zero = std::find(begin, begin + size, T(0));
      return zero == begin + size ? -1 : zero - begin;
    } else {
      return -1;
    }
  });
}

}  // namespace tensorflow_ext
