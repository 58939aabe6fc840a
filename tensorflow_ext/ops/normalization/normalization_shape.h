// The shapes, types and attributes of row normalization (normalization.h). Shape functions, kernels
// and XLA lowerings share the error messages. Errors are InvalidArgument and name the op, the
// argument, its value and what was expected.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/rows_checks.h"
#include "tensorflow_ext/ops/normalization/normalization.h"

namespace tensorflow_ext {

// The index of each argument; -1 for one that only a centered norm has.
template <typename Norm>
struct NormalizationArguments {
  static constexpr int kX = 0, kScale = 1, kOffset = Norm::kCentered ? 2 : -1;
  // Outputs.
  static constexpr int kY = 0, kMean = Norm::kCentered ? 1 : -1;
  static constexpr int kInverse = Norm::kCentered ? 2 : 1;
};
template <typename Norm>
struct NormalizationGradArguments {
  static constexpr int kGradients = 0;
  static constexpr int kMeanGradients = Norm::kCentered ? 1 : -1;
  static constexpr int kInverseGradients = Norm::kCentered ? 2 : 1;
  static constexpr int kX = kInverseGradients + 1;
  static constexpr int kScale = kX + 1;
  static constexpr int kMean = Norm::kCentered ? kScale + 1 : -1;
  static constexpr int kInverse = Norm::kCentered ? kScale + 2 : kScale + 1;
};

// The attributes T and U. U must be the compute type of T. `Context` is an InferenceContext or an
// OpKernelConstruction.
template <typename Context>
absl::Status CheckStatisticsType(Context* context, const char* op) {
  tensorflow::DataType type, statistics;
  TF_RETURN_IF_ERROR(context->GetAttr("T", &type));
  if (absl::Status s = context->GetAttr("U", &statistics); !s.ok()) return s;
  const tensorflow::DataType expected =
      type == tensorflow::DT_DOUBLE ? tensorflow::DT_DOUBLE : tensorflow::DT_FLOAT;
  if (statistics == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      op, ": attribute 'U', the type of the statistics, is ",
      tensorflow::DataTypeString(statistics), ", expected ", tensorflow::DataTypeString(expected),
      " for inputs of type ", tensorflow::DataTypeString(type)));
}

// ----- Shape functions. -----

namespace internal {

// Merges the known dimensions of x: [..., D] and scale: [D]. `x` is the merged shape of x,
// `parameters` that of scale, and `statistics` that of x without D.
inline absl::Status InferParameterRows(tensorflow::shape_inference::InferenceContext* c,
                                       const char* op, int x_index, int scale_index,
                                       tensorflow::shape_inference::ShapeHandle* x,
                                       tensorflow::shape_inference::ShapeHandle* scale,
                                       tensorflow::shape_inference::ShapeHandle* rows) {
  using tensorflow::shape_inference::DimensionHandle;
  absl::Status status = InferRows(c, op, "x", x_index, x);
  if (!status.ok()) return status;
  status =
      InferRank(c, op, "scale", scale_index, 1, "[D], D being the last dimension of 'x'", scale);
  if (!status.ok()) return status;
  DimensionHandle size;
  if (!c->Merge(c->Dim(*x, -1), c->Dim(*scale, 0), &size).ok()) {
    return ShapeError(op, "scale", c->DebugString(*scale),
                      absl::StrCat("[", c->DebugString(c->Dim(*x, -1)),
                                   "], the last dimension of 'x', ", c->DebugString(*x)));
  }
  *scale = c->Vector(size);
  status.Update(c->ReplaceDim(*x, -1, size, x));
  status.Update(c->Subshape(*x, 0, -1, rows));
  return status;
}

}  // namespace internal

template <typename Norm>
absl::Status NormalizationShape(tensorflow::shape_inference::InferenceContext* c) {
  using Arguments = NormalizationArguments<Norm>;
  tensorflow::shape_inference::ShapeHandle x, scale, rows;
  float epsilon;
  absl::Status status = CheckStatisticsType(c, Norm::kName);
  status.Update(GetNonNegativeAttr(c, Norm::kName, "epsilon", &epsilon));
  status.Update(internal::InferParameterRows(c, Norm::kName, Arguments::kX, Arguments::kScale, &x,
                                             &scale, &rows));
  if (!status.ok()) return status;
  if constexpr (Norm::kCentered) {
    status = InferShapeOf(c, Norm::kName, "offset", Arguments::kOffset, "scale", scale, &scale);
    if (!status.ok()) return status;
    c->set_output(Arguments::kMean, rows);
  }
  c->set_output(Arguments::kY, x);
  c->set_output(Arguments::kInverse, rows);
  return absl::OkStatus();
}

