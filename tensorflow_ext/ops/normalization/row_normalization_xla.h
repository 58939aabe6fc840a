// SPDX-License-Identifier: Apache-2.0
//
// XLA lowerings of row normalization (normalization.h) and its gradient,
// in the compute type, rounded once.

#ifndef TENSORFLOW_EXT_OPS_NORMALIZATION_ROW_NORMALIZATION_XLA_H_
#define TENSORFLOW_EXT_OPS_NORMALIZATION_ROW_NORMALIZATION_XLA_H_

#include <vector>

#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow_ext/kernels/shape_xla.h"
#include "tensorflow_ext/ops/normalization/normalization.h"
#include "tensorflow_ext/ops/normalization/normalization_shape.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {

// The inputs of an op as matrices [rows, size] in the compute type.
class XlaRows {
 public:
  XlaRows(tensorflow::XlaOpKernelContext* context, const RowDims& dims,
          xla::PrimitiveType type)
      : context_(context), dims_(dims), type_(type) {}

  // Input `i` of shape [..., size].
  xla::XlaOp Matrix(int i) const {
    return xla::Reshape(Input(i), {dims_.rows, dims_.size});
  }
  // Input `i` of shape [size], once for every row.
  xla::XlaOp EveryRow(int i) const {
    return xla::BroadcastInDim(Input(i), {dims_.rows, dims_.size}, {1});
  }
  // Input `i` of shape [...], once for every column.
  xla::XlaOp EveryColumn(int i) const {
    return EveryColumn(xla::Reshape(Input(i), {dims_.rows}));
  }
  // A vector [rows], once for every column.
  xla::XlaOp EveryColumn(xla::XlaOp rows) const {
    return xla::BroadcastInDim(rows, {dims_.rows, dims_.size}, {0});
  }

  // The mean of each row, [rows], and the sum of each column, [size].
  xla::XlaOp RowMean(xla::XlaOp matrix) const {
    return xla::Div(Sum(matrix, 1), xla::ScalarLike(matrix, dims_.divisor()));
  }
  xla::XlaOp ColumnSum(xla::XlaOp matrix) const { return Sum(matrix, 0); }

 private:
  xla::XlaOp Input(int i) const {
    return xla::ConvertElementType(context_->Input(i), type_);
  }
  xla::XlaOp Sum(xla::XlaOp matrix, int64_t dimension) const {
    xla::XlaBuilder* builder = context_->builder();
    return xla::Reduce(matrix, xla::Zero(builder, type_),
                       xla::CreateScalarAddComputation(type_, builder),
                       {dimension});
  }

  tensorflow::XlaOpKernelContext* const context_;
  const RowDims dims_;
  const xla::PrimitiveType type_;
};

// What the lowerings share: shapes, and outputs in their own shape and type.
class RowNormalizationXlaBase : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

 protected:
  // Reads the shapes of all inputs.
  static absl::Status ReadShapes(tensorflow::XlaOpKernelContext* context,
                                 std::vector<tensorflow::TensorShape>* shapes) {
    shapes->resize(context->num_inputs());
    for (int i = 0; i < context->num_inputs(); ++i) {
      const absl::Status status = XlaInputShape(context, i, &(*shapes)[i]);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  static void SetOutput(tensorflow::XlaOpKernelContext* context, int index,
                        xla::XlaOp value, xla::PrimitiveType type,
                        const tensorflow::TensorShape& shape) {
    context->SetOutput(index, xla::Reshape(xla::ConvertElementType(value, type),
                                           shape.dim_sizes()));
  }
};

template <typename Norm>
class RowNormalizationXlaOp final : public RowNormalizationXlaBase {
 public:
  using Arguments = NormalizationArguments<Norm>;

  explicit RowNormalizationXlaOp(tensorflow::OpKernelConstruction* context)
      : RowNormalizationXlaBase(context) {
    OP_REQUIRES_OK(context, CheckStatisticsType(context, Norm::kName));
    OP_REQUIRES_OK(context, GetNonNegativeAttr(context, Norm::kName, "epsilon",
                                               &epsilon_));
  }

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    std::vector<tensorflow::TensorShape> shapes;
    RowDims dims;
    OP_REQUIRES_OK(context, ReadShapes(context, &shapes));
    OP_REQUIRES_OK(context, ReadNormalization<Norm>(
                                [&](int i) { return shapes[i]; }, &dims));
    const xla::PrimitiveType stored = context->input_xla_type(0);
    const xla::PrimitiveType computed =
        stored == xla::F64 ? xla::F64 : xla::F32;
    const XlaRows rows(context, dims, computed);
    const tensorflow::TensorShape& shape = shapes[Arguments::kX];
    xla::XlaOp centered = rows.Matrix(Arguments::kX);
    if constexpr (Norm::kCentered) {
      const xla::XlaOp mean = rows.RowMean(centered);
      centered = xla::Sub(centered, rows.EveryColumn(mean));
      SetOutput(context, Arguments::kMean, mean, computed,
                StatisticsShape(shape));
    }
    const xla::XlaOp variance = rows.RowMean(xla::Mul(centered, centered));
    const xla::XlaOp inverse = xla::Div(
        xla::ScalarLike(variance, 1),
        xla::Sqrt(xla::Add(variance, xla::ScalarLike(variance, epsilon_))));
    xla::XlaOp y = xla::Mul(xla::Mul(centered, rows.EveryColumn(inverse)),
                            rows.EveryRow(Arguments::kScale));
    if constexpr (Norm::kCentered) {
      y = xla::Add(y, rows.EveryRow(Arguments::kOffset));
    }
    SetOutput(context, Arguments::kY, y, stored, shape);
    SetOutput(context, Arguments::kInverse, inverse, computed,
              StatisticsShape(shape));
  }

 private:
  float epsilon_;
};

