// Small tensors and ops that gradients on tapes need.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tensorflow_ext/tape/run_steps.h"

namespace tensorflow_ext {

tensorflow::AttrValue TypeAttr(tensorflow::DataType type);
tensorflow::AttrValue IntAttr(int64_t number);

HandlePtr ToHandle(const tensorflow::Tensor& value);
// A vector with the sizes of a shape. `type`: int32 or int64.
HandlePtr ShapeHandle(const tensorflow::TensorShape& shape,
                      tensorflow::DataType type = tensorflow::DT_INT64);

// Zeros like a tensor, or like the variable of a handle.
absl::StatusOr<HandlePtr> ZerosLike(tensorflow::EagerContext* context, tensorflow::TensorHandle* x);

// Runs `op`: ZerosLike, OnesLike or Identity.
absl::StatusOr<HandlePtr> LikeThis(tensorflow::EagerContext* context, const char* op,
                                   tensorflow::TensorHandle* x);

absl::StatusOr<HandlePtr> Zeros(tensorflow::EagerContext* context, const std::string& device,
                                tensorflow::DataType type, const tensorflow::TensorShape& shape);

absl::StatusOr<HandlePtr> CastTo(tensorflow::EagerContext* context, tensorflow::DataType type,
                                 tensorflow::TensorHandle* x);

}  // namespace tensorflow_ext
