// Log, Log2 and Log1p; see elementary.h.
//
// x = m 2^e with m from sqrt(1/2) to sqrt(2); with s = (m - 1) / (m + 1), log(m) = 2 atanh(s) = 2 s
// + 2/3 s^3 + ....

#pragma once

#include <cmath>

#include "tensorflow_ext/kernels/exponential.h"

namespace tensorflow_ext {
namespace internal {

template <typename T>
struct SplitNumber {
  T mantissa, exponent;
};

template <typename T>
constexpr int kFractionBits = kIsFloat<T> ? 23 : 52;
template <typename T>
constexpr double kSmallestNormal = kIsFloat<T> ? 0x1p-126 : 0x1p-1022;

// Splits a positive finite number.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE SplitNumber<T> SplitPositive(T x) {
  using Bits = BitsOf<T>;
  constexpr int kFraction = kFractionBits<T>;
  constexpr double kUp = kIsFloat<T> ? 0x1p24 : 0x1p54;
  constexpr int kBias = kIsFloat<T> ? 127 : 1023;
  constexpr double kWhole = kIsFloat<T> ? 0x1p23 : 0x1p52;
  constexpr Bits kOne = Bits{kBias} << kFraction;
  constexpr Bits kRoot = kIsFloat<T> ? 0x3f3504f3 : 0x3fe6a09e667f3bcc;
  const T scale = Where(x < T(kSmallestNormal<T>), T(kUp), T(1));
  const T up = Where(x < T(kSmallestNormal<T>), T(kIsFloat<T> ? 24 : 54), T(0));
  const Bits bits = BitCast<Bits>(x * scale) + (kOne - kRoot);
  // In the last bits of a number whose unit is 1, because not every machine converts 64-bit
  // integers in vectors.
  const T exponent = BitCast<T>(bits >> kFraction | BitCast<Bits>(T(kWhole))) - T(kWhole + kBias);
  const T mantissa = BitCast<T>((bits & ((Bits{1} << kFraction) - 1)) + kRoot);
  return {mantissa, exponent - up};
}

// log(1 + f) - (f - f^2 / 2).
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T LogRest(T f) {
  const T s = f / (T(2) + f);
  const T z = s * s;
  T series;
  if constexpr (kIsFloat<T>) {
    series = Polynomial(z, 0.666666627, 0.400009722, 0.284988135, 0.242778376);
  } else {
    series = Polynomial(z, 0.6666666666666734, 0.39999999999416469, 0.28571428742106059,
                        0.22222198593013689, 0.18183563683198467, 0.15314058428789371,
                        0.14795947376999197);
  }
  return s * (f * f * T(0.5) + z * series);
}

// `value` for positive finite x, else the logarithm's limit or NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T WithLimits(T x, T zero, T value) {
  const T finite = Where(x < T(INFINITY), value, x);
  const T positive = Where(x > zero, finite, T(NAN));
  return Where(x == zero, T(-INFINITY), positive);
}

}  // namespace internal

// Minus infinity for zero, NaN for negative numbers.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Log(T x) {
#if defined(__CUDA_ARCH__)
  return log(x);
#else
  const auto [mantissa, e] = internal::SplitPositive(x);
  const T f = mantissa - T(1);
  const T low = internal::LogRest(f) + e * T(internal::kLn2Low<T>);
  const T value = e * T(internal::kLn2High<T>) - ((f * f * T(0.5) - low) - f);
  return internal::WithLimits(x, T(0), value);
#endif
}

// The same for base 2; exact for powers of two.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Log2(T x) {
#if defined(__CUDA_ARCH__)
  return log2(x);
#else
  using Bits = BitsOf<T>;
  // 1 / ln(2) in two parts. The first times a number with half the digits is exact.
  constexpr double kHigh = kIsFloat<T> ? 0x1.716p+0 : 0x1.7154765p+0;
  constexpr double kLow = kIsFloat<T> ? -0x1.7135a8fa03d11p-13 : 0x1.5c17f0bbbe880p-31;
  constexpr Bits kHalf = ~((Bits{1} << (kIsFloat<T> ? 12 : 32)) - 1);
  const auto [mantissa, e] = internal::SplitPositive(x);
  const T f = mantissa - T(1);
  const T half_square = f * f * T(0.5);
  const T high = internal::BitCast<T>(internal::BitCast<Bits>(f - half_square) & kHalf);
  const T low = ((f - high) - half_square) + internal::LogRest(f);
  const T leading = high * T(kHigh);
  const T sum = e + leading;
  const T rest = ((e - sum) + leading) + ((low + high) * T(kLow) + low * T(kHigh));
  return internal::WithLimits(x, T(0), sum + rest);
#endif
}

// log(1 + x), without the rounding of that sum for small x.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Log1p(T x) {
#if defined(__CUDA_ARCH__)
  return log1p(x);
#else
  const T sum = T(1) + x;
  const auto [mantissa, e] = internal::SplitPositive(sum);
  // For large x the loss changes the result by less than a unit.
  const T lost = Where(x > T(1), T(1) - (sum - x), x - (sum - T(1)));
  const T f = Where(e == T(0), x, mantissa - T(1));
  const T correction = Where(e == T(0), T(0), lost / sum);
  const T low = internal::LogRest(f) + (e * T(internal::kLn2Low<T>) + correction);
  const T value = e * T(internal::kLn2High<T>) - ((f * f * T(0.5) - low) - f);
  constexpr double kLinear = kIsFloat<T> ? 0x1p-26 : 0x1p-55;
  return internal::WithLimits(x, T(-1), Where(Abs(x) < T(kLinear), x, value));
#endif
}

}  // namespace tensorflow_ext
