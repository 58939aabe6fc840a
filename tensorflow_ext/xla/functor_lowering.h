// Lowerings made from the functors of elementwise.h and broadcast.h. These functors must use only
// operators, comparisons and the functions of elementary.h and trigonometric.h (Where for a
// choice):
//
//   REGISTER_LOWERING(Name("TfExt>Mish"), FunctorLowering<Mish>);

#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/kernels/trigonometric.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {

namespace internal {

template <typename C>
constexpr xla::PrimitiveType kXlaType = xla::F32;
template <>
inline constexpr xla::PrimitiveType kXlaType<double> = xla::F64;
template <>
inline constexpr xla::PrimitiveType kXlaType<int32_t> = xla::S32;
template <>
inline constexpr xla::PrimitiveType kXlaType<int64_t> = xla::S64;

// The bits of a floating-point type, as integers.
template <typename C>
struct XlaBits {
  static constexpr bool kFloat = std::is_same_v<C, float>;
  static constexpr xla::PrimitiveType kType = kFloat ? xla::S32 : xla::S64;
  static constexpr int kMantissa = kFloat ? 23 : 52;
  static constexpr int64_t kLowest = kFloat ? INT32_MIN : INT64_MIN;
};

}  // namespace internal

// A tensor of element type C in place of a number of type C. A constant becomes a scalar, which
// broadcasts, when it meets a tensor.
template <typename C>
class XlaNumber {
 public:
  XlaNumber() = default;
  template <typename Constant, typename = std::enable_if_t<std::is_arithmetic_v<Constant>>>
  explicit XlaNumber(Constant constant) : constant_(static_cast<C>(constant)), is_constant_(true) {}
  explicit XlaNumber(xla::XlaOp op) : op_(op) {}

  bool is_constant() const { return is_constant_; }
  C constant() const { return constant_; }
  // The tensor; for a constant, a scalar.
  xla::XlaOp op() const {
    return is_constant_ ? xla::ConstantR0(xla::CurrentBuilder(), internal::kXlaType<C>, constant_)
                        : op_;
  }

  friend XlaNumber operator-(const XlaNumber& x) {
    return x.is_constant_ ? XlaNumber(-x.constant_) : XlaNumber(-x.op_);
  }

#define TENSORFLOW_EXT_XLA_OPERATOR(sign)                                  \
  friend XlaNumber operator sign(const XlaNumber& x, const XlaNumber& y) { \
    if (x.is_constant_ && y.is_constant_) {                                \
      return XlaNumber(x.constant_ sign y.constant_);                      \
    }                                                                      \
    return XlaNumber(x.op() sign y.op());                                  \
  }
  TENSORFLOW_EXT_XLA_OPERATOR(+)
  TENSORFLOW_EXT_XLA_OPERATOR(-)
  TENSORFLOW_EXT_XLA_OPERATOR(*)
  TENSORFLOW_EXT_XLA_OPERATOR(/)
#undef TENSORFLOW_EXT_XLA_OPERATOR

  friend XlaNumber operator%(const XlaNumber& x, const XlaNumber& y) {
    return XlaNumber(x.op() % y.op());
  }

  // Comparisons, for Where.
#define TENSORFLOW_EXT_XLA_COMPARISON(sign)                                 \
  friend xla::XlaOp operator sign(const XlaNumber& x, const XlaNumber& y) { \
    return x.op() sign y.op();                                              \
  }
  TENSORFLOW_EXT_XLA_COMPARISON(==)
  TENSORFLOW_EXT_XLA_COMPARISON(!=)
  TENSORFLOW_EXT_XLA_COMPARISON(<)
  TENSORFLOW_EXT_XLA_COMPARISON(<=)
  TENSORFLOW_EXT_XLA_COMPARISON(>)
  TENSORFLOW_EXT_XLA_COMPARISON(>=)
#undef TENSORFLOW_EXT_XLA_COMPARISON

 private:
  xla::XlaOp op_;
  C constant_ = 0;
  bool is_constant_ = false;
};

template <typename C>
struct RealOf<XlaNumber<C>> {
  using type = C;
};

// ----- Functions that elementary.h and trigonometric.h leave to T. -----

template <typename C>
XlaNumber<C> Where(xla::XlaOp condition, const XlaNumber<C>& a, const XlaNumber<C>& b) {
  return XlaNumber<C>(xla::Select(condition, a.op(), b.op()));
}

