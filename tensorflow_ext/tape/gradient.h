// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_TAPE_GRADIENT_H_
#define TENSORFLOW_EXT_TAPE_GRADIENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow_ext/tape/recorder.h"

namespace tensorflow_ext {

using Handles = std::vector<tensorflow::TensorHandle*>;

// See TfExt_TapeGradient in tape.h. A dy that is null means ones. A gradient is null if no y depends
// on the x.
absl::StatusOr<std::vector<HandlePtr>> Gradient(TapeState* tape, const Handles& y, const Handles& x,
                                                const Handles& dy);

// See TfExt_TapeJacobian and TfExt_TapeJvp.
absl::StatusOr<std::vector<HandlePtr>> Jacobian(TapeState* tape, tensorflow::TensorHandle* y,
                                                const Handles& x);
absl::StatusOr<std::vector<HandlePtr>> Jvp(TapeState* tape, const Handles& y, const Handles& x,
                                           const Handles& tangents);

// The error of a tape that gave its gradient.
absl::Status UsedUp();

// Zeros of the type and shape of x; of the variable, if x is its handle.
absl::StatusOr<HandlePtr> ZerosLike(tensorflow::EagerContext* context, tensorflow::TensorHandle* x);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_TAPE_GRADIENT_H_
