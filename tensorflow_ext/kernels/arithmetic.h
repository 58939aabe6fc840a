// SPDX-License-Identifier: Apache-2.0
//
// What the elementary functions (elementary.h) and functors are written with
// besides + - * /: without branches, of T float, double, or a class that stands
// for one and brings its own.

#ifndef TENSORFLOW_EXT_KERNELS_ARITHMETIC_H_
#define TENSORFLOW_EXT_KERNELS_ARITHMETIC_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"

#if !defined(__CUDACC__)
// As functions that give a value and do nothing else: a compiler that has to
// set errno does not vectorise the loops around them.
extern "C" float sqrtf(float) noexcept __attribute__((const));
extern "C" double sqrt(double) noexcept __attribute__((const));
#endif

namespace tensorflow_ext {

// float or double: what T computes in.
template <typename T>
struct RealOf {
  using type = T;
};
template <typename T>
constexpr bool kIsFloat = std::is_same_v<typename RealOf<T>::type, float>;

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// a where the condition holds, else b. The host computes both, with masks:
// where it could branch around one, compilers do not vectorise for every
// instruction set.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Where(bool condition, T a, T b) {
#if defined(__CUDA_ARCH__)
  return condition ? a : b;
#else
  using Bits = BitsOf<T>;
  const Bits mask = -static_cast<Bits>(condition);
  return internal::BitCast<T>((internal::BitCast<Bits>(a) & mask) |
                              (internal::BitCast<Bits>(b) & ~mask));
#endif
}

template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Abs(T x) {
  if constexpr (kIsFloat<T>) {
    return fabsf(x);
  } else {
    return fabs(x);
  }
}

template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T CopySign(T magnitude, T sign) {
  if constexpr (kIsFloat<T>) {
    return copysignf(magnitude, sign);
  } else {
    return copysign(magnitude, sign);
  }
}

// The nearest integer, the even one of two. Adding 2^p, p the bits of the
// mantissa, to a smaller magnitude makes the adder round so; larger ones are
// integers already. Unlike rint it vectorises on every machine, and like it, it
// keeps the sign of zero, infinity and NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T RoundToEven(T x) {
  constexpr T kInteger = sizeof(T) == 4 ? T(1 << 23) : T(int64_t{1} << 52);
  const T magnitude = Abs(x);
  const T shift = magnitude < kInteger ? kInteger : T(0);
  return CopySign((magnitude + shift) - shift, x);
}

// Rounded correctly. That of a negative number is NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Sqrt(T x) {
  if constexpr (kIsFloat<T>) {
    return sqrtf(x);
  } else {
    return sqrt(x);
  }
}

// 1 / sqrt(x), infinity of x's sign for zero.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Rsqrt(T x) {
#if defined(__CUDA_ARCH__)
  return rsqrt(x);
#else
  return T(1) / Sqrt(x);
#endif
}

// The next integer below, which floorf finds in vectors on few machines.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Floor(T x) {
#if defined(__CUDA_ARCH__)
  return floor(x);
#else
  const T nearest = RoundToEven(x);
  return Where(nearest > x, nearest - T(1), nearest);
#endif
}

// That of the division whose quotient is truncated: of x's sign.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Remainder(T x, T y) {
  if constexpr (kIsFloat<T>) {
    return fmodf(x, y);
  } else {
    return fmod(x, y);
  }
}

// x * gate, where the gate vanishes with x and is 0 below -limit: there the
// product is 0 too, of minus infinity as well. NaN stays NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Gated(T x, T gate, double limit) {
  return Where(x < T(-limit), T(0), x * gate);
}

// x * slope, where the slope is 0 for |x| > limit: so is the product there, of
// infinity as well. NaN stays NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Sloped(T x, T slope, double limit) {
  return Where(Abs(x) > T(limit), T(0), x * slope);
}

// The nearest number in [lower, upper]; NaN stays NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Clamp(T x, T lower, T upper) {
  const T at_most = Where(x > upper, upper, x);
  return Where(x < lower, lower, at_most);
}
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Clamp(T x, T limit) {
  return Clamp(x, -limit, limit);
}

namespace internal {

// c[0] + c[2] x + c[4] x^2 + ..., by Horner's rule.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T EverySecond(T /*x*/, double c) {
  return T(c);
}
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T EverySecond(T /*x*/, double c, double /*next*/) {
  return T(c);
}
template <typename T, typename... Rest>
TENSORFLOW_EXT_HOST_DEVICE T EverySecond(T x, double c, double /*next*/,
                                         Rest... rest) {
  return T(c) + x * EverySecond(x, rest...);
}

}  // namespace internal

// c[0] + c[1] x + c[2] x^2 + .... The even terms and the odd ones are found
// side by side: a processor would wait for every step of one long Horner's
// rule.
template <typename T, typename... Rest>
TENSORFLOW_EXT_HOST_DEVICE T Polynomial(T x, double c, Rest... rest) {
  const T square = x * x;
  return internal::EverySecond(square, c, rest...) +
         x * internal::EverySecond(square, rest...);
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_ARITHMETIC_H_
