// Pow; see elementary.h.
//
// |x|^y is 2^(y log2|x|). The exponent reaches 1024, where one of its units is
// hundreds of units of the power. So float is computed in double, and double
// with a logarithm in two numbers. Their products are exact as in T. J. Dekker,
// "A Floating-Point Technique for Extending the Available Precision",
// Numerische Mathematik 18, 1971.

#pragma once

#include <cmath>

#include "tensorflow_ext/kernels/logarithm.h"

namespace tensorflow_ext {
namespace internal {

// high + low, where low is about a unit of high.
struct TwoDoubles {
  double high, low;
};

// a b, exact.
TENSORFLOW_EXT_HOST_DEVICE TwoDoubles Product(double a, double b) {
  constexpr double kSplit = 134217729;  // 2^27 + 1
  const double a_shifted = a * kSplit, b_shifted = b * kSplit;
  const double a_high = a_shifted - (a_shifted - a), a_low = a - a_high;
  const double b_high = b_shifted - (b_shifted - b), b_low = b - b_high;
  const double product = a * b;
  return {product,
          (((a_high * b_high - product) + a_high * b_low) + a_low * b_high) + a_low * b_low};
}

// log2(x) of a positive finite number, with a relative error of 2^-62. Two terms of the series in
// logarithm.h are computed in two numbers.
TENSORFLOW_EXT_HOST_DEVICE TwoDoubles Log2InTwo(double x) {
  constexpr double kFirst = 0x1.71547652b82fep+1;  // 2 / ln(2)
  constexpr double kFirstLow = 0x1.777d0ffda0d24p-55;
  constexpr double kSecond = 0x1.ec709dc3a03fdp-1;  // a third of it
  constexpr double kSecondLow = 0x1.d27f05548af0cp-55;
  const auto [m, e] = SplitPositive(x);

  // s = (m - 1) / (m + 1)
  const double f = m - 1, sum = m + 1, sum_low = m - (sum - 1);
  const double inverse = 1 / sum;
  const double s = f * inverse;
  const TwoDoubles back = Product(s, sum);
  const double s_low = (((f - back.high) - back.low) - s * sum_low) * inverse;

  const TwoDoubles z = Product(s, s);
  const double z_low = z.low + 2 * s * s_low;
  const double others =
      z.high * z.high *
      Polynomial(z.high, 0.57707801635558542, 0.41219858311108859, 0.32059889798801361,
                 0.26230818733814504, 0.22195325154004067, 0.1923503396589416, 0.17002032990722979,
                 0.1464524345915805, 0.18650102360182774);
  const TwoDoubles second = Product(kSecond, z.high);
  const double second_low = ((second.low + kSecond * z_low) + kSecondLow * z.high) + others;
  const double rise = second.high + second_low;
  const double rise_low = (second.high - rise) + second_low;
  const double slope = kFirst + rise;
  const double slope_low = (((kFirst - slope) + rise) + kFirstLow) + rise_low;

  const TwoDoubles fraction = Product(s, slope);
  const double fraction_low = (fraction.low + s * slope_low) + s_low * slope;
  const double high = e + fraction.high;
  return {high, ((e - high) + fraction.high) + fraction_low};
}

// 2^(t + rest) for t up to 1024; infinity for greater t, 0 if the power is less than the smallest
// normal number.
TENSORFLOW_EXT_HOST_DEVICE double PowerOfTwoNumbers(double t, double rest) {
  constexpr double kHighest = 1024, kLowest = -1022;
  const double at_most = Where(t > kHighest, kHighest, t);
  const double within = Where(at_most < kLowest, kLowest, at_most);
  // The power of two next to the largest numbers has no exponent.
  const double less = Where(t > 0., 1., 0.);
  const double rounded = within + kRounding<double>;
  const double r = (rounded - kRounding<double> - within) - Where(within == t, rest, 0.);
  const double fraction = 1 + r * SlopeOfExp2(r);
  const double value = fraction * PowerOfTwo<double>(rounded - less) * (1 + less);
  const double normal = Where(value < kSmallestNormal<double>, 0., value);
  return Where(t < kLowest, 0., normal);
}

// y log2(x): `usual`, except at the limits.
TENSORFLOW_EXT_HOST_DEVICE double ExponentWithLimits(double x, double y, double usual) {
  const double positive = Where(x > 0., usual, y * -double{INFINITY});
  return Where(x < double{INFINITY}, positive, y * x);
}

// x^y for x >= 0 and y other than 0, except for 1^NaN.
TENSORFLOW_EXT_HOST_DEVICE double PowerOfMagnitude(double x, double y) {
  // Exponents beyond these limits give 0, 1 or infinity for every x, as the limits do, but their
  // product would not be exact.
  const double within = Clamp(y, 0x1p66);
  const TwoDoubles log2 = Log2InTwo(x);
  const TwoDoubles product = Product(within, log2.high);
  return PowerOfTwoNumbers(ExponentWithLimits(x, within, product.high),
                           product.low + within * log2.low);
}

TENSORFLOW_EXT_HOST_DEVICE float PowerOfMagnitude(float x, float y) {
  const double wide = x, within = Clamp(static_cast<double>(y), 0x1p66);
  const auto [m, e] = SplitPositive(wide);
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  const double log2 =
      e + s * Polynomial(z, 2.8853900817778446, 0.96179669411733859, 0.5770779415376196,
                         0.41220932183576242, 0.31990315955197485, 0.28293370411118574);
  const double t = ExponentWithLimits(wide, within, within * log2);
  const double clamped = Clamp(t, 200.);
  const double rounded = clamped + kRounding<double>;
  const double r = clamped - (rounded - kRounding<double>);
  const double fraction = Polynomial(
      r, 0.99999999996138478, 0.6931471820720545, 0.24022651205577955, 0.055504095419513448,
      0.009618014670804996, 0.0013333121009761154, 0.00015474920358556654, 1.5593636249081684e-05);
  const float value = static_cast<float>(fraction * PowerOfTwo<double>(rounded));
  return Where(value < static_cast<float>(kSmallestNormal<float>), 0.f, value);
}

}  // namespace internal

// x^y as in C: 1 where x is 1 or y is 0, even if the other is NaN; NaN where x is negative and y is
// no integer.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Pow(T x, T y) {
#if defined(__CUDA_ARCH__)
  return pow(x, y);
#else
  const T power = internal::PowerOfMagnitude(Abs(x), y);
  // An odd integer y keeps the sign.
  const T half = y * T(0.5);
  const T of_integer = Where(RoundToEven(half) == half, T(1), CopySign(T(1), x));
  const T of_negative = Where(x == T(-INFINITY), T(1), T(NAN));
  const T of_fraction = Where(x < T(0), of_negative, T(1));
  const T sign = Where(RoundToEven(y) == y, of_integer, of_fraction);
  const T value = Where(x == T(1), T(1), sign * power);
  return Where(y == T(0), T(1), value);
#endif
}

}  // namespace tensorflow_ext
