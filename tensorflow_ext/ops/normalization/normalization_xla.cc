#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "tensorflow_ext/ops/normalization/normalization.h"
#include "tensorflow_ext/ops/normalization/normalization_shape.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using tensorflow::TensorShape;
using xla::XlaOp;

// XLA's CPU backend writes the terms of a sum to memory before it adds them, which takes twice as
// long as its product of a matrix with a vector. But that product adds the terms one after the
// other: with more columns than this, a variance would be off by 10 units and more.
constexpr int64_t kMostInProduct = 1 << 14;

// The arguments of an op as matrices [rows, size] in the compute type.
class Rows {
 public:
  Rows(LoweringContext* context, const RowDims& dims) : context_(context), dims_(dims) {}

  // Input `i` of shape [..., size].
  XlaOp Matrix(int i) const {
    return xla::Reshape(context_->ComputeInput(i), {dims_.rows, dims_.size});
  }
  // Repeats a vector [size], or an input of that shape, for every row.
  XlaOp EveryRow(XlaOp columns) const {
    return xla::BroadcastInDim(columns, {dims_.rows, dims_.size}, {1});
  }
  XlaOp EveryRow(int i) const { return EveryRow(context_->ComputeInput(i)); }
  // Input `i` of shape [...] as a vector [rows].
  XlaOp OfRows(int i) const { return xla::Reshape(context_->ComputeInput(i), {dims_.rows}); }
  // Repeats a vector [rows] for every column.
  XlaOp EveryColumn(XlaOp rows) const {
    return xla::BroadcastInDim(rows, {dims_.rows, dims_.size}, {0});
  }

  // The mean of each row, [rows], and the sum of each column, [size].
  XlaOp RowMean(XlaOp matrix) const { return xla::ReduceSum(matrix, {1}) / dims_.divisor(); }
  // The mean of each row of matrix * weights, whose shape is [size].
  XlaOp WeightedRowMean(XlaOp matrix, XlaOp weights) const {
    if (!context_->IsForCpu() || dims_.size > kMostInProduct) {
      return RowMean(matrix * EveryRow(weights));
    }
    const XlaOp sums = xla::BatchDotTransposed(matrix, xla::Reshape(weights, {1, dims_.size}));
    return xla::Reshape(sums, {dims_.rows}) / dims_.divisor();
  }
  XlaOp ColumnSum(XlaOp matrix) const { return xla::ReduceSum(matrix, {0}); }

  void SetOutput(int index, XlaOp value, const TensorShape& shape) const {
    context_->SetOutput(index, xla::Reshape(value, shape.dim_sizes()));
  }

 private:
  LoweringContext* const context_;
  const RowDims dims_;
};

// Refuses dynamic sizes, except the number of rows of a matrix, which needs no reshaping.
// `of_columns` lists the inputs that have one element per column.
absl::Status CheckSizes(LoweringContext* context, const TensorShape& x,
                        const std::vector<int>& of_columns) {
  for (int i = 0; i < context->num_inputs(); ++i) {
    const bool is_of_rows = absl::c_find(of_columns, i) == of_columns.end();
    const int first_static = x.dims() == 2 && is_of_rows ? 1 : 0;
    TF_RETURN_IF_ERROR(context->CheckStatic(i, first_static));
  }
  return absl::OkStatus();
}

template <typename Norm>
class NormalizationLowering final : public Lowering {
  using Arguments = NormalizationArguments<Norm>;

  absl::Status ReadAttributes(LoweringConstruction* context) override {
    TF_RETURN_IF_ERROR(CheckStatisticsType(context, Norm::kName));
    return GetNonNegativeAttr(context, Norm::kName, "epsilon", &epsilon_);
  }

