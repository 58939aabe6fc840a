#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow_ext/tape/recorder.h"

namespace tensorflow_ext {

using Handles = std::vector<tensorflow::TensorHandle*>;

struct DeleteTape {
  void operator()(TapeState* tape) const;
};
using TapePtr = std::unique_ptr<TapeState, DeleteTape>;

// See tape.h for these.
absl::StatusOr<TapePtr> NewTape(tensorflow::EagerContext* context, bool persistent,
                                bool watches_variables);
absl::Status Watch(TapeState* tape, tensorflow::TensorHandle* x);
absl::Status SetRecording(TapeState* tape, bool recording);
void Reset(TapeState* tape);

// See TfExt_TapeGradient in tape.h. A dy that is null means ones. A gradient is null if no y
// depends on the x.
absl::StatusOr<std::vector<HandlePtr>> Gradient(TapeState* tape, const Handles& y, const Handles& x,
                                                const Handles& dy);

// A gradient as in TfExt_TapeGradientSlices.
struct SlicedTapeGradient {
  // The rows that were gathered, null if the gradient is dense.
  HandlePtr values, indices, shape;
  // Otherwise the gradient, null if no y depends on the x, and the reason why it is dense.
  HandlePtr dense;
  std::string reason;
};

// See TfExt_TapeGradientSlices. `sum_repeated`: true to add up the rows of equal indices.
absl::StatusOr<std::vector<SlicedTapeGradient>> SlicedGradient(TapeState* tape, const Handles& y,
                                                               const Handles& x, const Handles& dy,
                                                               bool sum_repeated);

// See TfExt_TapeJacobian and TfExt_TapeJvp.
absl::StatusOr<std::vector<HandlePtr>> Jacobian(TapeState* tape, tensorflow::TensorHandle* y,
                                                const Handles& x);
absl::StatusOr<std::vector<HandlePtr>> Jvp(TapeState* tape, const Handles& y, const Handles& x,
                                           const Handles& tangents);

// Puts zeros of the type and shape of `like[k]`, of the variable if that is its handle, in the
// place of each tensor that is null.
absl::Status FillWithZeros(tensorflow::EagerContext* context, const Handles& like,
                           std::vector<HandlePtr>* tensors);

}  // namespace tensorflow_ext
