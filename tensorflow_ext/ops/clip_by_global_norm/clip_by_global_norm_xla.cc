// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <vector>

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/shape_xla.h"
#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm.h"
#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm_checks.h"
#include "tensorflow_ext/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernelContext;
using xla::XlaOp;

// As clip_by_global_norm.h: all in double, in three ranges of magnitude where
// the values are doubles.
class ClipXlaOpBase : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

 protected:
  struct Norm {
    XlaOp norm, projection;
  };

  XlaOp Double(XlaOp x) const { return xla::ConvertElementType(x, xla::F64); }
  XlaOp Constant(XlaOpKernelContext* context, double value) const {
    return xla::ConstantR0<double>(context->builder(), value);
  }

  XlaOp SumAll(XlaOp x) const {
    const xla::XlaComputation add =
        xla::CreateScalarAddComputation(xla::F64, x.builder());
    return xla::ReduceAll(x, xla::Zero(x.builder(), xla::F64), add);
  }

  // `gradients` may be empty: the projection is 0.
  Norm ComputeNorm(XlaOpKernelContext* context,
                   const std::vector<XlaOp>& values,
                   const std::vector<XlaOp>& gradients) const {
    const bool is_double = context->input_xla_type(0) == xla::F64;
    const XlaOp zero = Constant(context, 0);
    XlaOp squares[] = {zero, zero, zero}, products[] = {zero, zero, zero};
    for (size_t i = 0; i < values.size(); ++i) {
      XlaOp v = values[i];
      std::vector<XlaOp> in_range(1);  // of a single range: all
      if (is_double) {
        const XlaOp magnitude = xla::Abs(v);
        const XlaOp above = xla::Gt(magnitude, Constant(context, kLarge));
        const XlaOp below = xla::Lt(magnitude, Constant(context, kSmall));
        v = v * xla::Select(above, xla::FullLike(v, kDown),
                            xla::Select(below, xla::FullLike(v, kUp),
                                        xla::FullLike(v, 1)));
        in_range = {xla::Not(xla::Or(above, below)), above, below};
      }
      const auto add = [&](XlaOp terms, XlaOp* sums) {
        for (size_t r = 0; r < in_range.size(); ++r) {
          const XlaOp own =
              is_double ? xla::Select(in_range[r], terms, xla::ZerosLike(terms))
                        : terms;
          sums[r] = sums[r] + SumAll(own);
        }
      };
      add(v * v, squares);
      if (!gradients.empty()) add(v * gradients[i], products);
    }
    return ToNorm(context, squares, products);
  }

 private:
  // ToGlobalNorm, without a branch.
  Norm ToNorm(XlaOpKernelContext* context, const XlaOp* squares,
              const XlaOp* products) const {
    const XlaOp zero = Constant(context, 0);
    const XlaOp down = Constant(context, kDown), up = Constant(context, kUp);
    const XlaOp is_above = xla::Ne(squares[kAbove], zero);
    const XlaOp is_middle = xla::Ne(squares[kMiddle], zero);
    const XlaOp is_below = xla::Ne(squares[kBelow], zero);
    const auto choose = [&](XlaOp above, XlaOp middle, XlaOp below) {
      return xla::Select(is_above, above,
                         xla::Select(is_middle, middle, below));
    };
    const XlaOp root = xla::Sqrt(choose(
        squares[kAbove] + squares[kMiddle] * down * down,
        squares[kMiddle] + squares[kBelow] * down * down, squares[kBelow]));
    const XlaOp product =
        choose(products[kAbove] + products[kMiddle] * down,
               products[kMiddle] + products[kBelow] * down, products[kBelow]);
    const XlaOp one = Constant(context, 1);
    const XlaOp is_zero =
        xla::Not(xla::Or(is_above, xla::Or(is_middle, is_below)));
    return {root * choose(up, one, down),
            xla::Select(is_zero, zero, product / root)};
  }
};

// ClipScale; NaN also for a clip_norm that could not be refused.
XlaOp Scale(XlaOp norm, XlaOp clip_norm) {
  const XlaOp scale = xla::Select(xla::Gt(norm, clip_norm), clip_norm / norm,
                                  xla::ScalarLike(norm, 1));
  const XlaOp valid = xla::And(xla::Ge(clip_norm, xla::ZerosLike(clip_norm)),
                               xla::IsFinite(norm));
  return xla::Select(valid, scale, xla::ScalarLike(norm, std::nan("")));
}