#define TENSORFLOW_EXT_XLA_FUNCTION(Name)                                                        \
  template <typename C>                                                                          \
  XlaNumber<C> Name(const XlaNumber<C>& x) {                                                     \
    return x.is_constant() ? XlaNumber<C>(Name(x.constant())) : XlaNumber<C>(xla::Name(x.op())); \
  }
TENSORFLOW_EXT_XLA_FUNCTION(Abs)
TENSORFLOW_EXT_XLA_FUNCTION(Atan)
TENSORFLOW_EXT_XLA_FUNCTION(Erf)
TENSORFLOW_EXT_XLA_FUNCTION(Erfc)
TENSORFLOW_EXT_XLA_FUNCTION(Exp)
TENSORFLOW_EXT_XLA_FUNCTION(Expm1)
TENSORFLOW_EXT_XLA_FUNCTION(Floor)
TENSORFLOW_EXT_XLA_FUNCTION(Log)
TENSORFLOW_EXT_XLA_FUNCTION(Log1p)
TENSORFLOW_EXT_XLA_FUNCTION(Rsqrt)
TENSORFLOW_EXT_XLA_FUNCTION(Sqrt)
#undef TENSORFLOW_EXT_XLA_FUNCTION

template <typename C>
XlaNumber<C> RoundToEven(const XlaNumber<C>& x) {
  return x.is_constant() ? XlaNumber<C>(RoundToEven(x.constant()))
                         : XlaNumber<C>(xla::RoundNearestEven(x.op()));
}

template <typename C>
XlaNumber<C> CopySign(const XlaNumber<C>& magnitude, const XlaNumber<C>& sign) {
  const XlaNumber<C> positive = Abs(magnitude);
  if (sign.is_constant()) {
    return std::signbit(sign.constant()) ? -positive : positive;
  }
  using Bits = internal::XlaBits<C>;
  const xla::XlaOp sign_bit = xla::BitcastConvertType(sign.op(), Bits::kType) & Bits::kLowest;
  return XlaNumber<C>(xla::BitcastConvertType(
      xla::BitcastConvertType(positive.op(), Bits::kType) | sign_bit, internal::kXlaType<C>));
}

template <typename C>
XlaNumber<C> Remainder(const XlaNumber<C>& x, const XlaNumber<C>& y) {
  return x % y;
}

template <typename C>
XlaNumber<C> Pow(const XlaNumber<C>& x, const XlaNumber<C>& y) {
  if (x.is_constant() && y.is_constant()) {
    return XlaNumber<C>(Pow(x.constant(), y.constant()));
  }
  return XlaNumber<C>(xla::Pow(x.op(), y.op()));
}

template <typename C>
XlaNumber<C> Log2(const XlaNumber<C>& x) {
  return Log(x) * XlaNumber<C>(1.44269504088896340736);
}

// As in exponential.h, because on a CPU that takes half the time of XLA's own functions. Rounding
// is a separate operation, because XLA folds constants that are added, including those that round a
// sum.
template <typename C>
XlaNumber<C> PowerOfTwo(const XlaNumber<C>& rounded) {
  using Bits = internal::XlaBits<C>;
  return XlaNumber<C>(xla::BitcastConvertType(
      xla::ShiftLeft(xla::BitcastConvertType(rounded.op(), Bits::kType), Bits::kMantissa),
      internal::kXlaType<C>));
}

template <typename C>
XlaNumber<C> ExpOfMinus(const XlaNumber<C>& x) {
  using T = XlaNumber<C>;
  if (x.is_constant()) return T(ExpOfMinus(x.constant()));
  const T n = RoundToEven(x * T(-1.44269504088896340736));
  return internal::Joined(
      internal::SplitReduced(x + n * T(internal::kLn2High<C>), n * T(internal::kLn2Low<C>),
                             n + T(internal::kRounding<C>)),
      x);
}

template <typename C>
XlaNumber<C> Exp2OfMinus(const XlaNumber<C>& x) {
  using T = XlaNumber<C>;
  if (x.is_constant()) return T(Exp2OfMinus(x.constant()));
  const T n = RoundToEven(x), r = x - n;
  const T power = PowerOfTwo(T(internal::kRounding<C>) - n);
  return Where(x > T(kExp2Limit<C>), T(0), (T(1) + r * internal::SlopeOfExp2(r)) * power);
}

