#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/c/eager/tfe_context_internal.h"
#include "tensorflow/c/eager/tfe_tensorhandle_internal.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/tape/gradient.h"
#include "tensorflow_ext/tape/tape.h"

struct TfExt_Tape {
  tensorflow_ext::TapePtr state;
};

namespace tensorflow_ext {
namespace {

using tensorflow::TensorHandle;

// Runs `body`, which takes the tape and returns a status.
template <typename Body>
void OnTape(TfExt_Tape* tape, TF_Status* status, Body body) {
  Guarded(status, [&]() -> absl::Status {
    if (tape == nullptr) return absl::InvalidArgumentError("tape: expected a tape, got NULL");
    return body(tape->state.get());
  });
}

// `handles[k]` of argument `name`.
absl::StatusOr<Handles> ToHandles(const char* name, TFE_TensorHandle* const* handles, int n,
                                  bool may_be_null) {
  TF_RETURN_IF_ERROR(CheckArray(name, handles, n));
  Handles result;
  for (int k = 0; k < n; ++k) {
    if (handles[k] == nullptr && may_be_null) {
      result.push_back(nullptr);
      continue;
    }
    if (handles[k] == nullptr || !TensorHandle::classof(tensorflow::unwrap(handles[k]))) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, "[", k, "]: expected a tensor, got ",
                       handles[k] == nullptr ? "NULL" : "one of a custom device"));
    }
    result.push_back(tensorflow::TensorHandleFromInterface(tensorflow::unwrap(handles[k])));
  }
  return result;
}

TFE_TensorHandle* ToClient(HandlePtr* handle) {
  return *handle == nullptr ? nullptr : tensorflow::wrap(handle->release());
}

// Gives new handles to the client; in place of those that are null, zeros of `like` if asked for.
absl::Status Return(tensorflow::EagerContext* context, std::vector<HandlePtr> from,
                    const Handles& like, TfExt_Unconnected unconnected, TFE_TensorHandle** to) {
  if (unconnected == TFEXT_UNCONNECTED_ZEROS) {
    TF_RETURN_IF_ERROR(FillWithZeros(context, like, &from));
  }
  for (size_t k = 0; k < from.size(); ++k) {
    to[k] = ToClient(&from[k]);
  }
  return absl::OkStatus();
}

absl::Status CheckResults(TfExt_Unconnected unconnected, int n, TFE_TensorHandle** results) {
  TF_RETURN_IF_ERROR(CheckUnconnected(unconnected));
  if (n > 0 && results == nullptr) {
    return absl::InvalidArgumentError("expected room for the results, got NULL");
  }
  return absl::OkStatus();
}

absl::Status GradientSlices(TapeState* tape, const Handles& y, const Handles& x, const Handles& dy,
                            TfExt_Unconnected unconnected, bool sum_repeated,
                            TFE_TensorHandle** dense, TfExt_TapeSlices* slices,
                            TF_Buffer* reasons) {
  TF_ASSIGN_OR_RETURN(auto gradients, SlicedGradient(tape, y, x, dy, sum_repeated));
  std::vector<std::string> lines;
  for (size_t k = 0; k < x.size(); ++k) {
    SlicedTapeGradient& gradient = gradients[k];
    lines.push_back(gradient.reason);
    if (gradient.values != nullptr || gradient.dense != nullptr ||
        unconnected != TFEXT_UNCONNECTED_ZEROS) {
      continue;
    }
    std::vector<HandlePtr> zeros(1);
    TF_RETURN_IF_ERROR(FillWithZeros(tape->context, {x[k]}, &zeros));
    gradient.dense = std::move(zeros[0]);
  }
  if (reasons != nullptr) TF_RETURN_IF_ERROR(Write(absl::StrJoin(lines, "\n"), reasons));
  for (size_t k = 0; k < x.size(); ++k) {
    SlicedTapeGradient& gradient = gradients[k];
    dense[k] = ToClient(&gradient.dense);
    slices[k] = {ToClient(&gradient.values), ToClient(&gradient.indices),
                 ToClient(&gradient.shape)};
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tensorflow_ext

extern "C" {

using tensorflow_ext::Guarded;
using tensorflow_ext::Handles;
using tensorflow_ext::OnTape;
using tensorflow_ext::TapeState;

TfExt_Tape* TfExt_NewTape(TFE_Context* context, uint32_t options, TF_Status* status) {
  TfExt_Tape* tape = nullptr;
  Guarded(status, [&]() -> absl::Status {
    if (context == nullptr) {
      return absl::InvalidArgumentError("context: expected an eager context, got NULL");
    }
    if ((options & ~uint32_t{TFEXT_TAPE_PERSISTENT | TFEXT_TAPE_WATCH_NO_VARIABLES}) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("options: expected the bits TFEXT_TAPE_PERSISTENT and "
                       "TFEXT_TAPE_WATCH_NO_VARIABLES, got ",
                       options));
    }
    TF_ASSIGN_OR_RETURN(
        auto state,
        tensorflow_ext::NewTape(tensorflow::ContextFromInterface(tensorflow::unwrap(context)),
                                (options & TFEXT_TAPE_PERSISTENT) != 0,
                                (options & TFEXT_TAPE_WATCH_NO_VARIABLES) == 0));
    tape = new TfExt_Tape{std::move(state)};
    return absl::OkStatus();
  });
  return tape;
}

void TfExt_DeleteTape(TfExt_Tape* tape) { delete tape; }

void TfExt_TapeWatch(TfExt_Tape* tape, TFE_TensorHandle* x, TF_Status* status) {
  OnTape(tape, status, [&](TapeState* state) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Handles xs, tensorflow_ext::ToHandles("x", &x, 1, false));
    return tensorflow_ext::Watch(state, xs[0]);
  });
}

