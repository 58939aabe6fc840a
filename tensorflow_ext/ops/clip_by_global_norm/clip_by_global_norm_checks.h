// Checks of the arguments of ClipByGlobalNorm and its gradient. Shape functions, kernels and XLA
// lowerings share their error messages.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/tensor_type.h"

namespace tensorflow_ext {

// The name of element `index` of the list argument `name` in error messages.
inline std::string ElementName(const char* name, int index) {
  return absl::StrCat(name, "[", index, "]");
}

// Reads clip_norm, a scalar >= 0 in host memory.
inline absl::Status ReadClipNorm(const std::string& op, const tensorflow::Tensor& tensor,
                                 double* clip_norm) {
  TF_RETURN_IF_ERROR(CheckRank(op, "clip_norm", tensor.shape(), 0, kScalar));
  *clip_norm = HostScalar(tensor);
  if (*clip_norm >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": argument 'clip_norm' is ", *clip_norm,
                   ", expected a number >= 0; infinity clips nothing"));
}

// Checks that upstream gradient `index` has the shape of value `index`.
inline absl::Status CheckClippedGradient(const std::string& op, int index,
                                         const tensorflow::TensorShape& gradient,
                                         const tensorflow::TensorShape& value) {
  return CheckShapeOf(op, ElementName("clipped_gradients", index), gradient,
                      ElementName("values", index), value);
}

}  // namespace tensorflow_ext
