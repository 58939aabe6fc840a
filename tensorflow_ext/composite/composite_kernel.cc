#include "tensorflow_ext/composite/composite_kernel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/device_base.h"

namespace tensorflow_ext {

using tensorflow::AttrSlice;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

CompositeKernel::CompositeKernel(OpKernelConstruction* context, const CompositeOp& op)
    : OpKernel(context), op_(op) {
  absl::StatusOr<CompositeBody> body = InstantiateComposite(op, AttrSlice(context->def()));
  OP_REQUIRES_OK(context, body.status());
  for (const CompositeBody::Part& part : body->parts) {
    const absl::Status status = AddStep(context, part);
    OP_REQUIRES(context, status.ok(), InComposite(op, status));
  }
  results_ = std::move(body->results);
}

absl::Status CompositeKernel::AddStep(OpKernelConstruction* context,
                                      const CompositeBody::Part& part) {
  tensorflow::DeviceBase* device = context->device();
  OpKernel* kernel = nullptr;
  TF_RETURN_IF_ERROR(tensorflow::CreateOpKernel(
      context->device_type(), device, device->GetAllocator({}), context->function_library(),
      context->resource_manager(), part.node, context->graph_def_version(), &kernel));
  Step step;
  step.kernel.reset(kernel);
  step.inputs = part.inputs;
  if (kernel->AsAsync() != nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(kernel->type_string(), " is asynchronous on this device"));
  }
  for (tensorflow::MemoryType memory : kernel->output_memory_types()) {
    tensorflow::AllocatorAttributes attributes;
    attributes.set_on_host(memory == tensorflow::HOST_MEMORY);
    step.outputs.push_back(attributes);
  }
  steps_.push_back(std::move(step));
  return absl::OkStatus();
}

void CompositeKernel::Compute(OpKernelContext* context) {
  const absl::Status status = Run(context);
  if (!status.ok()) context->SetStatus(InComposite(op_, status));
}

absl::Status CompositeKernel::Run(OpKernelContext* context) {
  // The parameters of the call, without those that describe its own outputs.
  OpKernelContext::Params params = *context->params();
  params.eigen_gpu_device = nullptr;  // owned; the first part makes another
  params.forward_from_array = nullptr;
  params.outputs_required_array = nullptr;
  params.input_alloc_attrs = {};
  params.track_allocations = false;
  params.log_memory = false;

  std::vector<std::vector<Tensor>> values;
  const auto value = [&](const CompositeBody::Source& source) -> const Tensor& {
    return source.part == CompositeBody::kArgument ? context->input(source.index)
                                                   : values[source.part][source.index];
  };
  for (const Step& step : steps_) {
    // Copies keep a part from reusing a buffer that a later part reads.
    std::vector<Tensor> inputs;
    std::vector<tensorflow::TensorValue> input_values;
    for (const auto& source : step.inputs) inputs.push_back(value(source));
    for (Tensor& input : inputs) input_values.emplace_back(&input);
    params.op_kernel = step.kernel.get();
    params.inputs = input_values;
    params.output_attr_array = step.outputs.data();

    OpKernelContext part(&params, step.outputs.size());
    step.kernel->Compute(&part);
    TF_RETURN_IF_ERROR(part.status());
    values.emplace_back();
    for (int i = 0; i < part.num_outputs(); ++i) {
      const Tensor* output = part.mutable_output(i);
      if (output == nullptr) {
        return absl::InternalError(
            absl::StrCat(step.kernel->type_string(), " has not made output ", i));
      }
      values.back().push_back(*output);
    }
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    context->set_output(i, value(results_[i]));
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
