// Sine, cosine and arc tangent, like the functions of elementary.h: the same bits in vectors of
// every width, accurate to two units in the last place for every argument. Sine and cosine of NaN
// and infinity are NaN. XlaNumber has its own SinCos and Atan.
//
// An angle up to kTrigonometricLimit is reduced by a few products, which vectorise. A larger angle
// is reduced with integers, in a branch. The CPU's loops choose block by block (near_number.h).

#pragma once

#include <cmath>
#include <cstdint>

#include "tensorflow_ext/kernels/elementary.h"

namespace tensorflow_ext {

template <typename T>
struct SineAndCosine {
  T sine, cosine;
};

constexpr double kTrigonometricLimit = 65536;

namespace internal {

// x = high + low + n pi/2 with a whole number n; `quadrant` has its lowest bits. |high| is at most
// pi/4, except for the roundoff of n.
template <typename T>
struct ReducedAngle {
  T high, low;
  BitsOf<T> quadrant;
};

// Adding this rounds to a whole number and leaves its lowest bits in the lowest ones.
template <typename T>
constexpr double kWhole = kIsFloat<T> ? 12582912. : 6755399441055744.;

// For |x| up to kTrigonometricLimit. pi/2 has several parts, and n times each part except the last
// is exact: W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980, chapter
// 8. The least distance of a number in this range from a multiple of pi/2 is about 2^-28 for floats
// and 2^-60 for doubles. The part of pi/2 that is left out is smaller by a further unit.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE ReducedAngle<T> ReduceNear(T x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
#if defined(__CUDA_ARCH__)
  // With fused operations every product is exact.
  constexpr T kFirst = kIsFloat<T> ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0;
  constexpr T kSecond = kIsFloat<T> ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54;
  constexpr T kThird = kIsFloat<T> ? -0x1.ee59dap-50 : -0x1.f1976b7ed8fbcp-110;
  const T rounded = fma(x, T(kTwoOverPi), T(kWhole<T>));
  const T n = rounded - T(kWhole<T>);
  const T high = fma(n, -kThird, fma(n, -kSecond, fma(n, -kFirst, x)));
  return {high, T(0), BitCast<BitsOf<T>>(rounded)};
#else
  constexpr double kFirst = 0x1.921fb544p+0;  // 33 bits, as the next two
  if constexpr (kIsFloat<T>) {
    constexpr double kRest = 0x1.0b4611a626331p-34;
    const double wide = x;
    const double rounded = wide * kTwoOverPi + kWhole<double>;
    const double n = rounded - kWhole<double>;
    const double high = (wide - n * kFirst) - n * kRest;
    return {static_cast<float>(high), 0, static_cast<uint32_t>(BitCast<uint64_t>(rounded))};
  } else {
    constexpr double kSecond = 0x1.0b4611a6p-34;
    constexpr double kThird = 0x1.3198a2ep-69;
    constexpr double kRest = 0x1.b839a252049c1p-104;
    const double rounded = x * kTwoOverPi + kWhole<double>;
    const double n = rounded - kWhole<double>;
    const double first = x - n * kFirst;  // exact
    const double second = first - n * kSecond;
    const double second_roundoff = (first - second) - n * kSecond;
    const double high = second - n * kThird;
    const double high_roundoff = (second - high) - n * kThird;
    return {high, (second_roundoff + high_roundoff) - n * kRest, BitCast<uint64_t>(rounded)};
  }
#endif
}

template <typename T>
constexpr BitsOf<T> kSignBit = BitsOf<T>{1} << (8 * sizeof(T) - 1);

// The number of leading zeros of a number other than 0.
TENSORFLOW_EXT_HOST_DEVICE int LeadingZeros(uint64_t x) {
#if defined(__CUDA_ARCH__)
  return __clzll(static_cast<long long>(x));
#else
  return __builtin_clzll(x);
#endif
}

// The same for a finite |x| of at least 1: M. H. Payne and R. N. Hanek, "Radian Reduction for
// Trigonometric Functions", ACM SIGNUM Newsletter 18, 1983. For a whole number m, x 2 / pi = m 2^e
// 2 / pi. Binary digits of 2 / pi do not matter if their product with m 2^e is a multiple of 4. The
// nearest doubles to multiples of pi/2 need 192 of the other digits.
TENSORFLOW_EXT_HOST_DEVICE ReducedAngle<double> ReduceFar(double x) {
  // 64 zeros, then the digits after the point.
  static constexpr uint64_t kTwoOverPi[] = {
      0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
      0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
      0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
      0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
  };
  constexpr uint64_t kHalfPi = 0xc90fdaa22168c234;  // times 2^63
  using Wide = unsigned __int128;
  const uint64_t bits = BitCast<uint64_t>(x);
  const uint64_t m = (bits & 0xfffffffffffff) | 0x10000000000000;
  const int e = static_cast<int>(bits >> 52 & 0x7ff) - 1075;

  // The digits starting with the one whose product with the last bit of m is 2.
  const int first = e + 62, shift = first % 64;
  const uint64_t* words = kTwoOverPi + first / 64;
  uint64_t digits[3];
  for (int k = 0; k < 3; ++k) {
    const Wide both = Wide{words[k]} << 64 | words[k + 1];
    digits[k] = static_cast<uint64_t>(both >> (64 - shift));
  }
  const Wide low = Wide{m} * digits[2];
  const Wide middle = Wide{m} * digits[1] + static_cast<uint64_t>(low >> 64);
  const uint64_t high = m * digits[0] + static_cast<uint64_t>(middle >> 64);

  // Two bits of whole number, and the fraction, from -1/2 to 1/2.
  uint64_t quadrant = high >> 62;
  Wide fraction =
      (Wide{high} << 64 | static_cast<uint64_t>(middle)) << 2 | static_cast<uint64_t>(low) >> 62;
  const bool above = (high >> 61 & 1) != 0;
  if (above) fraction = -fraction;
  quadrant += above;

  // Times pi/2, in 64 bits.
  const uint64_t upper = static_cast<uint64_t>(fraction >> 64);
  const uint64_t lower = static_cast<uint64_t>(fraction);
  const int zeros = upper != 0 ? LeadingZeros(upper) : 64 + LeadingZeros(lower | 1);
  const uint64_t leading = static_cast<uint64_t>(fraction << zeros >> 64);
  const uint64_t angle = static_cast<uint64_t>(Wide{leading} * kHalfPi >> 64);
  constexpr uint64_t kTail = 0x7ff;  // the bits that a double has no room for
  const bool negative = (bits >> 63 != 0) != above;
  const double unit = BitCast<double>(static_cast<uint64_t>(1023 - 63 - zeros) << 52);
  const double scale = negative ? -unit : unit;
  return {static_cast<double>(angle & ~kTail) * scale, static_cast<double>(angle & kTail) * scale,
          bits >> 63 != 0 ? -quadrant : quadrant};
}

template <typename T>
TENSORFLOW_EXT_HOST_DEVICE SineAndCosine<T> OfReduced(const ReducedAngle<T>& angle) {
  using Bits = BitsOf<T>;
  const T x = angle.high, square = x * x;
  const T half = square * T(0.5);
  T sine, cosine;  // of x + low, less x and 1 - x^2 / 2
  if constexpr (kIsFloat<T>) {
    sine = x * square * Polynomial(square, -0.166666542, 0.00833213297, -0.000195114579);
    cosine = square * square * Polynomial(square, 0.0416666449, -0.00138872785, 2.44287867e-5);
  } else {
    sine =
        x * square *
            Polynomial(square, -0.16666666666666628, 0.0083333333333214411, -0.0001984126982902891,
                       2.755731342108728e-6, -2.5050715563620605e-8, 1.5894318692613363e-10) +
        angle.low * (T(1) - half);
    cosine =
        square * square *
            Polynomial(square, 0.041666666666666587, -0.001388888888887209, 2.4801587288234522e-5,
                       -2.755731399732968e-7, 2.0875675639362435e-9, -1.1357208803558451e-11) -
        angle.low * x;
  }
  sine = x + sine;
  cosine = (T(1) - half) + cosine;
  // An odd quadrant swaps them. Select by the bits, because not every machine has a vector
  // instruction to choose between 64-bit numbers.
  const Bits quadrant = angle.quadrant;
  constexpr int kToSign = 8 * sizeof(T) - 2;
  const Bits swap = (BitCast<Bits>(sine) ^ BitCast<Bits>(cosine)) & -(quadrant & 1);
  const Bits sine_sign = quadrant << kToSign & kSignBit<T>;
  const Bits cosine_sign = (quadrant + 1) << kToSign & kSignBit<T>;
  return {BitCast<T>(BitCast<Bits>(sine) ^ swap ^ sine_sign),
          BitCast<T>(BitCast<Bits>(cosine) ^ swap ^ cosine_sign)};
}

}  // namespace internal