  absl::Status Compile(LoweringContext* context) const override {
    std::vector<TensorShape> shapes;
    RowDims dims;
    TF_RETURN_IF_ERROR(context->InputBounds(&shapes));
    TF_RETURN_IF_ERROR(ReadNormalization<Norm>([&](int i) { return shapes[i]; }, &dims));
    const TensorShape& shape = shapes[Arguments::kX];
    std::vector<int> of_columns = {Arguments::kScale};
    if constexpr (Norm::kCentered) of_columns.push_back(Arguments::kOffset);
    TF_RETURN_IF_ERROR(CheckSizes(context, shape, of_columns));
    const Rows rows(context, dims);
    XlaOp centered = rows.Matrix(Arguments::kX);
    if constexpr (Norm::kCentered) {
      const XlaOp mean = rows.RowMean(centered);
      centered = centered - rows.EveryColumn(mean);
      rows.SetOutput(Arguments::kMean, mean, StatisticsShape(shape));
    }
    const XlaOp ones = xla::FullLike(context->ComputeInput(Arguments::kScale), 1);
    const XlaOp variance = rows.WeightedRowMean(centered * centered, ones);
    const XlaOp inverse = 1 / xla::Sqrt(variance + epsilon_);
    XlaOp y = centered * rows.EveryColumn(inverse) * rows.EveryRow(Arguments::kScale);
    if constexpr (Norm::kCentered) y = y + rows.EveryRow(Arguments::kOffset);
    rows.SetOutput(Arguments::kY, y, shape);
    rows.SetOutput(Arguments::kInverse, inverse, StatisticsShape(shape));
    return absl::OkStatus();
  }

  float epsilon_;
};

template <typename Norm>
class NormalizationGradLowering final : public Lowering {
  using Arguments = NormalizationGradArguments<Norm>;

  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return CheckStatisticsType(context, Norm::kGradName);
  }

  absl::Status Compile(LoweringContext* context) const override {
    std::vector<TensorShape> shapes;
    RowDims dims;
    TF_RETURN_IF_ERROR(context->InputBounds(&shapes));
    TF_RETURN_IF_ERROR(ReadNormalizationGrad<Norm>([&](int i) { return shapes[i]; }, &dims));
    TF_RETURN_IF_ERROR(CheckSizes(context, shapes[Arguments::kX], {Arguments::kScale}));
    const Rows rows(context, dims);
    const XlaOp gradients = rows.Matrix(Arguments::kGradients);
    const XlaOp inverse = rows.OfRows(Arguments::kInverse);
    XlaOp normal = rows.Matrix(Arguments::kX);
    if constexpr (Norm::kCentered) {
      normal = normal - rows.EveryColumn(rows.OfRows(Arguments::kMean));
    }
    normal = normal * rows.EveryColumn(inverse);
    const XlaOp scale = context->ComputeInput(Arguments::kScale);
    const XlaOp along_scale = gradients * normal;
    // Computes what a row shares before it meets the row's elements.
    const XlaOp along_normal =
        rows.WeightedRowMean(along_scale, scale) * inverse +
        rows.OfRows(Arguments::kInverseGradients) * (inverse * inverse) / dims.divisor();
    XlaOp x_backprops = gradients * rows.EveryRow(scale) * rows.EveryColumn(inverse) -
                        normal * rows.EveryColumn(along_normal);
    if constexpr (Norm::kCentered) {
      const XlaOp along_ones = rows.WeightedRowMean(gradients, scale) * inverse -
                               rows.OfRows(Arguments::kMeanGradients) / dims.divisor();
      x_backprops = x_backprops - rows.EveryColumn(along_ones);
      rows.SetOutput(2, rows.ColumnSum(gradients), shapes[Arguments::kScale]);
    }
    rows.SetOutput(0, x_backprops, shapes[Arguments::kX]);
    rows.SetOutput(1, rows.ColumnSum(along_scale), shapes[Arguments::kScale]);
    return absl::OkStatus();
  }
};

REGISTER_LOWERING(Name("TfExt>LayerNorm"), NormalizationLowering<LayerNorm>);
REGISTER_LOWERING(Name("TfExt>LayerNormGrad"), NormalizationGradLowering<LayerNorm>);
REGISTER_LOWERING(Name("TfExt>RmsNorm"), NormalizationLowering<RmsNorm>);
REGISTER_LOWERING(Name("TfExt>RmsNormGrad"), NormalizationGradLowering<RmsNorm>);

}  // namespace
}  // namespace tensorflow_ext
