// A functor for each function that functors may call (kernels/elementary.h, trigonometric.h), for
// tests of all of them. vector_code_test.py checks that none is missing.

#pragma once

#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/kernels/trigonometric.h"

// FUNCTION(name, its value at x and, with two arguments, y).
#define TENSORFLOW_EXT_ANGLE_FUNCTIONS(FUNCTION) \
  FUNCTION(Cos, Cos(x))                          \
  FUNCTION(Sin, Sin(x))                          \
  FUNCTION(SinCos, SinCos(x).sine + SinCos(x).cosine)
#define TENSORFLOW_EXT_UNARY_FUNCTIONS(FUNCTION)                             \
  FUNCTION(Abs, Abs(x))                                                      \
  FUNCTION(Atan, Atan(x))                                                    \
  FUNCTION(Clamp, Clamp(x, T(3)))                                            \
  FUNCTION(Erf, Erf(x))                                                      \
  FUNCTION(Erfc, Erfc(x))                                                    \
  FUNCTION(Exp, Exp(x))                                                      \
  FUNCTION(Exp2OfMinus, Exp2OfMinus(Abs(x)))                                 \
  FUNCTION(ExpOfMinus, ExpOfMinus(Abs(x)))                                   \
  FUNCTION(ExpOfMinusHalfSquare, ExpOfMinusHalfSquare(Abs(Clamp(x, T(40))))) \
  FUNCTION(ExpOfMinusSquare, ExpOfMinusSquare(Abs(Clamp(x, T(28)))))         \
  FUNCTION(Expm1, Expm1(x))                                                  \
  FUNCTION(Floor, Floor(x))                                                  \
  FUNCTION(Gated, Gated(x, x* T(0.5), 10))                                   \
  FUNCTION(Log, Log(x))                                                      \
  FUNCTION(Log1p, Log1p(x))                                                  \
  FUNCTION(Log2, Log2(x))                                                    \
  FUNCTION(Normal, Normal(x).cumulative)                                     \
  FUNCTION(Polynomial, Polynomial(x, 1, 0.5, 0.25, 2))                       \
  FUNCTION(RoundToEven, RoundToEven(x))                                      \
  FUNCTION(Rsqrt, Rsqrt(x))                                                  \
  FUNCTION(Sigmoid, Sigmoid(x).value)                                        \
  FUNCTION(SinCosNear, SinCosNear(x).sine)                                   \
  FUNCTION(Sloped, Sloped(x, x* T(0.5), 10))                                 \
  FUNCTION(Sqrt, Sqrt(x))                                                    \
  FUNCTION(Tanh, Tanh(x).value)                                              \
  FUNCTION(TanhValue, TanhValue(x* T(0.5)))
#define TENSORFLOW_EXT_BINARY_FUNCTIONS(FUNCTION) \
  FUNCTION(CopySign, CopySign(x, y))              \
  FUNCTION(Pow, Pow(x, y))                        \
  FUNCTION(Remainder, Remainder(x, y))            \
  FUNCTION(Where, Where(x < y, x, T(2) * y))

namespace tensorflow_ext {

// For the registers of a GPU. On the CPU, whole loops are easier to read than blocks of them.
#if defined(__CUDACC__)
#define TENSORFLOW_EXT_CYCLES static constexpr int kCycles = 20;
#else
#define TENSORFLOW_EXT_CYCLES
#endif

#define TENSORFLOW_EXT_DEFINE_UNARY(Name, expression, angles) \
  struct Name##Functor {                                      \
    static constexpr int kArity = 1;                          \
    TENSORFLOW_EXT_CYCLES                                     \
    static constexpr bool kTakesAngles = angles;              \
    template <typename T>                                     \
    TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {      \
      return expression;                                      \
    }                                                         \
  };
#define TENSORFLOW_EXT_DEFINE(Name, expression) TENSORFLOW_EXT_DEFINE_UNARY(Name, expression, true)
TENSORFLOW_EXT_ANGLE_FUNCTIONS(TENSORFLOW_EXT_DEFINE)
#undef TENSORFLOW_EXT_DEFINE
#define TENSORFLOW_EXT_DEFINE(Name, expression) TENSORFLOW_EXT_DEFINE_UNARY(Name, expression, false)
TENSORFLOW_EXT_UNARY_FUNCTIONS(TENSORFLOW_EXT_DEFINE)
#undef TENSORFLOW_EXT_DEFINE

#define TENSORFLOW_EXT_DEFINE(Name, expression)               \
  struct Name##Functor {                                      \
    static constexpr int kArity = 2;                          \
    TENSORFLOW_EXT_CYCLES                                     \
    template <typename T>                                     \
    TENSORFLOW_EXT_HOST_DEVICE T operator()(T x, T y) const { \
      return expression;                                      \
    }                                                         \
  };
TENSORFLOW_EXT_BINARY_FUNCTIONS(TENSORFLOW_EXT_DEFINE)
#undef TENSORFLOW_EXT_DEFINE

}  // namespace tensorflow_ext
