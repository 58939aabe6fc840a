// Lets the CPU's loops vectorise functors that take sines and cosines of arguments that the loops
// do not see. Instead of a number the functor gets a NearNumber, which also records whether an
// earlier angle was too far for SinCosNear. A functor declares that it takes angles
// (elementwise.h):
//
//   struct Snake {
//     static constexpr bool kTakesAngles = true;
//
// For each block the loop first tests whether all angles are near. That pass computes only the
// angles, because the rest is unused. Then the loop computes with SinCosNear or with SinCos. The
// results have the same bits.

#pragma once

#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/trigonometric.h"

namespace tensorflow_ext {

template <typename Functor, typename = void>
constexpr bool kTakesAngles = false;
template <typename Functor>
constexpr bool kTakesAngles<Functor, std::void_t<decltype(Functor::kTakesAngles)>> =
    Functor::kTakesAngles;

// The number of elements that a loop tests at once.
constexpr int64_t kAnglesBlock = 256;

// The result of comparing two NearNumbers, for Where.
template <typename C>
struct NearCondition {
  bool holds;
  BitsOf<C> far;

  friend TENSORFLOW_EXT_INLINE NearCondition operator&(NearCondition a, NearCondition b) {
    return {a.holds & b.holds, a.far | b.far};
  }
  friend TENSORFLOW_EXT_INLINE NearCondition operator|(NearCondition a, NearCondition b) {
    return {a.holds | b.holds, a.far | b.far};
  }
  friend TENSORFLOW_EXT_INLINE NearCondition operator!=(NearCondition a, NearCondition b) {
    return {a.holds != b.holds, a.far | b.far};
  }
  friend TENSORFLOW_EXT_INLINE NearCondition operator!(NearCondition a) {
    return {!a.holds, a.far};
  }
};

template <typename C>
struct NearNumber {
  NearNumber() = default;
  template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
  TENSORFLOW_EXT_INLINE explicit NearNumber(Number number) : value(static_cast<C>(number)) {}
  TENSORFLOW_EXT_INLINE NearNumber(C value, BitsOf<C> far) : value(value), far(far) {}

  C value;
  BitsOf<C> far = 0;  // not 0 after an angle that is too far

  friend TENSORFLOW_EXT_INLINE NearNumber operator-(NearNumber x) { return {-x.value, x.far}; }
#define TENSORFLOW_EXT_NEAR_OPERATOR(Result, sign)                                   \
  friend TENSORFLOW_EXT_INLINE Result<C> operator sign(NearNumber x, NearNumber y) { \
    return {x.value sign y.value, x.far | y.far};                                    \
  }
  TENSORFLOW_EXT_NEAR_OPERATOR(NearNumber, +)
  TENSORFLOW_EXT_NEAR_OPERATOR(NearNumber, -)
  TENSORFLOW_EXT_NEAR_OPERATOR(NearNumber, *)
  TENSORFLOW_EXT_NEAR_OPERATOR(NearNumber, /)
  TENSORFLOW_EXT_NEAR_OPERATOR(NearCondition, ==)
  TENSORFLOW_EXT_NEAR_OPERATOR(NearCondition, !=)
  TENSORFLOW_EXT_NEAR_OPERATOR(NearCondition, <)
  TENSORFLOW_EXT_NEAR_OPERATOR(NearCondition, <=)
  TENSORFLOW_EXT_NEAR_OPERATOR(NearCondition, >)
  TENSORFLOW_EXT_NEAR_OPERATOR(NearCondition, >=)
#undef TENSORFLOW_EXT_NEAR_OPERATOR
};

template <typename C>
struct RealOf<NearNumber<C>> {
  using type = C;
};

template <typename C>
TENSORFLOW_EXT_INLINE NearNumber<C> Where(NearCondition<C> condition, NearNumber<C> a,
                                          NearNumber<C> b) {
  return {Where(condition.holds, a.value, b.value), condition.far | a.far | b.far};
}
template <typename C>
TENSORFLOW_EXT_INLINE NearNumber<C> Where(bool condition, NearNumber<C> a, NearNumber<C> b) {
  return {Where(condition, a.value, b.value), a.far | b.far};
}

#define TENSORFLOW_EXT_NEAR_FUNCTION(Name)                    \
  template <typename C>                                       \
  TENSORFLOW_EXT_INLINE NearNumber<C> Name(NearNumber<C> x) { \
    return {Name(x.value), x.far};                            \
  }
TENSORFLOW_EXT_NEAR_FUNCTION(Abs)
TENSORFLOW_EXT_NEAR_FUNCTION(Floor)
TENSORFLOW_EXT_NEAR_FUNCTION(RoundToEven)
TENSORFLOW_EXT_NEAR_FUNCTION(Sqrt)
TENSORFLOW_EXT_NEAR_FUNCTION(Rsqrt)
TENSORFLOW_EXT_NEAR_FUNCTION(Exp)
TENSORFLOW_EXT_NEAR_FUNCTION(ExpOfMinus)
TENSORFLOW_EXT_NEAR_FUNCTION(ExpOfMinusSquare)
TENSORFLOW_EXT_NEAR_FUNCTION(ExpOfMinusHalfSquare)
TENSORFLOW_EXT_NEAR_FUNCTION(Exp2OfMinus)
TENSORFLOW_EXT_NEAR_FUNCTION(Expm1)
TENSORFLOW_EXT_NEAR_FUNCTION(Log)
TENSORFLOW_EXT_NEAR_FUNCTION(Log2)
TENSORFLOW_EXT_NEAR_FUNCTION(Log1p)
TENSORFLOW_EXT_NEAR_FUNCTION(Erf)
TENSORFLOW_EXT_NEAR_FUNCTION(Erfc)
TENSORFLOW_EXT_NEAR_FUNCTION(Atan)
#undef TENSORFLOW_EXT_NEAR_FUNCTION

#define TENSORFLOW_EXT_NEAR_FUNCTION(Name)                                     \
  template <typename C>                                                        \
  TENSORFLOW_EXT_INLINE NearNumber<C> Name(NearNumber<C> x, NearNumber<C> y) { \
    return {Name(x.value, y.value), x.far | y.far};                            \
  }
TENSORFLOW_EXT_NEAR_FUNCTION(CopySign)
TENSORFLOW_EXT_NEAR_FUNCTION(Remainder)
TENSORFLOW_EXT_NEAR_FUNCTION(Pow)
#undef TENSORFLOW_EXT_NEAR_FUNCTION

template <typename C>
TENSORFLOW_EXT_INLINE SineAndCosine<NearNumber<C>> SinCos(NearNumber<C> x) {
  const auto [sine, cosine] = SinCosNear(x.value);
  const bool is_far = Abs(x.value) > C(kTrigonometricLimit);
  const BitsOf<C> far = x.far | (is_far ? 1 : 0);
  return {{sine, far}, {cosine, far}};
}

// The plain number: x, or the one inside a NearNumber.
template <typename C>
TENSORFLOW_EXT_INLINE C ValueOf(C x) {
  return x;
}
template <typename C>
TENSORFLOW_EXT_INLINE C ValueOf(NearNumber<C> x) {
  return x.value;
}

}  // namespace tensorflow_ext
