// Functions that the elementary functions (elementary.h) and functors use besides + - * /. They
// have no branches. T is float, double, or a class that stands for one and has its own versions.

#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"

#if !defined(__CUDACC__)
// Declared as functions without side effects: a compiler that must set errno does not vectorise the
// loops around them.
extern "C" float sqrtf(float) noexcept __attribute__((const));
extern "C" double sqrt(double) noexcept __attribute__((const));
#endif

namespace tensorflow_ext {

// The type that T computes in: float or double.
template <typename T>
struct RealOf {
  using type = T;
};
template <typename T>
constexpr bool kIsFloat = std::is_same_v<typename RealOf<T>::type, float>;

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// a where the condition holds, else b. The host computes both and masks them: compilers do not
// vectorise a possible branch for every instruction set.
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

// The nearest integer, ties to even. A magnitude of 2^p or more, where p is the number of mantissa
// bits, is an integer already. Adding 2^p to a smaller one makes the adder round it. Unlike rint
// this vectorises on every machine; like rint it keeps the sign of zero, infinity and NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T RoundToEven(T x) {
  constexpr T kInteger = sizeof(T) == 4 ? T(1 << 23) : T(int64_t{1} << 52);
  const T magnitude = Abs(x);
  const T shift = magnitude < kInteger ? kInteger : T(0);
  return CopySign((magnitude + shift) - shift, x);
}

// The correctly rounded square root; NaN for a negative number.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Sqrt(T x) {
  if constexpr (kIsFloat<T>) {
    return sqrtf(x);
  } else {
    return sqrt(x);
  }
}

// 1 / sqrt(x); infinity with the sign of x for zero.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Rsqrt(T x) {
#if defined(__CUDA_ARCH__)
  return rsqrt(x);
#else
  return T(1) / Sqrt(x);
#endif
}

// The greatest integer up to x. Few machines have floorf in vectors.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Floor(T x) {
#if defined(__CUDA_ARCH__)
  return floor(x);
#else
  const T nearest = RoundToEven(x);
  return Where(nearest > x, nearest - T(1), nearest);
#endif
}

// The remainder of x / y for a truncated quotient; it has the sign of x.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Remainder(T x, T y) {
  if constexpr (kIsFloat<T>) {
    return fmodf(x, y);
  } else {
    return fmod(x, y);
  }
}

// x * gate, where the gate goes to 0 with x and is 0 below -limit. The product is 0 there too, even
// for minus infinity. NaN stays NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Gated(T x, T gate, double limit) {
  return Where(x < T(-limit), T(0), x * gate);
}

// x * slope, where the slope is 0 for |x| > limit. The product is 0 there too, even for infinity.
// NaN stays NaN.
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
TENSORFLOW_EXT_HOST_DEVICE T EverySecond(T x, double c, double /*next*/, Rest... rest) {
  return T(c) + x * EverySecond(x, rest...);
}

}  // namespace internal

// c[0] + c[1] x + c[2] x^2 + .... Evaluates even and odd terms side by side, because each step of
// one long Horner's rule would wait for the step before.
template <typename T, typename... Rest>
TENSORFLOW_EXT_HOST_DEVICE T Polynomial(T x, double c, Rest... rest) {
  const T square = x * x;
  return internal::EverySecond(square, c, rest...) + x * internal::EverySecond(square, rest...);
}

}  // namespace tensorflow_ext
