// The error function and the normal distribution, see elementary.h.

#pragma once

#include "tensorflow_ext/kernels/exponential.h"

namespace tensorflow_ext {

// The standard normal distribution for |x| <= 40, beyond which double cannot tell it from its
// limits. Both tails keep their relative accuracy: six units for |x| < 4, ten beyond.
//
// P(X > y) = e^(-y^2/2) p(y) / q(y) for y >= 0, as in W. J. Cody, "Rational Chebyshev
// Approximations for the Error Function", Mathematics of Computation 23, 1969, but with one
// quotient for all y. Its coefficients are positive, so no sum cancels.
template <typename T>
struct NormalDistribution {
  T cumulative;  // P(X <= x)
  T density;
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE NormalDistribution<T> Normal(T x) {
  const T y = Abs(x);
  const T decay = ExpOfMinusHalfSquare(y);
  T p, q;
  if constexpr (kIsFloat<T>) {
    p = Polynomial(y, 0.5, 0.407939374, 0.160210863, 0.0327207409, 0.00290094991);
    q = Polynomial(y, 1, 1.61376226, 1.1080271, 0.408568084, 0.0820330083, 0.0072713038);
  } else {
    p = Polynomial(y, 0.5, 0.81504193446219575, 0.65930301620712273, 0.34153305076665302,
                   0.1242220479488108, 0.032981009772982676, 0.0064611757186932893,
                   0.00092277552826006647, 9.2209959774492613e-05, 5.8532956985783141e-06,
                   1.8086255605466899e-07);
    q = Polynomial(y, 1, 2.4279684297272568, 2.7558445566104117, 1.9338892306292108,
                   0.93428835174749003, 0.32711651365937616, 0.084954843251616438,
                   0.016425995110616532, 0.0023277272671305845, 0.00023158944756436809,
                   1.4672036497889293e-05, 4.5335519682841286e-07);
  }
  constexpr double kInverseSqrt2Pi = 0.39894228040143267794;
  const T tail = decay * (p / q);
  return {Where(x < T(0), tail, T(1) - tail), decay * T(kInverseSqrt2Pi)};
}

namespace internal {

// erfc(x) for x from 0 to 28, computed like Normal's tail. The coefficients for double are the same
// except for powers of sqrt(2).
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T ErfcOfPositive(T x) {
  const T decay = ExpOfMinusSquare(x);
  T p, q;
  if constexpr (kIsFloat<T>) {
    p = Polynomial(x, 1, 1.22941601, 0.722113311, 0.224664867, 0.0318274088);
    q = Polynomial(x, 1, 2.35779548, 2.38259387, 1.30763721, 0.398238719, 0.0564117655);
  } else {
    p = Polynomial(x, 1, 2.305286715238481, 2.6372120648284909, 1.932002689571438,
                   0.9937763835904864, 0.37313753057369354, 0.10337881149909263,
                   0.020880026673462132, 0.0029507187127837636, 0.00026488992516830565,
                   1.1575203587498815e-5);
    q = Polynomial(x, 1, 3.4336658823339935, 5.5116891132208234, 5.4698647561662004,
                   3.7371534069899601, 1.8504504403731743, 0.6796387460129315, 0.18583892048726438,
                   0.037243636274089352, 0.0052402710023683536, 0.00046950516793245738,
                   2.0516514173666094e-5);
  }
  return decay * (p / q);
}

}  // namespace internal

// 1 - erf(x); 0 where it is below the smallest normal number.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Erfc(T x) {
#if defined(__CUDA_ARCH__)
  return erfc(x);
#else
  const T tail = internal::ErfcOfPositive(Abs(Clamp(x, T(28))));
  constexpr double kSmallest = kIsFloat<T> ? 0x1p-126 : 0x1p-1022;
  const T positive = Where(tail < T(kSmallest), T(0), tail);
  return Where(x < T(0), T(2) - tail, positive);
#endif
}

// 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Erf(T x) {
#if defined(__CUDA_ARCH__)
  return erf(x);
#else
  const T y = Abs(Clamp(x, T(28)));
  const T square = y * y;
  T excess;  // erf(y) / y - 1 up to 1
  if constexpr (kIsFloat<T>) {
    excess = Polynomial(square, 0.128379166, -0.37612626, 0.112835787, -0.0268533472, 0.0051871622,
                        -0.00079978531, 7.80690316e-05);
  } else {
    excess = Polynomial(square, 0.12837916709551259, -0.37612638903184098, 0.11283791670971098,
                        -0.026866170648031096, 0.0052239776526913266, -0.00085483285356722008,
                        0.00012055386186493461, -1.4926881240902412e-05, 1.6481054360974907e-06,
                        -1.6557072455651425e-07, 1.6012789039341548e-08, -1.6462873073836425e-09,
                        1.4340196820281312e-10);
  }
  const T value = Where(y < T(1), y + y * excess, T(1) - internal::ErfcOfPositive(y));
  return CopySign(value, x);
#endif
}

}  // namespace tensorflow_ext