// For |x| up to kTrigonometricLimit, or NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE SineAndCosine<T> SinCosNear(T x) {
  return internal::OfReduced(internal::ReduceNear(x));
}

template <typename T>
TENSORFLOW_EXT_HOST_DEVICE SineAndCosine<T> SinCos(T x) {
  const T magnitude = Abs(x);
  if (magnitude > T(kTrigonometricLimit) && magnitude < T(INFINITY)) {
    const internal::ReducedAngle<double> angle = internal::ReduceFar(x);
    return internal::OfReduced<T>({static_cast<T>(angle.high), static_cast<T>(angle.low),
                                   static_cast<BitsOf<T>>(angle.quadrant)});
  }
  return SinCosNear(x);
}

// For functors that need only one of them.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Sin(T x) {
  return Where(x == T(0), x, SinCos(x).sine);  // keeps the sign of zero
}
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Cos(T x) {
  return SinCos(x).cosine;
}

// The angle from -pi/2 to pi/2 whose tangent is x: pi/2, pi/4 or 0 plus the angle of a tangent up
// to tan(pi/8).
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Atan(T x) {
#if defined(__CUDA_ARCH__)
  return atan(x);
#else
  constexpr double kQuarter = 0x1.921fb54442d18p-1;  // pi/4
  constexpr double kQuarterLow = kIsFloat<T> ? -0x1.777a5cf72cec6p-26 : 0x1.1a62633145c07p-55;
  const T y = Abs(x);
  const T upper = Where(y > T(2.41421356237309505), T(-1), y - T(1));
  const T lower = Where(y > T(2.41421356237309505), y, y + T(1));
  const T quarters = Where(y > T(2.41421356237309505), T(2), T(1));
  const T near = T(0.41421356237309505);
  const T base = Where(y > near, quarters, T(0));
  const T tangent = Where(y > near, upper, y) / Where(y > near, lower, T(1));
  const T square = tangent * tangent;
  T series;  // (atan(t) - t) / t^3
  if constexpr (kIsFloat<T>) {
    series =
        Polynomial(square, -0.333333164, 0.199985266, -0.142443463, 0.105987549, -0.0608885251);
  } else {
    series = Polynomial(square, -0.33333333333333193, 0.19999999999952187, -0.14285714280054526,
                        0.11111110776325173, -0.090908975517456053, 0.076920565368815544,
                        -0.066630620738607996, 0.058475825750907234, -0.050379164168573583,
                        0.038029126116471822, -0.017868224298518628);
  }
  const T rest = base * T(kQuarterLow) + tangent * square * series;
  return CopySign(base * T(kQuarter) + (rest + tangent), x);
#endif
}

}  // namespace tensorflow_ext
