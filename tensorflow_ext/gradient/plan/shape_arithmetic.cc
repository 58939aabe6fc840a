#include "tensorflow_ext/gradient/plan/shape_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "tensorflow/core/common_runtime/device.h"
#include "tensorflow/core/common_runtime/single_threaded_cpu_device.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/public/version.h"

namespace tensorflow_ext {

using tensorflow::AllocatorAttributes;
using tensorflow::Device;
using tensorflow::NodeDef;
using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorValue;

namespace {

// Their outputs are never larger than their inputs, except those that LargeOutput checks. All are
// stateless.
bool IsShapeArithmetic(const std::string& op) {
  static const auto* const ops =
      new absl::flat_hash_set<std::string>{"Add",           "AddV2",
                                           "Cast",          "ConcatOffset",
                                           "ConcatV2",      "Div",
                                           "DynamicStitch", "Equal",
                                           "ExpandDims",    "Fill",
                                           "FloorDiv",      "FloorMod",
                                           "GatherV2",      "InvertPermutation",
                                           "ListDiff",      "Max",
                                           "Maximum",       "Min",
                                           "Minimum",       "Mul",
                                           "Neg",           "NotEqual",
                                           "OnesLike",      "Pack",
                                           "Prod",          "Range",
                                           "RealDiv",       "Reshape",
                                           "Select",        "SelectV2",
                                           "Slice",         "Squeeze",
                                           "StridedSlice",  "Sub",
                                           "Sum",           "ZerosLike"};
  return ops->contains(op);
}

// The elements of a tensor of int32 or int64; for another type, one that is too large.
std::vector<double> Elements(const Tensor& tensor) {
  std::vector<double> elements;
  const auto append = [&elements](const auto& values) {
    elements.assign(values.data(), values.data() + values.size());
  };
  switch (tensor.dtype()) {
    case tensorflow::DT_INT32:
      append(tensor.flat<int32_t>());
      return elements;
    case tensorflow::DT_INT64:
      append(tensor.flat<int64_t>());
      return elements;
    default:
      return {2.0 * kMaxKnownElements};
  }
}

// True if the op may make a large tensor from small ones.
bool LargeOutput(const std::string& op, const std::vector<Tensor>& inputs) {
  double elements = 0;
  if (op == "Fill") {
    elements = 1;
    for (double size : Elements(inputs[0])) elements *= size;
  } else if (op == "Range") {
    for (double start : Elements(inputs[0])) elements = std::abs(start);
    for (double limit : Elements(inputs[1])) elements += std::abs(limit);
  } else if (op == "DynamicStitch") {
    for (size_t i = 0; i < inputs.size() / 2; ++i) {
      for (double index : Elements(inputs[i])) {
        elements = std::max(elements, index + 1);
      }
    }
  }
  return elements > kMaxKnownElements;
}

Device* Cpu() {
  static Device* const device = tensorflow::NewSingleThreadedCpuDevice(tensorflow::Env::Default());
  return device;
}

}  // namespace

std::vector<Tensor> ComputeNow(const NodeDef& op, const std::vector<Tensor>& inputs) {
  if (!IsShapeArithmetic(op.op())) return {};
  NodeDef node = op;
  std::vector<Tensor> values = inputs;
  std::vector<TensorValue> arguments;
  for (Tensor& value : values) {
    if (value.NumElements() > kMaxKnownElements) return {};
    arguments.emplace_back(&value);
    node.add_input("value");  // a kernel needs the count, with any name
  }
  if (LargeOutput(node.op(), values)) return {};
  absl::Status status;
  const std::unique_ptr<OpKernel> kernel = tensorflow::CreateOpKernel(
      tensorflow::DeviceType(tensorflow::DEVICE_CPU), Cpu(),
      Cpu()->GetAllocator(AllocatorAttributes()), node, TF_GRAPH_DEF_VERSION, &status);
  if (!status.ok() || kernel->num_inputs() != static_cast<int>(inputs.size())) {
    return {};
  }
  const std::vector<AllocatorAttributes> output_attributes(kernel->num_outputs());
  OpKernelContext::Params parameters;
  parameters.device = Cpu();
  parameters.op_kernel = kernel.get();
  parameters.inputs = arguments;
  parameters.output_attr_array = output_attributes.data();
  OpKernelContext context(&parameters);
  kernel->Compute(&context);
  if (!context.status().ok()) return {};
  std::vector<Tensor> outputs;
  for (int i = 0; i < kernel->num_outputs(); ++i) {
    const std::unique_ptr<Tensor> owned(context.release_output(i).tensor);
    if (owned == nullptr || owned->NumElements() > kMaxKnownElements) return {};
    outputs.push_back(*owned);
  }
  return outputs;
}

}  // namespace tensorflow_ext
