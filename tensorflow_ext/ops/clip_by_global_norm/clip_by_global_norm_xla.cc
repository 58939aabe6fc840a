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

// As in clip_by_global_norm.h, everything is in double, and doubles have three ranges of magnitude.
// But XLA sums doubles several times as slowly as floats, so many floats are summed as floats,
// kTogether at a time, times the power of two that brings a tensor's largest value near 1.

constexpr int64_t kMany = 1 << 14, kTogether = 16;

XlaOp ToDouble(XlaOp x) { return xla::ConvertElementType(x, xla::F64); }

XlaOp Double(LoweringContext* context, int input) { return ToDouble(context->Input(input)); }

XlaOp DoubleConstant(LoweringContext* context, double value) {
  return xla::ConstantR0(context->builder(), xla::F64, value);
}

// NormSums and GlobalNorm.
struct Sums {
  XlaOp squares[3], products[3];
};
struct Norm {
  XlaOp norm, projection;
};

// ToGlobalNorm without a branch.
Norm ToNorm(LoweringContext* context, const Sums& sums) {
  const auto& [squares, products] = sums;
  const XlaOp is_above = squares[kAbove] != 0;
  const XlaOp is_middle = squares[kMiddle] != 0;
  const XlaOp is_below = squares[kBelow] != 0;
  const auto choose = [&](XlaOp above, XlaOp middle, XlaOp below) {
    return Select(is_above, above, Select(is_middle, middle, below));
  };
  const XlaOp root =
      xla::Sqrt(choose(squares[kAbove] + squares[kMiddle] * kDown * kDown,
                       squares[kMiddle] + squares[kBelow] * kDown * kDown, squares[kBelow]));
  const XlaOp product = choose(products[kAbove] + products[kMiddle] * kDown,
                               products[kMiddle] + products[kBelow] * kDown, products[kBelow]);
  const XlaOp unit = choose(DoubleConstant(context, kUp), DoubleConstant(context, 1),
                            DoubleConstant(context, kDown));
  const XlaOp is_zero = !(is_above | is_middle | is_below);
  return {root * unit, Select(is_zero, 0, product / root)};
}

// Adds few values of an input and, unless `gradients` is -1, their gradients.
void AddFew(LoweringContext* context, int input, int gradients, Sums* sums) {
  XlaOp v = Double(context, input);
  std::vector<XlaOp> in_range(1);  // a single range needs no mask
  const bool is_double = context->InputType(input) == xla::F64;
  if (is_double) {
    const XlaOp magnitude = xla::Abs(v);
    const XlaOp above = magnitude > kLarge, below = magnitude < kSmall;
    v = v * Select(above, kDown, Select(below, kUp, xla::FullLike(v, 1)));
    in_range = {!(above | below), above, below};
  }
  const auto add = [&](XlaOp terms, XlaOp* of_range) {
    for (size_t r = 0; r < in_range.size(); ++r) {
      const XlaOp own = is_double ? Select(in_range[r], terms, 0) : terms;
      of_range[r] = of_range[r] + xla::ReduceSumAll(own);
    }
  };
  add(v * v, sums->squares);
  if (gradients >= 0) add(v * Double(context, gradients), sums->products);
}

// Floats in parts whose columns are summed as floats: one part of kTogether rows, and one row with
// the rest.
struct Columns {
  std::vector<XlaOp> parts;
  XlaOp scale;  // the power of two that multiplies them
};

Columns ToColumns(XlaOp x, int64_t size) {
  const int64_t columns = size / kTogether, rest = columns * kTogether;
  const XlaOp flat = xla::Reshape(x, {size});
  Columns result;
  const auto add_part = [&](int64_t begin, int64_t end, int64_t rows) {
    result.parts.push_back(
        xla::Reshape(xla::SliceInDim(flat, begin, end, 0), {rows, (end - begin) / rows}));
  };
  add_part(0, rest, kTogether);
  if (rest < size) add_part(rest, size, 1);
  XlaOp largest = xla::ScalarLike(x, 0);
  for (const XlaOp part : result.parts) {
    largest = xla::Max(largest, xla::ReduceMaxAll(xla::ReduceMax(xla::Abs(part), {0}), 0));
  }
  // The power of two with the negated exponent of the largest value.
  constexpr int64_t kOne = 1 << 23;
  const XlaOp exponent = xla::BitcastConvertType(largest, xla::S32) & (255 * kOne);
  result.scale = xla::BitcastConvertType(xla::Max(xla::Sub(254 * kOne, exponent), kOne), xla::F32);
  for (XlaOp& part : result.parts) part = part * result.scale;
  return result;
}

