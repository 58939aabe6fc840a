// A gradient tape for C++ programs that run eager ops (TFE_*), which must link
// libtensorflow_ext.so.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "tensorflow_ext/c_objects.h"
#include "tensorflow_ext/tape/tape.h"

namespace tensorflow_ext {

struct DeleteEagerTensor {
  void operator()(TFE_TensorHandle* handle) const { TFE_DeleteTensorHandle(handle); }
};
// Owns a tensor of eager mode.
using EagerTensor = std::unique_ptr<TFE_TensorHandle, DeleteEagerTensor>;

// A gradient, dense or by the rows that were gathered: then row k of `values` is added to row
// indices[k] of zeros of the shape `shape`.
struct EagerSlices {
  // Null if the gradient is dense.
  EagerTensor values, indices, shape;
  // Otherwise the gradient, and the reason why it is dense.
  EagerTensor dense;
  std::string reason;
};

// Records the eager ops that run on the tensors that it watches, and differentiates them. tape.h
// says what a tape sees, and lists the errors. For example, for tensors x and y of a context:
//
//   ASSIGN_OR_RETURN(GradientTape tape, GradientTape::New(context));
//   RETURN_IF_ERROR(tape.Watch(x));
//   ... run ops that lead from x to y ...
//   ASSIGN_OR_RETURN(std::vector<EagerTensor> gradients, tape.Gradient({y}, {x}));
class GradientTape {
 public:
  using Handles = std::vector<TFE_TensorHandle*>;
  using Gradients = absl::StatusOr<std::vector<EagerTensor>>;

  // Starts to record what runs in `context`. `options`: TFEXT_TAPE_PERSISTENT and
  // TFEXT_TAPE_WATCH_NO_VARIABLES. The context must outlive the tape.
  static absl::StatusOr<GradientTape> New(TFE_Context* context, uint32_t options = 0) {
    Tape tape;
    const absl::Status status =
        Checked([&](TF_Status* made) { tape.reset(TfExt_NewTape(context, options, made)); });
    if (!status.ok()) return status;
    return GradientTape(std::move(tape));
  }

  // Watches a tensor, or the variable whose handle `x` is.
  absl::Status Watch(TFE_TensorHandle* x) {
    return Checked([&](TF_Status* status) { TfExt_TapeWatch(tape_.get(), x, status); });
  }

  absl::Status Stop() {
    return Checked([&](TF_Status* status) { TfExt_TapeStop(tape_.get(), status); });
  }
  absl::Status Resume() {
    return Checked([&](TF_Status* status) { TfExt_TapeResume(tape_.get(), status); });
  }
  // Forgets everything, and records anew.
  absl::Status Reset() {
    return Checked([&](TF_Status* status) { TfExt_TapeReset(tape_.get(), status); });
  }

  // The gradients of the sum of `ys` by each of `xs`, of its type and shape (of the variable, if x
  // is its handle). `dys`: nothing (ones), or for each y an upstream gradient or null (ones). For
  // an x that no y depends on, null or zeros.
  Gradients Gradient(const Handles& ys, const Handles& xs, const Handles& dys = {},
                     TfExt_Unconnected unconnected = TFEXT_UNCONNECTED_NONE) {
    if (!dys.empty() && dys.size() != ys.size()) return WrongUpstream();
    return Owned(xs.size(), [&](TF_Status* status, TFE_TensorHandle** results) {
      TfExt_TapeGradient(tape_.get(), ys.data(), ys.size(), xs.data(), xs.size(),
                         dys.empty() ? nullptr : dys.data(), unconnected, status, results);
    });
  }

  // The same gradients, by the rows that were gathered where all others are zero.
  // TfExt_TapeGradientSlices says when.
  absl::StatusOr<std::vector<EagerSlices>> GradientSlices(
      const Handles& ys, const Handles& xs, const Handles& dys = {},
      TfExt_RepeatedIndices repeated = TFEXT_REPEATED_STAY,
      TfExt_Unconnected unconnected = TFEXT_UNCONNECTED_NONE) {
    if (!dys.empty() && dys.size() != ys.size()) return WrongUpstream();
    Handles dense(xs.size());
    std::vector<TfExt_TapeSlices> slices(xs.size());
    const c_objects_internal::Buffer reasons;
    const absl::Status status = Checked([&](TF_Status* made) {
      TfExt_TapeGradientSlices(tape_.get(), ys.data(), ys.size(), xs.data(), xs.size(),
                               dys.empty() ? nullptr : dys.data(), unconnected, repeated, made,
                               dense.data(), slices.data(), reasons.get());
    });
    if (!status.ok()) return status;
    const std::vector<std::string> lines = absl::StrSplit(reasons.text(), '\n');
    std::vector<EagerSlices> gradients(xs.size());
    for (size_t k = 0; k < xs.size(); ++k) {
      gradients[k] = {EagerTensor(slices[k].values), EagerTensor(slices[k].indices),
                      EagerTensor(slices[k].shape), EagerTensor(dense[k]), lines[k]};
    }
    return gradients;
  }

  // The Jacobians of y by each of `xs`, of shape [shape of y, shape of x]. The tape must be
  // persistent.
  Gradients Jacobian(TFE_TensorHandle* y, const Handles& xs,
                     TfExt_Unconnected unconnected = TFEXT_UNCONNECTED_NONE) {
    return Owned(xs.size(), [&](TF_Status* status, TFE_TensorHandle** results) {
      TfExt_TapeJacobian(tape_.get(), y, xs.data(), xs.size(), unconnected, status, results);
    });
  }

  // Forward mode: the derivative of each y in the direction `tangents` of `xs`.
  Gradients Jvp(const Handles& ys, const Handles& xs, const Handles& tangents,
                TfExt_Unconnected unconnected = TFEXT_UNCONNECTED_NONE) {
    if (tangents.size() != xs.size()) {
      return absl::InvalidArgumentError("tangents: expected one for each of xs");
    }
    return Owned(ys.size(), [&](TF_Status* status, TFE_TensorHandle** results) {
      TfExt_TapeJvp(tape_.get(), ys.data(), ys.size(), xs.data(), xs.size(), tangents.data(),
                    unconnected, status, results);
    });
  }

 private:
  struct Delete {
    void operator()(TfExt_Tape* tape) const { TfExt_DeleteTape(tape); }
  };
  using Tape = std::unique_ptr<TfExt_Tape, Delete>;

  explicit GradientTape(Tape tape) : tape_(std::move(tape)) {}

  static absl::Status WrongUpstream() {
    return absl::InvalidArgumentError("dys: expected none, or one for each of ys");
  }

  template <typename Call>
  static absl::Status Checked(const Call& call) {
    const c_objects_internal::Status status;
    call(status.get());
    return status.Get();
  }

  template <typename Call>
  static Gradients Owned(size_t n, const Call& call) {
    Handles handles(n);
    const absl::Status status = Checked([&](TF_Status* made) { call(made, handles.data()); });
    if (!status.ok()) return status;
    std::vector<EagerTensor> tensors;
    for (TFE_TensorHandle* handle : handles) tensors.emplace_back(handle);
    return tensors;
  }

  Tape tape_;
};

}  // namespace tensorflow_ext
