// Shape checks of a tensor whose rows an op works on (rows.h), for shape functions, kernels and XLA
// lowerings.

#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/rows.h"

namespace tensorflow_ext {

inline constexpr char kRows[] = "[..., D], at least rank 1";

// Fills in `dims`. `name` is an argument of shape [..., D].
inline absl::Status ReadRows(absl::string_view op, absl::string_view name,
                             const tensorflow::TensorShape& shape, RowDims* dims) {
  if (shape.dims() < 1) return ShapeError(op, name, shape, kRows);
  dims->size = shape.dim_size(shape.dims() - 1);
  dims->rows = 1;  // At most the number of elements, unless that is 0.
  for (int d = 0; d + 1 < shape.dims(); ++d) dims->rows *= shape.dim_size(d);
  return absl::OkStatus();
}

// For shape functions: *shape is the shape of input `index`, of rank 1 or more.
inline absl::Status InferRows(tensorflow::shape_inference::InferenceContext* c,
                              absl::string_view op, absl::string_view name, int index,
                              tensorflow::shape_inference::ShapeHandle* shape) {
  if (c->WithRankAtLeast(c->input(index), 1, shape).ok()) {
    return absl::OkStatus();
  }
  return ShapeError(op, name, c->DebugString(c->input(index)), kRows);
}

}  // namespace tensorflow_ext
