// Exp, Expm1, Tanh, Sigmoid and powers that do not grow; see elementary.h.

#pragma once

#include "tensorflow_ext/kernels/arithmetic.h"

namespace tensorflow_ext {

// Beyond this limit e^-x is below the smallest normal number, and 0 here, because TensorFlow's
// threads flush subnormal numbers, other threads do not, and both must agree.
template <typename T>
constexpr double kExpLimit = kIsFloat<T> ? 87.33654022 : 708.39641853226408;

namespace internal {

// Adding this rounds to a whole number n and leaves n + bias in the lowest bits, where bias is the
// exponent's bias.
template <typename T>
constexpr double kRounding = kIsFloat<T> ? 12582912. + 127 : 6755399441055744. + 1023;

// 2^n from n + kRounding.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T PowerOfTwo(T rounded) {
  return BitCast<T>(BitCast<BitsOf<T>>(rounded) << (kIsFloat<T> ? 23 : 52));
}

// The upper half of x's bits; its square is exact.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T LeadingHalf(T x) {
  constexpr BitsOf<T> kTrailing = (BitsOf<T>{1} << (kIsFloat<T> ? 12 : 27)) - 1;
  return BitCast<T>(BitCast<BitsOf<T>>(x) & ~kTrailing);
}

// e^-x = 2^n (1 - (r - bend) - roundoff) with the nearest power of two, for |x| up to kExpLimit;
// `rounded` is n + kRounding.
//
// The argument reduction is from W. J. Cody and W. Waite, "Software Manual for the Elementary
// Functions", 1980, chapter 6: x = r - n ln(2) with |r| at most ln(2) / 2. ln(2) has two parts, and
// n times the first part is exact.
template <typename T>
constexpr double kLn2High = kIsFloat<T> ? 0.693359375 : 6.93147180369123816490e-01;
template <typename T>
constexpr double kLn2Low = kIsFloat<T> ? -2.12194440e-4 : 1.90821492927058770002e-10;

template <typename T>
struct SplitPower {
  T r, bend, roundoff, rounded;
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T RoundedExponent(T x) {
  return T(kRounding<T>) - x * T(1.44269504088896340736);
}
// The power for the reduced argument r = first + second.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE SplitPower<T> SplitReduced(T first, T second, T rounded) {
  const T r = first + second;
  T series;  // (e^-r - 1 + r) / r^2
  if constexpr (kIsFloat<T>) {
    series = Polynomial(r, 0.49999994, -0.166665211, 0.041668389, -0.00836871658, 0.00138146023);
  } else {
    series = Polynomial(r, 0.50000000000000111, -0.1666666666666641, 0.041666666666530412,
                        -0.0083333333334959063, 0.0013888888943579751, -0.00019841269503692127,
                        2.4801493139029281e-05, -2.7557588733325724e-06, 2.7630237233518124e-07,
                        -2.4999378087399238e-08);
  }
  return {r, series * (r * r), (first - r) + second, rounded};
}
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE SplitPower<T> SplitExpOfMinus(T x) {
  const T rounded = RoundedExponent(x);
  const T n = rounded - T(kRounding<T>);
  return SplitReduced(x + n * T(kLn2High<T>), n * T(kLn2Low<T>), rounded);
}

// 2^n (1 - (r - bend)), or 0 where e^-x is.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Joined(const SplitPower<T>& split, T x) {
  const T power = PowerOfTwo(split.rounded);
  return Where(x > T(kExpLimit<T>), T(0), (T(1) - (split.r - split.bend)) * power);
}

}  // namespace internal

// e^-x for x >= 0.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T ExpOfMinus(T x) {
#if defined(__CUDA_ARCH__)
  return exp(-x);
#else
  return internal::Joined(internal::SplitExpOfMinus(x), x);
#endif
}

namespace internal {

// e^(-scale x^2) for x from 0 to 40. The roundoff of so large an exponent is many units of its
// power. The host's baseline has no fused multiply-add, so the host squares x's leading half, which
// is exact, and adds the rest of the square to the rest of the exponent.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T ExpOfMinusScaledSquare(T x, T scale) {
#if defined(__CUDA_ARCH__)
  const T square = x * x;
  return exp(-(square * scale)) * (T(1) - fma(x, x, -square) * scale);
#else
  const T leading = LeadingHalf(x);
  const T high = leading * (leading * scale);
  const T low = (x - leading) * ((x + leading) * scale);
  const T exponent = high + low;
  const T rounded = RoundedExponent(exponent);
  const T n = rounded - T(kRounding<T>);
  return Joined(SplitReduced(high + n * T(kLn2High<T>), n * T(kLn2Low<T>) + low, rounded),
                exponent);
#endif
}

}  // namespace internal

// e^(-x^2) and e^(-x^2 / 2) for x from 0 to 40, as accurate as ExpOfMinus.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T ExpOfMinusSquare(T x) {
  return internal::ExpOfMinusScaledSquare(x, T(1));
}
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T ExpOfMinusHalfSquare(T x) {
  return internal::ExpOfMinusScaledSquare(x, T(0.5));
}