template <typename C>
XlaNumber<C> TanhValue(const XlaNumber<C>& x) {
  return x.is_constant() ? XlaNumber<C>(TanhValue(x.constant())) : XlaNumber<C>(xla::Tanh(x.op()));
}

// Computes the smaller of the values at x and -x; the rest follows without a division. XLA keeps it
// for everything in a graph that depends on it. The value uses it only once, so XLA need not keep
// it if nothing else does.
template <typename C>
Logistic<XlaNumber<C>> Sigmoid(const XlaNumber<C>& x) {
  using T = XlaNumber<C>;
  if (x.is_constant()) {
    const auto [value, slope] = Sigmoid(x.constant());
    return {T(value), T(slope)};
  }
  const T decay = ExpOfMinus(Abs(x));
  const T smaller = decay / (T(1) + decay);
  const T limit = T(xla::Select(x < T(0), xla::ZerosLike(x.op()), 1));
  return {Abs(limit - smaller), smaller * (T(1) - smaller)};
}

// From the rounded square: XLA may rearrange code that computes its roundoff.
template <typename C>
XlaNumber<C> ExpOfMinusSquare(const XlaNumber<C>& x) {
  return ExpOfMinus(x * x);
}

template <typename C>
XlaNumber<C> ExpOfMinusHalfSquare(const XlaNumber<C>& x) {
  return ExpOfMinus(x * x * XlaNumber<C>(0.5));
}

template <typename C>
SineAndCosine<XlaNumber<C>> SinCos(const XlaNumber<C>& x) {
  if (x.is_constant()) {
    const auto [sine, cosine] = SinCos(x.constant());
    return {XlaNumber<C>(sine), XlaNumber<C>(cosine)};
  }
  return {XlaNumber<C>(xla::Sin(x.op())), XlaNumber<C>(xla::Cos(x.op()))};
}

template <typename C>
SineAndCosine<XlaNumber<C>> SinCosNear(const XlaNumber<C>& x) {
  return SinCos(x);
}

// ----- The lowerings. -----

namespace internal {

template <typename C, typename Functor>
void LowerIn(const Functor& functor, absl::Span<const xla::XlaOp> inputs,
             LoweringContext* context) {
  const std::vector<XlaNumber<C>> numbers(inputs.begin(), inputs.end());
  XlaNumber<C> outputs[kOutputs<Functor>];
  Apply(functor, numbers.data(), outputs);
  // A result that depends on no input is still a scalar.
  for (int k = 0; k < kOutputs<Functor>; ++k) {
    context->SetOutput(k, xla::OfShape(outputs[k].op(), inputs[0]));
  }
}

// Computes in the compute type, which `inputs` have.
template <typename Functor>
void Lower(const Functor& functor, absl::Span<const xla::XlaOp> inputs, LoweringContext* context) {
  const xla::PrimitiveType type = context->ComputeType(0);
  if constexpr (kTakesIntegers<Functor>) {
    if (type == xla::S32) return LowerIn<int32_t>(functor, inputs, context);
    if (type == xla::S64) return LowerIn<int64_t>(functor, inputs, context);
  }
  if (type == xla::F64) return LowerIn<double>(functor, inputs, context);
  LowerIn<float>(functor, inputs, context);
}

template <typename Functor>
absl::Status ReadFunctor(LoweringConstruction* context, Functor* functor) {
  if constexpr (std::is_empty_v<Functor>) {
    return absl::OkStatus();
  } else {
    return ReadAttributes(context->kernel_construction(), functor);
  }
}

}  // namespace internal

// The lowering of an op. It computes in the inputs' compute type and rounds once. Attributes are
// read as in elementwise_op.h.
template <typename Functor>
class FunctorLowering : public Lowering {
 public:
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return internal::ReadFunctor(context, &functor_);
  }

  absl::Status Compile(LoweringContext* context) const override {
    std::vector<xla::XlaOp> inputs;
    if constexpr (kBroadcasts<Functor>) {
      absl::Status status = context->BroadcastInputs(&inputs);
      if (!status.ok()) return status;
    } else {
      absl::Status status = context->CheckSameShape(Functor::kArity);
      if (!status.ok()) return status;
      for (int k = 0; k < Functor::kArity; ++k) inputs.push_back(context->ComputeInput(k));
    }
    internal::Lower(functor_, inputs, context);
    return absl::OkStatus();
  }

 private:
  Functor functor_{};
};

}  // namespace tensorflow_ext
