// Shapes of broadcasting ops, for shape functions, kernels and XLA lowerings. The last two
// arguments broadcast against each other; `first` is the index of the first of them. If there are
// three, argument 0 has the shape that the others broadcast to. Errors are InvalidArgument and name
// the op, the arguments and their shapes.

#pragma once

#include <algorithm>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/same_shape.h"

namespace tensorflow_ext {

namespace internal {

// An error about the two arguments that broadcast.
inline absl::Status BroadcastError(const std::string& op, int first, const std::string& x,
                                   const std::string& y, const std::string& expected) {
  const std::string both = absl::StrCat(x, " and '", ArgumentName(op, first + 1), "' ", y);
  return ShapeError(op, ArgumentName(op, first), both, expected);
}

inline absl::Status DoNotBroadcast(const std::string& op, int first, const std::string& x,
                                   const std::string& y) {
  return BroadcastError(op, first, x, y,
                        "shapes that broadcast: aligned at the last dimension, "
                        "sizes are equal or one of them is 1");
}

// The advice for an output with more elements than a tensor can have.
inline std::string TooLargeAdvice(const std::string& op, int first, const std::string& x,
                                  const std::string& y) {
  return absl::StrCat("'", ArgumentName(op, first), "' of shape ", x, " and '",
                      ArgumentName(op, first + 1), "' of shape ", y,
                      " broadcast to it; split them into parts");
}

inline absl::Status WrongGradientShape(const std::string& op, const std::string& gradients,
                                       const std::string& expected) {
  return ShapeError(op, ArgumentName(op, 0), gradients,
                    absl::StrCat("the shape that '", ArgumentName(op, 1), "' and '",
                                 ArgumentName(op, 2), "' broadcast to, ", expected));
}

}  // namespace internal

// The shape that `x` and `y` broadcast to.
inline absl::Status BroadcastShape(const std::string& op, int first,
                                   const tensorflow::TensorShape& x,
                                   const tensorflow::TensorShape& y,
                                   tensorflow::TensorShape* shape) {
  const int rank = std::max(x.dims(), y.dims());
  absl::InlinedVector<int64_t, 4> sizes(rank);
  for (int d = 0; d < rank; ++d) {
    const int in_x = d - (rank - x.dims()), in_y = d - (rank - y.dims());
    const int64_t x_size = in_x < 0 ? 1 : x.dim_size(in_x);
    const int64_t y_size = in_y < 0 ? 1 : y.dim_size(in_y);
    if (x_size != y_size && x_size != 1 && y_size != 1) {
      return internal::DoNotBroadcast(op, first, x.DebugString(), y.DebugString());
    }
    sizes[d] = x_size == 1 ? y_size : x_size;
  }
  return BuildOutputShape(
      op, sizes, internal::TooLargeAdvice(op, first, x.DebugString(), y.DebugString()), shape);
}

// Checks that argument 0 has the shape that the others broadcast to.
inline absl::Status CheckGradientShape(const std::string& op,
                                       const tensorflow::TensorShape& gradients,
                                       const tensorflow::TensorShape& expected) {
  if (gradients == expected) return absl::OkStatus();
  return internal::WrongGradientShape(op, gradients.DebugString(), expected.DebugString());
}

inline absl::Status TooManyDimensions(const std::string& op, int first,
                                      const tensorflow::TensorShape& x,
                                      const tensorflow::TensorShape& y) {
  return internal::BroadcastError(
      op, first, x.DebugString(), y.DebugString(),
      absl::StrCat("at most ", kMaxBroadcastRank,
                   " dimensions, counting neighbors that broadcast alike as one; "
                   "transpose such dimensions next to each other, or broadcast one "
                   "argument beforehand"));
}

// The shape function for all outputs.
inline auto BroadcastShapeFn(const char* op) {
  return [=](tensorflow::shape_inference::InferenceContext* c) {
    const int first = c->num_inputs() - 2;
    const auto x = c->input(first), y = c->input(first + 1);
    tensorflow::shape_inference::ShapeHandle shape;
    if (!tensorflow::shape_inference::BroadcastBinaryOpOutputShapeFnHelper(
             c, x, y, /*incompatible_shape_error=*/true, &shape)
             .ok()) {
      return internal::DoNotBroadcast(op, first, c->DebugString(x), c->DebugString(y));
    }
    if (first > 0) {
      const auto broadcast = shape;
      if (!c->Merge(c->input(0), broadcast, &shape).ok()) {
        return internal::WrongGradientShape(op, c->DebugString(c->input(0)),
                                            c->DebugString(broadcast));
      }
    }
    for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, shape);
    return CheckOutputShape(
        c, op, shape, internal::TooLargeAdvice(op, first, c->DebugString(x), c->DebugString(y)));
  };
}

}  // namespace tensorflow_ext