namespace internal {

// e^x like e^-x above, with 2^n = power scale, for x where e^x is normal or infinite. The factor
// `scale` is needed because the power of two next to the largest numbers has no exponent.
template <typename T>
struct ScaledPower {
  SplitPower<T> split;
  T power, scale;
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE ScaledPower<T> SplitExp(T x) {
  constexpr double kInfinite = kIsFloat<T> ? 89 : 710;
  const T at_most = Where(x > T(kInfinite), T(kInfinite), x);
  const T within = Where(x < T(-kExpLimit<T>), T(-kExpLimit<T>), at_most);
  const SplitPower<T> split = SplitExpOfMinus(-within);
  const T less = Where(x > T(0), T(1), T(0));
  return {split, PowerOfTwo(split.rounded - less), T(1) + less};
}

}  // namespace internal

// e^x, 0 for x < -kExpLimit.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Exp(T x) {
#if defined(__CUDA_ARCH__)
  return exp(x);
#else
  const auto [split, power, scale] = internal::SplitExp(x);
  return Where(x < T(-kExpLimit<T>), T(0), (T(1) - (split.r - split.bend)) * power * scale);
#endif
}

// e^x - 1, without the cancellation of that difference for small x.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Expm1(T x) {
#if defined(__CUDA_ARCH__)
  return expm1(x);
#else
  const auto [split, power, scale] = internal::SplitExp(x);
  const T one = Where(x > T(0), T(0.5), T(1));
  const T value =
      (((power - one) - power * split.r) + power * (split.bend - split.roundoff)) * scale;
  constexpr double kLinear = kIsFloat<T> ? 0x1p-30 : 0x1p-60;
  return Where(Abs(x) < T(kLinear), x, value);
#endif
}

namespace internal {

// (2^-r - 1) / r for |r| up to 1/2.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T SlopeOfExp2(T r) {
  if constexpr (kIsFloat<T>) {
    return Polynomial(r, -0.69314718246, 0.24022644758, -0.055503584445, 0.0096188290045,
                      -0.0013391471002, 0.00015243380039);
  } else {
    return Polynomial(r, -0.69314718055994529, 0.24022650695910136, -0.055504108664822332,
                      0.009618129107592580, -0.0013333558146358679, 0.00015403530458769801,
                      -1.5252733828825492e-05, 1.3215434552963929e-06, -1.0178076629450276e-07,
                      7.0738963069213405e-09, -4.4515136097622788e-10);
  }
}

}  // namespace internal

// 2^-x for x >= 0; 0 for x > kExp2Limit, as above. Where the base does not matter this is cheaper
// than e^-x: the remainder of x is exact at once.
template <typename T>
constexpr double kExp2Limit = kIsFloat<T> ? 126 : 1022;
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T Exp2OfMinus(T x) {
#if defined(__CUDA_ARCH__)
  return exp2(-x);
#else
  const T rounded = T(internal::kRounding<T>) - x;
  const T r = x + (rounded - T(internal::kRounding<T>));
  using internal::PowerOfTwo;  // or the one in T's namespace
  const T power = PowerOfTwo(rounded);
  return Where(x > T(kExp2Limit<T>), T(0), (T(1) + r * internal::SlopeOfExp2(r)) * power);
#endif
}

// tanh(x) and related values. None of them comes from a difference of rounded numbers: near 0, x -
// tanh(x) is x^3 times a polynomial of x^2; elsewhere tanh(|x|) is 1 - 2 / (e^(2|x|) + 1). The
// difference x - tanh(x) itself needs more terms, up to 1.
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
    fewer = Polynomial(z, 0.333333284, -0.133327708, 0.0538509525, -0.0209973566, 0.00609694142);
    more = Polynomial(z, 0.333333343, -0.133333102, 0.0539634228, -0.0218295846, 0.00869795121,
                      -0.00320695364, 0.000923609186, -0.000142823934);
  } else {
    fewer = Polynomial(z, 0.3333333333333332, -0.13333333333326663, 0.053968253961400078,
                       -0.021869488260706064, 0.0088632298333599369, -0.0035920590006487279,
                       0.0014553094319245848, -0.00058743776852807322, 0.00023077720997503811,
                       -7.960081615887762e-05, 1.7245517699486129e-05);
    more = Polynomial(z, 0.33333333333333331, -0.13333333333333092, 0.053968253968046741,
                      -0.021869488529139738, 0.0088632354047411422, -0.0035921266808673744,
                      0.0014558247011305005, -0.00058997933192145356, 0.00023895716105748322,
                      -9.6463005172115843e-05, 3.8389951478531612e-05, -1.4606501923747836e-05,
                      4.988038240591263e-06, -1.379319478010967e-06, 2.6334848125504451e-07,
                      -2.5160441116866363e-08);
  }
  const T cube = y * z;
  const T value = Where(y < T(0.625), y - cube * fewer, T(1) - rest);
  const T shrunk = Where(y < T(1), cube * more, (y - T(1)) + rest);
  return {CopySign(value, x), CopySign(shrunk, x), rest * (T(2) - rest)};
}

// tanh(x) alone: XLA has an operation for it.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T TanhValue(T x) {
  return Tanh(x).value;
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

}  // namespace tensorflow_ext
