// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/tape/tape_ops.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/tape/gradient.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::EagerOperation;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorHandle;
using tensorflow::shape_inference::UnknownShape;

REGISTER_OP("TfExt>NewTape")
    .Output("tape: int64")
    .Attr("persistent: bool = false")
    .Attr("watch_variables: bool = true")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::ScalarShape)
    .Doc(R"doc(
Makes a gradient tape, which records the eager ops that run on what it watches.

The ops of tapes are for languages that run ops by name (tape.h has the C functions, and says what a
tape does). They work in eager mode only.

A tape belongs to the eager context and to the thread of the next op that names it. So run such an
op immediately (`TfExt>TapeControl` with the action 'resume' does nothing else). In an asynchronous
context, read the number first.

tape: A scalar, which names the tape for the other ops.
persistent: Whether the tape gives more than one gradient.
watch_variables: Whether the tape also watches each variable that its thread reads.
)doc");

REGISTER_OP("TfExt>TapeWatch")
    .Input("tape: int64")
    .Input("x: T")
    .Attr("T: type")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
Lets a tape watch a tensor or, if `x` is its handle, a variable.

tape: The output of `TfExt>NewTape`.
x: Floating point or complex numbers of any shape, or a resource.
)doc");

REGISTER_OP("TfExt>TapeControl")
    .Input("tape: int64")
    .Attr("action: {'stop', 'resume', 'reset', 'delete'}")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
Stops or resumes recording, lets a tape forget all that it has recorded and watched, or deletes it.

tape: The output of `TfExt>NewTape`.
action: The action.
)doc");

REGISTER_OP("TfExt>TapeGradient")
    .Input("tape: int64")
    .Input("y: Ty")
    .Input("x: Tx")
    .Input("dy: Tdy")
    .Output("dx: Tdx")
    .Attr("Ty: list(type) >= 1")
    .Attr("Tx: list(type) >= 1")
    .Attr("Tdy: list(type) >= 0")
    .Attr("Tdx: list(type) >= 1")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
The gradients of the sum of the tensors `y` by each `x`, from what a tape has recorded.

tape: The output of `TfExt>NewTape`.
y: Tensors of floating point or complex numbers.
x: Tensors that the tape watches, or handles of variables.
dy: Nothing (ones), or an upstream gradient for each y, of its type and shape.
dx: The gradients, of the type and shape of x, or of the variable; zeros if no y depends on the x.
Tdx: The types of the gradients.
)doc");

REGISTER_OP("TfExt>TapeJacobian")
    .Input("tape: int64")
    .Input("y: Ty")
    .Input("x: Tx")
    .Output("jacobians: Tdx")
    .Attr("Ty: type")
    .Attr("Tx: list(type) >= 1")
    .Attr("Tdx: list(type) >= 1")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
The Jacobians of `y` by each `x`, from what a persistent tape has recorded.

tape: The output of `TfExt>NewTape`.
y: A tensor of floating point or complex numbers.
x: Tensors that the tape watches, or handles of variables.
jacobians: Tensors of shape [shape of y, shape of x]. It is an error if y does not depend on an x.
Tdx: The types of the Jacobians.
)doc");

REGISTER_OP("TfExt>TapeJvp")
    .Input("tape: int64")
    .Input("y: Ty")
    .Input("x: Tx")
    .Input("tangents: Tt")
    .Output("derivatives: Ty")
    .Attr("Ty: list(type) >= 1")
    .Attr("Tx: list(type) >= 1")
    .Attr("Tt: list(type) >= 1")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
The derivatives of each `y` in the direction `tangents` of the `x`, from what a tape has recorded.

tape: The output of `TfExt>NewTape`.
y: Tensors of floating point or complex numbers.
x: Tensors that the tape watches, or handles of variables.
tangents: For each x a tensor of its type and shape; of the variable, if x is its handle.
derivatives: Tensors of the types and shapes of y; zeros for a y that depends on no x.
)doc");

REGISTER_OP_NO_GRADIENT("TfExt>NewTape");
REGISTER_OP_NO_GRADIENT("TfExt>TapeWatch");
REGISTER_OP_NO_GRADIENT("TfExt>TapeControl");
REGISTER_OP_NO_GRADIENT("TfExt>TapeGradient");
REGISTER_OP_NO_GRADIENT("TfExt>TapeJacobian");
REGISTER_OP_NO_GRADIENT("TfExt>TapeJvp");