template <typename Norm>
class RowNormalizationGradXlaOp final : public RowNormalizationXlaBase {
 public:
  using Arguments = NormalizationGradArguments<Norm>;

  explicit RowNormalizationGradXlaOp(tensorflow::OpKernelConstruction* context)
      : RowNormalizationXlaBase(context) {
    OP_REQUIRES_OK(context, CheckStatisticsType(context, Norm::kGradName));
  }

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    std::vector<tensorflow::TensorShape> shapes;
    RowDims dims;
    OP_REQUIRES_OK(context, ReadShapes(context, &shapes));
    OP_REQUIRES_OK(context, ReadNormalizationGrad<Norm>(
                                [&](int i) { return shapes[i]; }, &dims));
    const xla::PrimitiveType stored = context->input_xla_type(0);
    const xla::PrimitiveType computed =
        stored == xla::F64 ? xla::F64 : xla::F32;
    const XlaRows rows(context, dims, computed);
    const xla::XlaOp gradients = rows.Matrix(Arguments::kGradients);
    const xla::XlaOp inverse = rows.EveryColumn(Arguments::kInverse);
    xla::XlaOp normal = rows.Matrix(Arguments::kX);
    if constexpr (Norm::kCentered) {
      normal = xla::Sub(normal, rows.EveryColumn(Arguments::kMean));
    }
    normal = xla::Mul(normal, inverse);
    const xla::XlaOp size = xla::ScalarLike(normal, dims.divisor());
    const xla::XlaOp scaled =
        xla::Mul(gradients, rows.EveryRow(Arguments::kScale));
    const xla::XlaOp mean =
        rows.EveryColumn(rows.RowMean(xla::Mul(scaled, normal)));
    xla::XlaOp difference = xla::Sub(scaled, xla::Mul(normal, mean));
    if constexpr (Norm::kCentered) {
      difference = xla::Sub(difference, rows.EveryColumn(rows.RowMean(scaled)));
    }
    const xla::XlaOp through_inverse =
        xla::Mul(xla::Mul(rows.EveryColumn(Arguments::kInverseGradients),
                          xla::Mul(inverse, inverse)),
                 xla::Div(normal, size));
    xla::XlaOp x_backprops =
        xla::Sub(xla::Mul(inverse, difference), through_inverse);
    if constexpr (Norm::kCentered) {
      x_backprops =
          xla::Add(x_backprops,
                   xla::Div(rows.EveryColumn(Arguments::kMeanGradients), size));
      SetOutput(context, 2, rows.ColumnSum(gradients), stored,
                shapes[Arguments::kScale]);
    }
    SetOutput(context, 0, x_backprops, stored, shapes[Arguments::kX]);
    SetOutput(context, 1, rows.ColumnSum(xla::Mul(gradients, normal)), stored,
              shapes[Arguments::kScale]);
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_NORMALIZATION_ROW_NORMALIZATION_XLA_H_