template <typename Norm>
absl::Status NormalizationGradShape(tensorflow::shape_inference::InferenceContext* c) {
  using Arguments = NormalizationGradArguments<Norm>;
  constexpr const char* kOp = Norm::kGradName;
  tensorflow::shape_inference::ShapeHandle x, scale, rows;
  absl::Status status = CheckStatisticsType(c, kOp);
  status.Update(
      internal::InferParameterRows(c, kOp, Arguments::kX, Arguments::kScale, &x, &scale, &rows));
  status.Update(InferShapeOf(c, kOp, "gradients", Arguments::kGradients, "x", x, &x));
  const auto statistic = [&](const std::string& name, int index) {
    if (!status.ok()) return;
    tensorflow::shape_inference::ShapeHandle merged;
    if (c->Merge(c->input(index), rows, &merged).ok()) {
      rows = merged;
      return;
    }
    status =
        ShapeError(kOp, name, c->DebugString(c->input(index)),
                   absl::StrCat("that of 'x' without its last dimension, ", c->DebugString(rows)));
  };
  if constexpr (Norm::kCentered) {
    statistic("mean_gradients", Arguments::kMeanGradients);
    statistic("mean", Arguments::kMean);
  }
  statistic(absl::StrCat(Norm::kInverse, "_gradients"), Arguments::kInverseGradients);
  statistic(Norm::kInverse, Arguments::kInverse);
  if (!status.ok()) return status;
  c->set_output(0, x);
  c->set_output(1, scale);
  if constexpr (Norm::kCentered) c->set_output(2, scale);
  return absl::OkStatus();
}

// ----- Kernels and lowerings. -----

// Checks x: [..., D] and scale or offset (`name`): [D]. Fills in `dims`.
inline absl::Status ReadRowDims(const std::string& op, const tensorflow::TensorShape& x,
                                const char* name, const tensorflow::TensorShape& parameter,
                                RowDims* dims) {
  TF_RETURN_IF_ERROR(ReadRows(op, "x", x, dims));
  if (parameter.dims() != 1 || parameter.dim_size(0) != dims->size) {
    return ShapeError(
        op, name, parameter,
        absl::StrCat("[", dims->size, "], the last dimension of 'x', ", x.DebugString()));
  }
  return absl::OkStatus();
}

// The shape of the statistics of x: [...].
inline tensorflow::TensorShape StatisticsShape(const tensorflow::TensorShape& x) {
  tensorflow::TensorShape shape = x;
  shape.RemoveLastDims(1);
  return shape;
}

// Checks `name`, a statistic or the gradient of one: [...].
inline absl::Status CheckStatistic(const std::string& op, const std::string& name,
                                   const tensorflow::TensorShape& shape,
                                   const tensorflow::TensorShape& x) {
  const tensorflow::TensorShape expected = StatisticsShape(x);
  if (shape == expected) return absl::OkStatus();
  return ShapeError(
      op, name, shape,
      absl::StrCat("that of 'x' without its last dimension, ", expected.DebugString()));
}

// `shape` returns the TensorShape of an input by its index.
template <typename Norm, typename Shape>
absl::Status ReadNormalization(const Shape& shape, RowDims* dims) {
  using Arguments = NormalizationArguments<Norm>;
  absl::Status status =
      ReadRowDims(Norm::kName, shape(Arguments::kX), "scale", shape(Arguments::kScale), dims);
  if constexpr (Norm::kCentered) {
    if (!status.ok()) return status;
    status =
        ReadRowDims(Norm::kName, shape(Arguments::kX), "offset", shape(Arguments::kOffset), dims);
  }
  return status;
}

template <typename Norm, typename Shape>
absl::Status ReadNormalizationGrad(const Shape& shape, RowDims* dims) {
  using Arguments = NormalizationGradArguments<Norm>;
  constexpr const char* kOp = Norm::kGradName;
  const tensorflow::TensorShape x = shape(Arguments::kX);
  absl::Status status = ReadRowDims(kOp, x, "scale", shape(Arguments::kScale), dims);
  if (!status.ok()) return status;
  status.Update(CheckShapeOf(kOp, "gradients", shape(Arguments::kGradients), "x", x));
  if constexpr (Norm::kCentered) {
    status.Update(CheckStatistic(kOp, "mean_gradients", shape(Arguments::kMeanGradients), x));
    status.Update(CheckStatistic(kOp, "mean", shape(Arguments::kMean), x));
  }
  status.Update(CheckStatistic(kOp, absl::StrCat(Norm::kInverse, "_gradients"),
                               shape(Arguments::kInverseGradients), x));
  status.Update(CheckStatistic(kOp, Norm::kInverse, shape(Arguments::kInverse), x));
  return status;
}

}  // namespace tensorflow_ext