namespace {

// The tapes that ops have made.
struct TapesOfOps {
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<TapeState>> tapes;
  int64_t last = 0;
};

TapesOfOps& GetTapes() {
  static auto* const tapes = new TapesOfOps;
  return *tapes;
}

absl::StatusOr<int64_t> AddTape(tensorflow::EagerContext* context, bool persistent,
                                bool watches_variables) {
  TF_ASSIGN_OR_RETURN(TapePtr tape, NewTape(context, persistent, watches_variables));
  TapesOfOps& all = GetTapes();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.tapes.emplace(++all.last, std::move(tape));
  return all.last;
}

HandlePtr Int64(int64_t value) {
  Tensor tensor(tensorflow::DT_INT64, {});
  tensor.scalar<int64_t>()() = value;
  return HandlePtr(TensorHandle::CreateLocalHandle(tensor));
}

// An op of a tape with its arguments.
class TapeOp {
 public:
  TapeOp(const EagerOperation& op, absl::Span<tensorflow::AbstractTensorHandle*> outputs, int* n)
      : op_(op), outputs_(outputs), num_outputs_(n) {
    op.Attrs().FillAttrValueMap(&attrs_);
  }

  absl::Status Run() {
    if (op_.Name() == "TfExt>NewTape") {
      TF_ASSIGN_OR_RETURN(const int64_t tape, AddTape(&op_.EagerContext(), attrs_["persistent"].b(),
                                                      attrs_["watch_variables"].b()));
      std::vector<HandlePtr> made;
      made.push_back(Int64(tape));
      return Return(std::move(made));
    }
    TF_RETURN_IF_ERROR(FindTape());
    if (op_.Name() == "TfExt>TapeWatch") {
      TF_ASSIGN_OR_RETURN(const Handles x, Next(1));
      TF_RETURN_IF_ERROR(Watch(tape_.get(), x[0]));
      return Return({});
    }
    if (op_.Name() == "TfExt>TapeControl") {
      TF_RETURN_IF_ERROR(Control(attrs_["action"].s()));
      return Return({});
    }
    TF_ASSIGN_OR_RETURN(const Handles y, Next(op_.Name() == "TfExt>TapeJacobian" ? 1 : Size("Ty")));
    TF_ASSIGN_OR_RETURN(const Handles x, Next(Size("Tx")));
    if (op_.Name() == "TfExt>TapeJacobian") {
      TF_ASSIGN_OR_RETURN(std::vector<HandlePtr> jacobians, Jacobian(tape_.get(), y[0], x));
      for (size_t i = 0; i < x.size(); ++i) {
        if (jacobians[i] != nullptr) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(op_.Name(), ": y does not depend on x[", i, "]"));
      }
      return Return(std::move(jacobians));
    }
    const bool is_gradient = op_.Name() == "TfExt>TapeGradient";
    TF_ASSIGN_OR_RETURN(const Handles given, Next(Size(is_gradient ? "Tdy" : "Tt")));
    if (given.size() != (is_gradient ? y : x).size() && !(is_gradient && given.empty())) {
      return absl::InvalidArgumentError(
          absl::StrCat(op_.Name(),
                       is_gradient ? ": expected no dy, or one for each y: "
                                   : ": expected a tangent for each x: ",
                       (is_gradient ? y : x).size(), ", got ", given.size()));
    }
    TF_ASSIGN_OR_RETURN(std::vector<HandlePtr> results, is_gradient
                                                            ? Gradient(tape_.get(), y, x, given)
                                                            : Jvp(tape_.get(), y, x, given));
    TF_RETURN_IF_ERROR(FillWithZeros(tape_->context, is_gradient ? x : y, &results));
    return Return(std::move(results));
  }