void AddProducts(const Columns& x, const Columns& y, XlaOp* sum) {
  const XlaOp scale = ToDouble(x.scale) * ToDouble(y.scale);
  for (size_t i = 0; i < x.parts.size(); ++i) {
    const XlaOp of_columns = xla::ReduceSum(x.parts[i] * y.parts[i], {0});
    *sum = *sum + xla::ReduceSumAll(ToDouble(of_columns)) / scale;
  }
}

// Like AddFew, for many floats.
void AddMany(LoweringContext* context, int input, int gradients, int64_t size, Sums* sums) {
  const Columns v = ToColumns(context->ComputeInput(input), size);
  AddProducts(v, v, &sums->squares[kMiddle]);
  if (gradients < 0) return;
  const Columns g = ToColumns(context->ComputeInput(gradients), size);
  AddProducts(v, g, &sums->products[kMiddle]);
}

// The norm of `count` inputs from `first` on. Their gradients are the inputs from `gradients` on;
// if that is -1, the projection is 0.
absl::StatusOr<Norm> ComputeNorm(LoweringContext* context, int first, int count, int gradients) {
  const XlaOp zero = DoubleConstant(context, 0);
  Sums sums = {{zero, zero, zero}, {zero, zero, zero}};
  for (int i = 0; i < count; ++i) {
    const int input = first + i, of_input = gradients < 0 ? -1 : gradients + i;
    TensorShape shape;
    TF_RETURN_IF_ERROR(context->InputBounds(input, &shape));
    const int64_t size = shape.num_elements();
    if (size >= kMany && context->InputType(input) != xla::F64 &&
        context->CheckStatic(input, 0).ok()) {
      AddMany(context, input, of_input, size, &sums);
    } else {
      AddFew(context, input, of_input, &sums);
    }
  }
  return ToNorm(context, sums);
}

// ClipScale. NaN also for an invalid clip_norm, which XLA cannot refuse.
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
    TF_RETURN_IF_ERROR(CheckRank(context->op(), "clip_norm", shape, 0, kScalar));
    TF_ASSIGN_OR_RETURN(const Norm global, ComputeNorm(context, 0, count, -1));
    const XlaOp scale = Scale(global.norm, Double(context, count));
    for (int i = 0; i < count; ++i) {
      context->SetOutput(i, Double(context, i) * scale);
    }
    context->SetOutput(count, global.norm);
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>ClipByGlobalNorm"), ClipByGlobalNormLowering);

class ClipByGlobalNormGradLowering final : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    const int count = context->num_inputs() / 2 - 1;
    TF_RETURN_IF_ERROR(CheckShapes(context, count));
    const XlaOp norm_gradient = Double(context, count);
    const XlaOp clip_norm = Double(context, 2 * count + 1);

    // MakeClipGradFactors without a branch.
    const int first = count + 1;
    TF_ASSIGN_OR_RETURN(const Norm global, ComputeNorm(context, first, count, 0));
    const XlaOp norm = global.norm;
    const XlaOp scale = Scale(norm, clip_norm);
    const XlaOp nan_or_zero = scale - scale;
    const XlaOp is_clipped = norm > clip_norm;
    const XlaOp numerator = norm_gradient - Select(is_clipped, scale * global.projection, 0);
    const XlaOp along = Select(norm == 0, 0, numerator / norm);
    for (int i = 0; i < count; ++i) {
      context->SetOutput(i, scale * Double(context, i) + along * Double(context, first + i));
    }
    context->SetOutput(count, Select(is_clipped, global.projection, 0) + nan_or_zero);
    return absl::OkStatus();
  }

  static absl::Status CheckShapes(LoweringContext* context, int count) {
    std::vector<TensorShape> shapes;
    TF_RETURN_IF_ERROR(context->InputBounds(&shapes));
    for (int i = 0; i < count; ++i) {
      TF_RETURN_IF_ERROR(CheckClippedGradient(context->op(), i, shapes[i], shapes[count + 1 + i]));
    }
    TF_RETURN_IF_ERROR(CheckRank(context->op(), "norm_gradient", shapes[count], 0, kScalar));
    return CheckRank(context->op(), "clip_norm", shapes[2 * count + 1], 0, kScalar);
  }
};
REGISTER_LOWERING(Name("TfExt>ClipByGlobalNormGrad"), ClipByGlobalNormGradLowering);

}  // namespace
}  // namespace tensorflow_ext
