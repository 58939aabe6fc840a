// SPDX-License-Identifier: Apache-2.0
//
// XLA lowerings made of the functors of elementwise.h: those that are written
// with the operators, comparisons and elementary functions below alone.
//
//   using MishXlaOp = FunctorXlaOp<Mish>;
//   REGISTER_XLA_OP(Name("TfExt>Mish"), MishXlaOp);

#ifndef TENSORFLOW_EXT_KERNELS_FUNCTOR_XLA_H_
#define TENSORFLOW_EXT_KERNELS_FUNCTOR_XLA_H_

#include <type_traits>
#include <vector>

#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow_ext/kernels/elementary.h"
#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/kernels/elementwise_xla.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {

// A tensor of element type C, float or double, in place of a number of type C.
// A constant becomes a scalar, which broadcasts, where it meets a tensor.
template <typename C>
class XlaNumber {
 public:
  XlaNumber() = default;
  template <typename Constant,
            typename = std::enable_if_t<std::is_arithmetic_v<Constant>>>
  explicit XlaNumber(Constant constant)
      : constant_(static_cast<C>(constant)), is_constant_(true) {}
  explicit XlaNumber(xla::XlaOp op) : op_(op) {}

  // The tensor; there is none in a constant.
  xla::XlaOp op() const { return op_; }
  // This number as a tensor.
  xla::XlaOp Op(xla::XlaBuilder* builder) const {
    return is_constant_ ? xla::ConstantR0<C>(builder, constant_) : op_;
  }

  friend XlaNumber operator-(const XlaNumber& x) {
    return x.is_constant_ ? XlaNumber(-x.constant_)
                          : XlaNumber(xla::Neg(x.op_));
  }

#define TENSORFLOW_EXT_XLA_OPERATOR(sign, Operation)                       \
  friend XlaNumber operator sign(const XlaNumber& x, const XlaNumber& y) { \
    if (x.is_constant_ && y.is_constant_) {                                \
      return XlaNumber(x.constant_ sign y.constant_);                      \
    }                                                                      \
    xla::XlaBuilder* builder = Builder(x, y);                              \
    return XlaNumber(Operation(x.Op(builder), y.Op(builder)));             \
  }
  TENSORFLOW_EXT_XLA_OPERATOR(+, xla::Add)
  TENSORFLOW_EXT_XLA_OPERATOR(-, xla::Sub)
  TENSORFLOW_EXT_XLA_OPERATOR(*, xla::Mul)
  TENSORFLOW_EXT_XLA_OPERATOR(/, xla::Div)
#undef TENSORFLOW_EXT_XLA_OPERATOR

  // Comparisons, for Where.
#define TENSORFLOW_EXT_XLA_COMPARISON(sign, Operation)                      \
  friend xla::XlaOp operator sign(const XlaNumber& x, const XlaNumber& y) { \
    xla::XlaBuilder* builder = Builder(x, y);                               \
    return Operation(x.Op(builder), y.Op(builder));                         \
  }
  TENSORFLOW_EXT_XLA_COMPARISON(<, xla::Lt)
  TENSORFLOW_EXT_XLA_COMPARISON(<=, xla::Le)
  TENSORFLOW_EXT_XLA_COMPARISON(>, xla::Gt)
  TENSORFLOW_EXT_XLA_COMPARISON(>=, xla::Ge)
#undef TENSORFLOW_EXT_XLA_COMPARISON

 private:
  // That of the one which is no constant.
  static xla::XlaBuilder* Builder(const XlaNumber& x, const XlaNumber& y) {
    return (x.is_constant_ ? y : x).op_.builder();
  }

  xla::XlaOp op_;
  C constant_ = 0;
  bool is_constant_ = false;
};

template <typename C>
struct RealOf<XlaNumber<C>> {
  using type = C;
};

// ---- What elementary.h leaves to T.

template <typename C>
XlaNumber<C> Where(xla::XlaOp condition, const XlaNumber<C>& a,
                   const XlaNumber<C>& b) {
  xla::XlaBuilder* builder = condition.builder();
  return XlaNumber<C>(xla::Select(condition, a.Op(builder), b.Op(builder)));
}

template <typename C>
XlaNumber<C> Abs(const XlaNumber<C>& x) {
  return XlaNumber<C>(xla::Abs(x.op()));
}

template <typename C>
XlaNumber<C> CopySign(const XlaNumber<C>& magnitude, const XlaNumber<C>& sign) {
  return XlaNumber<C>(xla::Mul(magnitude.op(), xla::Sign(sign.op())));
}

template <typename C>
XlaNumber<C> ExpOfMinus(const XlaNumber<C>& x) {
  return XlaNumber<C>(xla::Exp(xla::Neg(x.op())));
}

template <typename C>
XlaNumber<C> Exp2OfMinus(const XlaNumber<C>& x) {
  return ExpOfMinus(x * XlaNumber<C>(0.69314718055994530942));
}

// Left out: XLA may rearrange what finds it.
template <typename C>
XlaNumber<C> SquareRoundoff(const XlaNumber<C>& /*x*/,
                            const XlaNumber<C>& /*square*/) {
  return XlaNumber<C>(0);
}

// ---- The lowering.

namespace internal {

template <typename C>
void SetOutputs(tensorflow::XlaOpKernelContext* context,
                xla::PrimitiveType stored, const XlaNumber<C>& result) {
  context->SetOutput(0, xla::ConvertElementType(result.op(), stored));
}
template <typename C>
void SetOutputs(tensorflow::XlaOpKernelContext* context,
                xla::PrimitiveType stored, const Pair<XlaNumber<C>>& result) {
  context->SetOutput(0, xla::ConvertElementType(result.first.op(), stored));
  context->SetOutput(1, xla::ConvertElementType(result.second.op(), stored));
}

template <typename C, typename Functor>
void LowerIn(const Functor& functor, tensorflow::XlaOpKernelContext* context) {
  constexpr xla::PrimitiveType kComputed =
      std::is_same_v<C, float> ? xla::F32 : xla::F64;
  std::vector<XlaNumber<C>> inputs;
  for (int k = 0; k < Functor::kArity; ++k) {
    inputs.emplace_back(xla::ConvertElementType(context->Input(k), kComputed));
  }
  SetOutputs(context, context->input_xla_type(0), Call(functor, inputs.data()));
}

}  // namespace internal

// Checks that all inputs have one shape, computes in their compute type
// (numeric.h) and rounds once.
template <typename Functor>
void LowerFunctor(const Functor& functor,
                  tensorflow::XlaOpKernelContext* context) {
  OP_REQUIRES_OK(context, CheckXlaShapes(context, Functor::kArity));
  if (context->input_xla_type(0) == xla::F64) {
    internal::LowerIn<double>(functor, context);
  } else {
    internal::LowerIn<float>(functor, context);
  }
}

// Attributes are read as elementwise_op.h says.
template <typename Functor>
class FunctorXlaOp : public tensorflow::XlaOpKernel {
 public:
  explicit FunctorXlaOp(tensorflow::OpKernelConstruction* context)
      : XlaOpKernel(context) {
    OP_REQUIRES_OK(context, ReadAttributes(context, &functor_));
  }

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    LowerFunctor(functor_, context);
  }

 private:
  Functor functor_{};
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_FUNCTOR_XLA_H_