 private:
  absl::Status FindTape() {
    TF_ASSIGN_OR_RETURN(const Handles tape, Next(1));
    const Tensor* value;
    TF_RETURN_IF_ERROR(tape[0]->Tensor(&value));
    if (value->dtype() != tensorflow::DT_INT64 || value->NumElements() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          op_.Name(), ": tape: expected the output of TfExt>NewTape, got ", value->DebugString()));
    }
    number_ = value->flat<int64_t>()(0);
    TapesOfOps& all = GetTapes();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.tapes.find(number_);
    if (found == all.tapes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(op_.Name(), ": tape: no tape has the number ", number_,
                       "; expected the output of TfExt>NewTape, and that it is not deleted"));
    }
    tape_ = found->second;
    // The recorder saw no op TfExt>NewTape while there was no other tape: it ran in a kernel, which
    // knows no context and may run in another thread.
    Recorder::Get().Locked([&](auto*) {
      if (tape_->context != nullptr) return;
      tape_->context = &op_.EagerContext();
      tape_->thread = std::this_thread::get_id();
    });
    if (tape_->context == &op_.EagerContext()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(op_.Name(), ": the tape belongs to another eager context"));
  }

  absl::Status Control(const std::string& action) {
    if (action == "stop") return SetRecording(tape_.get(), false);
    if (action == "resume") return SetRecording(tape_.get(), true);
    if (action == "reset") {
      Reset(tape_.get());
      return absl::OkStatus();
    }
    TapesOfOps& all = GetTapes();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.tapes.erase(number_);
    return absl::OkStatus();
  }

  int Size(const char* types) { return attrs_[types].list().type_size(); }

  // The next inputs.
  absl::StatusOr<Handles> Next(int n) {
    Handles handles;
    for (; n > 0; --n) {
      if (next_ == op_.Inputs().size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(op_.Name(), ": has ", next_, " inputs, expected more"));
      }
      auto* const input = op_.Inputs()[next_++];
      if (!TensorHandle::classof(input)) {
        return absl::InvalidArgumentError(
            absl::StrCat(op_.Name(), ": input ", next_ - 1, " is on a custom device"));
      }
      handles.push_back(tensorflow::TensorHandleFromInterface(input));
    }
    return handles;
  }

  absl::Status Return(std::vector<HandlePtr> tensors) {
    if (*num_outputs_ < static_cast<int>(tensors.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          op_.Name(), ": there is room for ", *num_outputs_, " of ", tensors.size(), " outputs"));
    }
    *num_outputs_ = tensors.size();
    for (size_t k = 0; k < tensors.size(); ++k) outputs_[k] = tensors[k].release();
    return absl::OkStatus();
  }

  const EagerOperation& op_;
  absl::Span<tensorflow::AbstractTensorHandle*> outputs_;
  int* const num_outputs_;
  tensorflow::AttrValueMap attrs_;
  size_t next_ = 0;
  int64_t number_ = 0;
  std::shared_ptr<TapeState> tape_;
};

// Runs while there is no other tape, and in graphs.
class NewTapeKernel : public OpKernel {
 public:
  explicit NewTapeKernel(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("persistent", &persistent_));
    OP_REQUIRES_OK(construction, construction->GetAttr("watch_variables", &watches_variables_));
  }

  void Compute(OpKernelContext* context) override {
    const auto tape = AddTape(nullptr, persistent_, watches_variables_);
    OP_REQUIRES_OK(context, tape.status());
    Tensor* output;
    OP_REQUIRES_OK(context, context->allocate_output(0, {}, &output));
    output->scalar<int64_t>()() = *tape;
  }

 private:
  bool persistent_, watches_variables_;
};

class OnlyEager : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    context->CtxFailure(absl::FailedPreconditionError(
        absl::StrCat(type_string(),
                     " needs a tape of this process (TfExt>NewTape) and works in eager mode "
                     "only. In a graph, TF_AddGradients adds gradients")));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>NewTape").Device(tensorflow::DEVICE_CPU), NewTapeKernel);
REGISTER_KERNEL_BUILDER(Name("TfExt>TapeWatch").Device(tensorflow::DEVICE_CPU), OnlyEager);
REGISTER_KERNEL_BUILDER(Name("TfExt>TapeControl").Device(tensorflow::DEVICE_CPU), OnlyEager);
REGISTER_KERNEL_BUILDER(Name("TfExt>TapeGradient").Device(tensorflow::DEVICE_CPU), OnlyEager);
REGISTER_KERNEL_BUILDER(Name("TfExt>TapeJacobian").Device(tensorflow::DEVICE_CPU), OnlyEager);
REGISTER_KERNEL_BUILDER(Name("TfExt>TapeJvp").Device(tensorflow::DEVICE_CPU), OnlyEager);

}  // namespace

bool IsTapeOp(const EagerOperation& op) {
  return absl::StartsWith(op.Name(), "TfExt>Tape") || op.Name() == "TfExt>NewTape";
}

absl::Status RunTapeOp(const EagerOperation& op,
                       absl::Span<tensorflow::AbstractTensorHandle*> outputs, int* num_outputs) {
  return TapeOp(op, outputs, num_outputs).Run();
}

}  // namespace tensorflow_ext