class ClipXlaOp final : public ClipXlaOpBase {
 public:
  using ClipXlaOpBase::ClipXlaOpBase;

  void Compile(XlaOpKernelContext* context) override {
    const int count = context->num_inputs() - 1;
    TensorShape shape;
    OP_REQUIRES_OK(context, XlaInputShape(context, count, &shape));
    OP_REQUIRES_OK(context,
                   CheckRank(type_string(), "clip_norm", shape, 0, kScalar));
    const xla::PrimitiveType stored = context->input_xla_type(0);
    std::vector<XlaOp> values(count);
    for (int i = 0; i < count; ++i) values[i] = Double(context->Input(i));
    const Norm norm = ComputeNorm(context, values, {});
    const XlaOp scale = Scale(norm.norm, Double(context->Input(count)));
    for (int i = 0; i < count; ++i) {
      context->SetOutput(i, xla::ConvertElementType(values[i] * scale, stored));
    }
    context->SetOutput(count, xla::ConvertElementType(norm.norm, stored));
  }
};
REGISTER_XLA_OP(Name("TfExt>ClipByGlobalNorm"), ClipXlaOp);

class ClipGradXlaOp final : public ClipXlaOpBase {
 public:
  using ClipXlaOpBase::ClipXlaOpBase;

  void Compile(XlaOpKernelContext* context) override {
    const int count = context->num_inputs() / 2 - 1;
    OP_REQUIRES_OK(context, CheckShapes(context, count));
    const xla::PrimitiveType stored = context->input_xla_type(0);
    std::vector<XlaOp> gradients(count), values(count);
    for (int i = 0; i < count; ++i) {
      gradients[i] = Double(context->Input(i));
      values[i] = Double(context->Input(count + 1 + i));
    }
    const XlaOp norm_gradient = Double(context->Input(count));
    const XlaOp clip_norm = Double(context->Input(2 * count + 1));

    // ClipGrad, without a branch.
    const Norm global = ComputeNorm(context, values, gradients);
    const XlaOp norm = global.norm, zero = xla::ZerosLike(norm);
    const XlaOp scale = Scale(norm, clip_norm);
    const XlaOp nan_or_zero = scale - scale;
    const XlaOp is_clipped = xla::Gt(norm, clip_norm);
    const XlaOp numerator =
        norm_gradient -
        xla::Select(is_clipped, scale * global.projection, zero);
    const XlaOp along =
        xla::Select(xla::Eq(norm, zero), zero, numerator / norm);
    const XlaOp clip_norm_gradient =
        xla::Select(is_clipped, global.projection, zero) + nan_or_zero;
    for (int i = 0; i < count; ++i) {
      context->SetOutput(
          i, xla::ConvertElementType(scale * gradients[i] + along * values[i],
                                     stored));
    }
    context->SetOutput(count,
                       xla::ConvertElementType(clip_norm_gradient, stored));
  }

 private:
  absl::Status CheckShapes(XlaOpKernelContext* context, int count) const {
    std::vector<TensorShape> shapes(context->num_inputs());
    for (int i = 0; i < context->num_inputs(); ++i) {
      if (absl::Status s = XlaInputShape(context, i, &shapes[i]); !s.ok()) {
        return s;
      }
    }
    for (int i = 0; i < count; ++i) {
      if (absl::Status s = CheckClippedGradient(type_string(), i, shapes[i],
                                                shapes[count + 1 + i]);
          !s.ok()) {
        return s;
      }
    }
    if (absl::Status s = CheckRank(type_string(), "norm_gradient",
                                   shapes[count], 0, kScalar);
        !s.ok()) {
      return s;
    }
    return CheckRank(type_string(), "clip_norm", shapes[2 * count + 1], 0,
                     kScalar);
  }
};
REGISTER_XLA_OP(Name("TfExt>ClipByGlobalNormGrad"), ClipGradXlaOp);

}  // namespace
}  // namespace tensorflow_ext
