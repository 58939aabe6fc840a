#include "tensorflow_ext/tape/tape_ops.h"

#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/tape/gradient.h"
#include "tensorflow_ext/tape/tape_values.h"

namespace tensorflow_ext {

using tensorflow::EagerContext;
using tensorflow::EagerOperation;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorHandle;

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
      made.push_back(ToHandle(Tensor(tape)));
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
    const bool slices = op_.Name() == "TfExt>TapeGradientSlices";
    const bool is_gradient = slices || op_.Name() == "TfExt>TapeGradient";
    TF_ASSIGN_OR_RETURN(const Handles given, Next(Size(is_gradient ? "Tdy" : "Tt")));
    if (given.size() != (is_gradient ? y : x).size() && !(is_gradient && given.empty())) {
      return absl::InvalidArgumentError(
          absl::StrCat(op_.Name(),
                       is_gradient ? ": expected no dy, or one for each y: "
                                   : ": expected a tangent for each x: ",
                       (is_gradient ? y : x).size(), ", got ", given.size()));
    }
    if (slices) return ReturnSlices(y, x, given);
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

  absl::Status ReturnSlices(const Handles& y, const Handles& x, const Handles& dy) {
    EagerContext* const context = tape_->context;
    TF_ASSIGN_OR_RETURN(std::vector<SlicedTapeGradient> gradients,
                        SlicedGradient(tape_.get(), y, x, dy, attrs_["sum_repeated"].b()));
    std::vector<HandlePtr> values, indices, shapes;
    Tensor reasons(tensorflow::DT_STRING, {static_cast<int64_t>(x.size())});
    for (size_t k = 0; k < x.size(); ++k) {
      SlicedTapeGradient& gradient = gradients[k];
      reasons.vec<tensorflow::tstring>()(k) = gradient.reason;
      if (gradient.values == nullptr) {
        values.push_back(std::move(gradient.dense));
        indices.push_back(ShapeHandle({}));
        shapes.push_back(ShapeHandle({}));
        continue;
      }
      values.push_back(std::move(gradient.values));
      for (auto [from, to] : {std::pair(&gradient.indices, &indices), {&gradient.shape, &shapes}}) {
        TF_ASSIGN_OR_RETURN(HandlePtr cast, CastTo(context, tensorflow::DT_INT64, from->get()));
        to->push_back(std::move(cast));
      }
    }
    TF_RETURN_IF_ERROR(FillWithZeros(context, x, &values));
    for (std::vector<HandlePtr>* more : {&indices, &shapes}) {
      std::move(more->begin(), more->end(), std::back_inserter(values));
    }
    values.push_back(ToHandle(reasons));
    return Return(std::move(values));
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
    // TensorFlow Java loses an output whose handle the program has already.
    for (HandlePtr& tensor : tensors) {
      if (tensor->RefCountIsOne()) continue;
      TF_ASSIGN_OR_RETURN(tensor, LikeThis(&op_.EagerContext(), "Identity", tensor.get()));
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
                     "only. In a graph, gradients are added by TF_AddGradients in C, "
                     "AddSymbolicGradients in C++, op.Gradients in Go, Graph::add_gradients in "
                     "Rust and Graph.addGradients in Java")));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>NewTape").Device(tensorflow::DEVICE_CPU), NewTapeKernel);
REGISTER_KERNEL_BUILDER(Name("TfExt>TapeWatch").Device(tensorflow::DEVICE_CPU), OnlyEager);
REGISTER_KERNEL_BUILDER(Name("TfExt>TapeControl").Device(tensorflow::DEVICE_CPU), OnlyEager);
REGISTER_KERNEL_BUILDER(Name("TfExt>TapeGradient").Device(tensorflow::DEVICE_CPU), OnlyEager);
REGISTER_KERNEL_BUILDER(Name("TfExt>TapeGradientSlices").Device(tensorflow::DEVICE_CPU), OnlyEager);
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
