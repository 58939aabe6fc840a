#include "tensorflow_ext/tape/run_steps.h"

#include <memory>
#include <utility>

namespace tensorflow_ext {

using tensorflow::AbstractTensorHandle;
using tensorflow::AttrBuilder;
using tensorflow::EagerContext;
using tensorflow::ImmediateExecutionOperation;
using tensorflow::TensorHandle;

absl::Status RunOp(EagerContext* context, const AttrBuilder& attrs, const std::string& device,
                   const std::vector<TensorHandle*>& inputs, int num_outputs,
                   std::vector<HandlePtr>* outputs) {
  struct Release {
    void operator()(ImmediateExecutionOperation* op) const { op->Release(); }
  };
  const std::unique_ptr<ImmediateExecutionOperation, Release> op(context->CreateOperation());
  TF_RETURN_IF_ERROR(op->Reset(attrs.op_name().c_str(), device.empty() ? nullptr : device.c_str()));
  op->AddAttrs(&attrs);
  for (TensorHandle* input : inputs) TF_RETURN_IF_ERROR(op->AddInput(input));
  absl::InlinedVector<AbstractTensorHandle*, 4> made(num_outputs);
  TF_RETURN_IF_ERROR(op->Execute(absl::MakeSpan(made), &num_outputs));
  for (int i = 0; i < num_outputs; ++i) {
    outputs->emplace_back(tensorflow::TensorHandleFromInterface(made[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<HandlePtr> RunOp(
    EagerContext* context, const char* op, const std::string& device,
    const std::vector<TensorHandle*>& inputs,
    const std::vector<std::pair<const char*, tensorflow::AttrValue>>& attrs) {
  AttrBuilder builder(op);
  for (const auto& [name, value] : attrs) builder.Set(name, value);
  std::vector<HandlePtr> outputs;
  TF_RETURN_IF_ERROR(RunOp(context, builder, device, inputs, 1, &outputs));
  return std::move(outputs[0]);
}

absl::Status RunSteps(EagerContext* context, const std::vector<EagerStep>& steps,
                      const std::vector<bool>& needed,
                      const std::function<TensorHandle*(const EagerSource&)>& find,
                      std::vector<std::vector<HandlePtr>>* values) {
  values->resize(steps.size());
  std::vector<TensorHandle*> inputs;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!needed.empty() && !needed[i]) continue;
    const EagerStep& step = steps[i];
    inputs.clear();
    for (const EagerSource& source : step.inputs) {
      inputs.push_back(source.kind == EagerSource::kStep
                           ? (*values)[source.index][source.output].get()
                           : find(source));
    }
    TF_RETURN_IF_ERROR(
        RunOp(context, step.attrs, step.device, inputs, step.num_outputs, &(*values)[i]));
    for (const int last : step.last_uses) (*values)[last].clear();
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