void TfExt_TapeStop(TfExt_Tape* tape, TF_Status* status) {
  OnTape(tape, status, [&](TapeState* state) -> absl::Status {
    return tensorflow_ext::SetRecording(state, false);
  });
}

void TfExt_TapeResume(TfExt_Tape* tape, TF_Status* status) {
  OnTape(tape, status, [&](TapeState* state) -> absl::Status {
    return tensorflow_ext::SetRecording(state, true);
  });
}

void TfExt_TapeReset(TfExt_Tape* tape, TF_Status* status) {
  OnTape(tape, status, [&](TapeState* state) -> absl::Status {
    tensorflow_ext::Reset(state);
    return absl::OkStatus();
  });
}

void TfExt_TapeGradient(TfExt_Tape* tape, TFE_TensorHandle* const* y, int ny,
                        TFE_TensorHandle* const* x, int nx, TFE_TensorHandle* const* dy,
                        TfExt_Unconnected unconnected, TF_Status* status, TFE_TensorHandle** dx) {
  OnTape(tape, status, [&](TapeState* state) -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckResults(unconnected, nx, dx));
    TF_ASSIGN_OR_RETURN(const Handles ys, tensorflow_ext::ToHandles("y", y, ny, false));
    TF_ASSIGN_OR_RETURN(const Handles xs, tensorflow_ext::ToHandles("x", x, nx, false));
    TF_ASSIGN_OR_RETURN(const Handles dys,
                        tensorflow_ext::ToHandles("dy", dy, dy == nullptr ? 0 : ny, true));
    TF_ASSIGN_OR_RETURN(auto gradients, tensorflow_ext::Gradient(state, ys, xs, dys));
    return tensorflow_ext::Return(state->context, std::move(gradients), xs, unconnected, dx);
  });
}

void TfExt_TapeGradientSlices(TfExt_Tape* tape, TFE_TensorHandle* const* y, int ny,
                              TFE_TensorHandle* const* x, int nx, TFE_TensorHandle* const* dy,
                              TfExt_Unconnected unconnected, TfExt_RepeatedIndices repeated,
                              TF_Status* status, TFE_TensorHandle** dense, TfExt_TapeSlices* slices,
                              TF_Buffer* reasons) {
  OnTape(tape, status, [&](TapeState* state) -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckResults(unconnected, nx, dense));
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckArray("slices", slices, nx));
    if (reasons != nullptr) TF_RETURN_IF_ERROR(tensorflow_ext::CheckEmpty(reasons));
    TF_ASSIGN_OR_RETURN(const bool sum_repeated, tensorflow_ext::SumsRepeated(repeated));
    TF_ASSIGN_OR_RETURN(const Handles ys, tensorflow_ext::ToHandles("y", y, ny, false));
    TF_ASSIGN_OR_RETURN(const Handles xs, tensorflow_ext::ToHandles("x", x, nx, false));
    TF_ASSIGN_OR_RETURN(const Handles dys,
                        tensorflow_ext::ToHandles("dy", dy, dy == nullptr ? 0 : ny, true));
    return tensorflow_ext::GradientSlices(state, ys, xs, dys, unconnected, sum_repeated, dense,
                                          slices, reasons);
  });
}

void TfExt_TapeJacobian(TfExt_Tape* tape, TFE_TensorHandle* y, TFE_TensorHandle* const* x, int nx,
                        TfExt_Unconnected unconnected, TF_Status* status, TFE_TensorHandle** dx) {
  OnTape(tape, status, [&](TapeState* state) -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckResults(unconnected, nx, dx));
    TF_ASSIGN_OR_RETURN(const Handles ys, tensorflow_ext::ToHandles("y", &y, 1, false));
    TF_ASSIGN_OR_RETURN(const Handles xs, tensorflow_ext::ToHandles("x", x, nx, false));
    TF_ASSIGN_OR_RETURN(auto jacobians, tensorflow_ext::Jacobian(state, ys[0], xs));
    return tensorflow_ext::Return(state->context, std::move(jacobians), xs, unconnected, dx);
  });
}

void TfExt_TapeJvp(TfExt_Tape* tape, TFE_TensorHandle* const* y, int ny, TFE_TensorHandle* const* x,
                   int nx, TFE_TensorHandle* const* tangents, TfExt_Unconnected unconnected,
                   TF_Status* status, TFE_TensorHandle** derivatives) {
  OnTape(tape, status, [&](TapeState* state) -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckResults(unconnected, ny, derivatives));
    TF_ASSIGN_OR_RETURN(const Handles ys, tensorflow_ext::ToHandles("y", y, ny, false));
    TF_ASSIGN_OR_RETURN(const Handles xs, tensorflow_ext::ToHandles("x", x, nx, false));
    TF_ASSIGN_OR_RETURN(const Handles directions,
                        tensorflow_ext::ToHandles("tangents", tangents, nx, false));
    TF_ASSIGN_OR_RETURN(auto found, tensorflow_ext::Jvp(state, ys, xs, directions));
    return tensorflow_ext::Return(state->context, std::move(found), ys, unconnected, derivatives);
  });
}

}  // extern "C"
