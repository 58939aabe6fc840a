// SPDX-License-Identifier: Apache-2.0
//
// Elementary functions for the functors of elementwise.h, without branches, so
// that compilers vectorise the loops around them: the C library's functions
// they cannot, and vector variants of those differ from the scalar ones in the
// last bits. On the host a function is the same sequence of IEEE 754 operations
// in vectors of every width and in the loop's tail: results depend on neither.
//
// Accurate to two units in the last place, slopes and what is said beside them
// to four. Infinity gives the limit, NaN gives NaN. T is float, double or, in
// XLA lowerings, XlaNumber (xla/functor_lowering.h), which brings its own
// Where, Abs, CopySign, Floor, RoundToEven, Remainder, ExpOfMinus, Exp2OfMinus
// and SquareRoundoff.
//
// Polynomials are minimax in their relative error (found with Remez' exchange
// algorithm), to less than half a unit.

#ifndef TENSORFLOW_EXT_KERNELS_ELEMENTARY_H_
#define TENSORFLOW_EXT_KERNELS_ELEMENTARY_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"

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

template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Floor(T x) {
  if constexpr (kIsFloat<T>) {
    return floorf(x);
  } else {
    return floor(x);
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

// The nearest number in [-limit, limit]; NaN stays NaN.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Clamp(T x, T limit) {
  const T at_most = Where(x > limit, limit, x);
  return Where(x < -limit, -limit, at_most);
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

// Beyond it e^-x is below the smallest normal number, and 0 here: TensorFlow's
// threads flush subnormal numbers, others do not, and both are to agree.
template <typename T>
constexpr double kExpLimit = kIsFloat<T> ? 87.33654022 : 708.39641853226408;

namespace internal {

// Adding it rounds to a whole number n, of which n + bias then stands in the
// lowest bits, bias being that of the exponents.
template <typename T>
constexpr double kRounding =
    kIsFloat<T> ? 12582912. + 127 : 6755399441055744. + 1023;

// 2^n for n + kRounding.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T PowerOfTwo(T rounded) {
  return BitCast<T>(BitCast<BitsOf<T>>(rounded) << (kIsFloat<T> ? 23 : 52));
}

// e^-x = power (1 - drop) with the power of two nearest to it, for x from 0 to
// kExpLimit.
//
// The argument is reduced as by W. J. Cody and W. Waite, "Software Manual for
// the Elementary Functions", 1980, chapter 6: x = r - n ln(2) with |r| at most
// ln(2) / 2, where ln(2) has two parts, n times the first of which is exact.
template <typename T>
struct SplitPower {
  T drop;
  T power;
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE SplitPower<T> SplitExpOfMinus(T x) {
  constexpr double kLn2High =
      kIsFloat<T> ? 0.693359375 : 6.93147180369123816490e-01;
  constexpr double kLn2Low =
      kIsFloat<T> ? -2.12194440e-4 : 1.90821492927058770002e-10;
  const T rounded = T(kRounding<T>) - x * T(1.44269504088896340736);
  const T n = rounded - T(kRounding<T>);
  const T r = (x + n * T(kLn2High)) + n * T(kLn2Low);
  T second;  // (e^-r - 1 + r) / r^2
  if constexpr (kIsFloat<T>) {
    second = Polynomial(r, 0.49999994, -0.166665211, 0.041668389,
                        -0.00836871658, 0.00138146023);
  } else {
    second = Polynomial(r, 0.50000000000000111, -0.1666666666666641,
                        0.041666666666530412, -0.0083333333334959063,
                        0.0013888888943579751, -0.00019841269503692127,
                        2.4801493139029281e-05, -2.7557588733325724e-06,
                        2.7630237233518124e-07, -2.4999378087399238e-08);
  }
  return {r - second * (r * r), PowerOfTwo<T>(rounded)};
}

}  // namespace internal

// e^-x for x >= 0.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T ExpOfMinus(T x) {
#if defined(__CUDA_ARCH__)
  return exp(-x);
#else
  const auto [drop, power] = internal::SplitExpOfMinus(x);
  return Where(x > T(kExpLimit<T>), T(0), (T(1) - drop) * power);
#endif
}

// 2^-x for x >= 0, 0 for x > kExp2Limit as above. Where the base is free, it
// takes less than e^-x: the remainder of x is exact at once.
template <typename T>
constexpr double kExp2Limit = kIsFloat<T> ? 126 : 1022;
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Exp2OfMinus(T x) {
#if defined(__CUDA_ARCH__)
  return exp2(-x);
#else
  const T rounded = T(internal::kRounding<T>) - x;
  const T r = x + (rounded - T(internal::kRounding<T>));
  T slope;  // (2^-r - 1) / r
  if constexpr (kIsFloat<T>) {
    slope = Polynomial(r, -0.69314718246, 0.24022644758, -0.055503584445,
                       0.0096188290045, -0.0013391471002, 0.00015243380039);
  } else {
    slope = Polynomial(r, -0.69314718055994529, 0.24022650695910136,
                       -0.055504108664822332, 0.009618129107592580,
                       -0.0013333558146358679, 0.00015403530458769801,
                       -1.5252733828825492e-05, 1.3215434552963929e-06,
                       -1.0178076629450276e-07, 7.0738963069213405e-09,
                       -4.4515136097622788e-10);
  }
  const T power = internal::PowerOfTwo<T>(rounded);
  return Where(x > T(kExp2Limit<T>), T(0), (T(1) + r * slope) * power);
#endif
}

// tanh(x) and what goes with it, none of which is what a difference of rounded
// numbers left over: near 0, x - tanh(x) is x^3 times a polynomial of x^2, else
// tanh(|x|) is 1 - 2 / (e^(2|x|) + 1). Where the difference itself is wanted,
// that takes more terms, up to 1.
template <typename T>
struct HyperbolicTangent {
  T value;
  T shrunk;  // x - tanh(x)
  T slope;   // 1 - tanh(x)^2
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE HyperbolicTangent<T> Tanh(T x) {
  const T y = Abs(x);
  const T decay = ExpOfMinus(y + y);
  const T rest = (decay + decay) / (T(1) + decay);  // 1 - tanh(y)
  const T z = y * y;
  T fewer, more;  // (y - tanh(y)) / y^3 up to 0.625 and 1
  if constexpr (kIsFloat<T>) {
    fewer = Polynomial(z, 0.333333284, -0.133327708, 0.0538509525,
                       -0.0209973566, 0.00609694142);
    more = Polynomial(z, 0.333333343, -0.133333102, 0.0539634228, -0.0218295846,
                      0.00869795121, -0.00320695364, 0.000923609186,
                      -0.000142823934);
  } else {
    fewer = Polynomial(
        z, 0.3333333333333332, -0.13333333333326663, 0.053968253961400078,
        -0.021869488260706064, 0.0088632298333599369, -0.0035920590006487279,
        0.0014553094319245848, -0.00058743776852807322, 0.00023077720997503811,
        -7.960081615887762e-05, 1.7245517699486129e-05);
    more = Polynomial(
        z, 0.33333333333333331, -0.13333333333333092, 0.053968253968046741,
        -0.021869488529139738, 0.0088632354047411422, -0.0035921266808673744,
        0.0014558247011305005, -0.00058997933192145356, 0.00023895716105748322,
        -9.6463005172115843e-05, 3.8389951478531612e-05,
        -1.4606501923747836e-05, 4.988038240591263e-06, -1.379319478010967e-06,
        2.6334848125504451e-07, -2.5160441116866363e-08);
  }
  const T cube = y * z;
  const T value = Where(y < T(0.625), y - cube * fewer, T(1) - rest);
  const T shrunk = Where(y < T(1), cube * more, (y - T(1)) + rest);
  return {CopySign(value, x), CopySign(shrunk, x), rest * (T(2) - rest)};
}

// The logistic function 1 / (1 + e^-x) and its derivative, which is even.
template <typename T>
struct Logistic {
  T value;
  T slope;
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE Logistic<T> Sigmoid(T x) {
  const T decay = ExpOfMinus(Abs(x));
  const T inverse = T(1) / (T(1) + decay);
  const T rest = decay * inverse;
  return {Where(x < T(0), rest, inverse), rest * inverse};
}

// x * x - square, where `square` is x * x rounded. The host, which has no fused
// multiplication and addition in its baseline, splits x in halves whose
// products are exact: T. J. Dekker, "A Floating-Point Technique for Extending
// the Available Precision", Numerische Mathematik 18, 1971.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T SquareRoundoff(T x, T square) {
#if defined(__CUDA_ARCH__)
  return fma(x, x, -square);
#else
  constexpr T kSplit = kIsFloat<T> ? T(4097) : T(134217729);  // 2^12, 2^27 + 1
  const T shifted = x * kSplit;
  const T high = shifted - (shifted - x);
  const T low = x - high;
  return ((high * high - square) + T(2) * (high * low)) + low * low;
#endif
}

// The standard normal distribution for |x| <= 40, beyond which double cannot
// tell it from its limits. Both tails have their relative accuracy: six units
// for |x| < 4, ten beyond.
//
// P(X > y) = e^(-y^2/2) p(y) / q(y) for y >= 0, as W. J. Cody, "Rational
// Chebyshev Approximations for the Error Function", Mathematics of Computation
// 23, 1969, has it, but with one quotient for all y: its coefficients are
// positive, so that no sum cancels.
template <typename T>
struct NormalDistribution {
  T cumulative;  // P(X <= x)
  T density;
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE NormalDistribution<T> Normal(T x) {
  const T y = Abs(x);
  const T square = y * y;
  // The roundoff of so large an exponent is many units of its power.
  const T decay =
      ExpOfMinus(square * T(0.5)) * (T(1) - SquareRoundoff(y, square) * T(0.5));
  T p, q;
  if constexpr (kIsFloat<T>) {
    p = Polynomial(y, 0.5, 0.407939374, 0.160210863, 0.0327207409,
                   0.00290094991);
    q = Polynomial(y, 1, 1.61376226, 1.1080271, 0.408568084, 0.0820330083,
                   0.0072713038);
  } else {
    p = Polynomial(y, 0.5, 0.81504193446219575, 0.65930301620712273,
                   0.34153305076665302, 0.1242220479488108,
                   0.032981009772982676, 0.0064611757186932893,
                   0.00092277552826006647, 9.2209959774492613e-05,
                   5.8532956985783141e-06, 1.8086255605466899e-07);
    q = Polynomial(y, 1, 2.4279684297272568, 2.7558445566104117,
                   1.9338892306292108, 0.93428835174749003, 0.32711651365937616,
                   0.084954843251616438, 0.016425995110616532,
                   0.0023277272671305845, 0.00023158944756436809,
                   1.4672036497889293e-05, 4.5335519682841286e-07);
  }
  constexpr double kInverseSqrt2Pi = 0.39894228040143267794;
  const T tail = decay * (p / q);
  return {Where(x < T(0), tail, T(1) - tail), decay * T(kInverseSqrt2Pi)};
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_ELEMENTARY_H_
