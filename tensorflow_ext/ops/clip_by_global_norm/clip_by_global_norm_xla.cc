// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <vector>

#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm.h"
#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm_checks.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using tensorflow::TensorShape;
using xla::Select;
using xla::XlaOp;

// As clip_by_global_norm.h: all in double, in three ranges of magnitude where
// the values are doubles.

XlaOp Double(LoweringContext* context, int input) {
  return xla::ConvertElementType(context->Input(input), xla::F64);
}

XlaOp DoubleConstant(LoweringContext* context, double value) {
  return xla::ConstantR0(context->builder(), xla::F64, value);
}

struct Norm {
  XlaOp norm, projection;
};

// ToGlobalNorm, without a branch.
Norm ToNorm(LoweringContext* context, const XlaOp* squares,
            const XlaOp* products) {
  const XlaOp is_above = squares[kAbove] != 0;
  const XlaOp is_middle = squares[kMiddle] != 0;
  const XlaOp is_below = squares[kBelow] != 0;
  const auto choose = [&](XlaOp above, XlaOp middle, XlaOp below) {
    return Select(is_above, above, Select(is_middle, middle, below));
  };
  const XlaOp root = xla::Sqrt(choose(
      squares[kAbove] + squares[kMiddle] * kDown * kDown,
      squares[kMiddle] + squares[kBelow] * kDown * kDown, squares[kBelow]));
  const XlaOp product =
      choose(products[kAbove] + products[kMiddle] * kDown,
             products[kMiddle] + products[kBelow] * kDown, products[kBelow]);
  const XlaOp unit =
      choose(DoubleConstant(context, kUp), DoubleConstant(context, 1),
             DoubleConstant(context, kDown));
  const XlaOp is_zero = !(is_above | is_middle | is_below);
  return {root * unit, Select(is_zero, 0, product / root)};
}

// `gradients` may be empty: the projection is 0.
Norm ComputeNorm(LoweringContext* context, const std::vector<XlaOp>& values,
                 const std::vector<XlaOp>& gradients) {
  const bool is_double = context->InputType(0) == xla::F64;
  const XlaOp zero = DoubleConstant(context, 0);
  XlaOp squares[] = {zero, zero, zero}, products[] = {zero, zero, zero};
  for (size_t i = 0; i < values.size(); ++i) {
    XlaOp v = values[i];
    std::vector<XlaOp> in_range(1);  // of a single range: all
    if (is_double) {
      const XlaOp magnitude = xla::Abs(v);
      const XlaOp above = magnitude > kLarge, below = magnitude < kSmall;
      v = v * Select(above, kDown, Select(below, kUp, xla::FullLike(v, 1)));
      in_range = {!(above | below), above, below};
    }
    const auto add = [&](XlaOp terms, XlaOp* sums) {
      for (size_t r = 0; r < in_range.size(); ++r) {
        const XlaOp own = is_double ? Select(in_range[r], terms, 0) : terms;
        sums[r] = sums[r] + xla::ReduceSumAll(own);
      }
    };
    add(v * v, squares);
    if (!gradients.empty()) add(v * gradients[i], products);
  }
  return ToNorm(context, squares, products);
}

// ClipScale; NaN also for a clip_norm that could not be refused.
XlaOp Scale(XlaOp norm, XlaOp clip_norm) {
  const XlaOp scale = Select(norm > clip_norm, clip_norm / norm, 1);
  const XlaOp valid = (clip_norm >= 0) & xla::IsFinite(norm);
  return Select(valid, scale, std::nan(""));
}

class ClipByGlobalNormLowering final : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    const int count = context->num_inputs() - 1;
    TensorShape shape;
    TF_RETURN_IF_ERROR(context->InputBounds(count, &shape));
    TF_RETURN_IF_ERROR(
        CheckRank(context->op(), "clip_norm", shape, 0, kScalar));
    std::vector<XlaOp> values(count);
    for (int i = 0; i < count; ++i) values[i] = Double(context, i);
    const Norm norm = ComputeNorm(context, values, {});
    const XlaOp scale = Scale(norm.norm, Double(context, count));
    for (int i = 0; i < count; ++i) context->SetOutput(i, values[i] * scale);
    context->SetOutput(count, norm.norm);
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>ClipByGlobalNorm"), ClipByGlobalNormLowering);

class ClipByGlobalNormGradLowering final : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    const int count = context->num_inputs() / 2 - 1;
    TF_RETURN_IF_ERROR(CheckShapes(context, count));
    std::vector<XlaOp> gradients(count), values(count);
    for (int i = 0; i < count; ++i) {
      gradients[i] = Double(context, i);
      values[i] = Double(context, count + 1 + i);
    }
    const XlaOp norm_gradient = Double(context, count);
    const XlaOp clip_norm = Double(context, 2 * count + 1);

    // ClipGrad, without a branch.
    const Norm global = ComputeNorm(context, values, gradients);
    const XlaOp norm = global.norm;
    const XlaOp scale = Scale(norm, clip_norm);
    const XlaOp nan_or_zero = scale - scale;
    const XlaOp is_clipped = norm > clip_norm;
    const XlaOp numerator =
        norm_gradient - Select(is_clipped, scale * global.projection, 0);
    const XlaOp along = Select(norm == 0, 0, numerator / norm);
    for (int i = 0; i < count; ++i) {
      context->SetOutput(i, scale * gradients[i] + along * values[i]);
    }
    context->SetOutput(count,
                       Select(is_clipped, global.projection, 0) + nan_or_zero);
    return absl::OkStatus();
  }

  static absl::Status CheckShapes(LoweringContext* context, int count) {
    std::vector<TensorShape> shapes;
    TF_RETURN_IF_ERROR(context->InputBounds(&shapes));
    for (int i = 0; i < count; ++i) {
      TF_RETURN_IF_ERROR(CheckClippedGradient(context->op(), i, shapes[i],
                                              shapes[count + 1 + i]));
    }
    TF_RETURN_IF_ERROR(
        CheckRank(context->op(), "norm_gradient", shapes[count], 0, kScalar));
    return CheckRank(context->op(), "clip_norm", shapes[2 * count + 1], 0,
                     kScalar);
  }
};
REGISTER_LOWERING(Name("TfExt>ClipByGlobalNormGrad"),
                  ClipByGlobalNormGradLowering);

}  // namespace
}  // namespace tensorflow_ext
