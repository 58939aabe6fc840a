// Tapes as ops, for languages that can run an op by its name and cannot call C functions. The
// recorder answers them where an eager op runs, because a kernel does not see the handles of its
// inputs.

#pragma once

#include "absl/status/status.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"

namespace tensorflow_ext {

bool IsTapeOp(const tensorflow::EagerOperation& op);

absl::Status RunTapeOp(const tensorflow::EagerOperation& op,
                       absl::Span<tensorflow::AbstractTensorHandle*> outputs, int* num_outputs);

}  // namespace tensorflow_ext
