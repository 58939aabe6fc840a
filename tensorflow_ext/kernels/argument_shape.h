// Shape checks of arguments. Kernels, XLA lowerings and shape functions report the same message:
//
//   TfExt>RoiPool: argument 'data' has shape [3], expected [N, H, W, C]
//
// All errors are InvalidArgument. `op` is the op's name and `name` an argument's. `expected`
// describes the expected shape, with a hint how to fix the call where the fix is not obvious.

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace tensorflow_ext {

inline absl::Status ShapeError(absl::string_view op, absl::string_view name,
                               absl::string_view shape, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": argument '", name, "' has shape ", shape, ", expected ", expected));
}

// For kernels and lowerings, where shapes are known.
inline absl::Status ShapeError(absl::string_view op, absl::string_view name,
                               const tensorflow::TensorShape& shape, absl::string_view expected) {
  return ShapeError(op, name, shape.DebugString(), expected);
}

inline absl::Status CheckRank(absl::string_view op, absl::string_view name,
                              const tensorflow::TensorShape& shape, int rank,
                              absl::string_view expected) {
  if (shape.dims() == rank) return absl::OkStatus();
  return ShapeError(op, name, shape, expected);
}

// `like` names the argument or output that has the `wanted` shape.
inline absl::Status CheckShapeOf(absl::string_view op, absl::string_view name,
                                 const tensorflow::TensorShape& shape, absl::string_view like,
                                 const tensorflow::TensorShape& wanted) {
  if (shape == wanted) return absl::OkStatus();
  return ShapeError(op, name, shape, absl::StrCat("that of '", like, "', ", wanted.DebugString()));
}

// The shape of an output that may have more elements than a tensor can. `advice` says how to fix
// the call.
inline absl::Status BuildOutputShape(absl::string_view op, absl::Span<const int64_t> sizes,
                                     absl::string_view advice, tensorflow::TensorShape* shape) {
  if (tensorflow::TensorShape::BuildTensorShape(sizes, shape).ok()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(op, ": the output of shape [",
                                                 absl::StrJoin(sizes, ","),
                                                 "] has too many elements: ", advice));
}

// The same for shape functions: TensorFlow aborts if one returns such a shape. An unknown size
// counts as 1.
inline absl::Status CheckOutputShape(tensorflow::shape_inference::InferenceContext* c,
                                     absl::string_view op,
                                     tensorflow::shape_inference::ShapeHandle output,
                                     absl::string_view advice) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < c->Rank(output); ++i) {
    const auto size = c->Dim(output, i);
    sizes.push_back(c->ValueKnown(size) ? c->Value(size) : 1);
  }
  tensorflow::TensorShape shape;
  return BuildOutputShape(op, sizes, advice, &shape);
}

// The expected shape for CheckRank and InferRank with rank 0.
inline constexpr char kScalar[] = "a scalar, []";

// For shape functions, where ranks and sizes may be unknown. On success *shape is the shape of
// input `index`, merged with the required rank.
inline absl::Status InferRank(tensorflow::shape_inference::InferenceContext* c,
                              absl::string_view op, absl::string_view name, int index, int rank,
                              absl::string_view expected,
                              tensorflow::shape_inference::ShapeHandle* shape) {
  if (c->WithRank(c->input(index), rank, shape).ok()) return absl::OkStatus();
  return ShapeError(op, name, c->DebugString(c->input(index)), expected);
}

inline absl::Status InferShapeOf(tensorflow::shape_inference::InferenceContext* c,
                                 absl::string_view op, absl::string_view name, int index,
                                 absl::string_view like,
                                 tensorflow::shape_inference::ShapeHandle wanted,
                                 tensorflow::shape_inference::ShapeHandle* shape) {
  if (c->Merge(c->input(index), wanted, shape).ok()) return absl::OkStatus();
  return ShapeError(op, name, c->DebugString(c->input(index)),
                    absl::StrCat("that of '", like, "', ", c->DebugString(wanted)));
}

}  // namespace tensorflow_ext
