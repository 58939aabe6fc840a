// SPDX-License-Identifier: Apache-2.0
//
// Shapes of broadcasting ops of arguments 'x' and 'y', for kernels and XLA
// lowerings. Errors are InvalidArgument naming the op and the shapes.

#ifndef TENSORFLOW_EXT_KERNELS_BROADCAST_SHAPE_H_
#define TENSORFLOW_EXT_KERNELS_BROADCAST_SHAPE_H_

#include <algorithm>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/broadcast.h"

namespace tensorflow_ext {

// For an error about both.
inline std::string BothShapes(const tensorflow::TensorShape& x,
                              const tensorflow::TensorShape& y) {
  return absl::StrCat(x.DebugString(), " and 'y' ", y.DebugString());
}

// The shape that `x` and `y` broadcast to.
inline absl::Status BroadcastShape(const std::string& op,
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
      return ShapeError(op, "x", BothShapes(x, y),
                        "shapes that broadcast: aligned at the last dimension, "
                        "sizes are equal or one of them is 1");
    }
    sizes[d] = x_size == 1 ? y_size : x_size;
  }
  return tensorflow::TensorShape::BuildTensorShape(sizes, shape);
}

// 'gradients' has the shape that 'x' and 'y' broadcast to.
inline absl::Status CheckGradientShape(
    const std::string& op, const tensorflow::TensorShape& gradients,
    const tensorflow::TensorShape& expected) {
  if (gradients == expected) return absl::OkStatus();
  return ShapeError(op, "gradients", gradients,
                    absl::StrCat("the shape that 'x' and 'y' broadcast to, ",
                                 expected.DebugString()));
}

inline absl::Status TooManyDimensions(const std::string& op,
                                      const tensorflow::TensorShape& x,
                                      const tensorflow::TensorShape& y) {
  return ShapeError(
      op, "x", BothShapes(x, y),
      absl::StrCat("at most ", kMaxBroadcastRank,
                   " dimensions after those that broadcast alike are joined; "
                   "transpose them next to each other, or broadcast one "
                   "argument beforehand"));
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_BROADCAST_SHAPE_H_
