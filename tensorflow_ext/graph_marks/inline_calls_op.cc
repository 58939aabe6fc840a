// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/tstring.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/functions/inlined_copy.h"
#include "tensorflow_ext/kernels/argument_shape.h"

namespace tensorflow_ext {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::tstring;
using tensorflow::shape_inference::InferenceContext;

namespace {

constexpr char kInlineCalls[] = "TfExt>InlineCalls";
constexpr char kNames[] = "a vector, [n]";

absl::Status InlineCallsShape(InferenceContext* c) {
  tensorflow::DataType type;
  TF_RETURN_IF_ERROR(c->GetAttr("T", &type));
  const bool is_string = type == tensorflow::DT_STRING;
  tensorflow::shape_inference::ShapeHandle graph_def, outputs;
  TF_RETURN_IF_ERROR(InferRank(c, kInlineCalls, "graph_def", 0, is_string ? 0 : 1,
                               is_string ? kScalar : kNames, &graph_def));
  TF_RETURN_IF_ERROR(InferRank(c, kInlineCalls, "outputs", 1, 1, kNames, &outputs));
  c->set_output(0, is_string ? c->Scalar() : c->Vector(InferenceContext::kUnknownDim));
  c->set_output(1, outputs);
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("TfExt>InlineCalls")
    .Input("graph_def: T")
    .Input("outputs: string")
    .Output("nodes: T")
    .Output("inlined: string")
    .Attr("T: {string, uint8} = DT_STRING")
    .SetShapeFn(InlineCallsShape)
    .Doc(R"doc(
Adds nodes that compute tensors of a graph without function calls.

This is TfExt_InlineCalls as an op, for languages that run ops but cannot call
functions of a library. A gradient of `inlined` runs a called function once,
forward and backward, so it can train a model with dropout. The bytes of
`graph_def` followed by those of `nodes` are a GraphDef of both, which any
client can import.

graph_def: A serialized tensorflow.GraphDef, its library included: a string, []; or
  its bytes, [n], for languages whose strings cannot hold all bytes, as in Rust.
outputs: Tensors of it, as "node:index", [n].
nodes: The nodes to add, a serialized GraphDef whose inputs come from these
  nodes or from the graph, in the form of `graph_def`.
inlined: The tensors that replace `outputs`; the same ones if no call leads to
  them, [n].
)doc");

// Graphs have no gradient.
REGISTER_OP_NO_GRADIENT("TfExt>InlineCalls");

namespace {

// The bytes of a serialized message as one string, [], or as uint8, [n].
template <typename T>
struct Bytes;

template <>
struct Bytes<tstring> {
  static constexpr int kRank = 0;
  static constexpr const char* kShape = kScalar;
  static absl::string_view Read(const Tensor& tensor) { return tensor.scalar<tstring>()(); }
  static TensorShape ShapeOf(const std::string&) { return {}; }
  static void Write(const std::string& bytes, Tensor* tensor) {
    tensor->scalar<tstring>()() = bytes;
  }
};

template <>
struct Bytes<uint8_t> {
  static constexpr int kRank = 1;
  static constexpr const char* kShape = kNames;
  static absl::string_view Read(const Tensor& tensor) {
    return absl::string_view(tensor.tensor_data().data(), tensor.NumElements());
  }
  static TensorShape ShapeOf(const std::string& bytes) {
    return {static_cast<int64_t>(bytes.size())};
  }
  static void Write(const std::string& bytes, Tensor* tensor) {
    std::copy(bytes.begin(), bytes.end(), tensor->vec<uint8_t>().data());
  }
};

template <typename T>
class InlineCallsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    const Tensor& graph_def = context->input(0);
    const Tensor& outputs = context->input(1);
    OP_REQUIRES_OK(context, CheckRank(kInlineCalls, "graph_def", graph_def.shape(), Bytes<T>::kRank,
                                      Bytes<T>::kShape));
    OP_REQUIRES_OK(context, CheckRank(kInlineCalls, "outputs", outputs.shape(), 1, kNames));
    const absl::string_view bytes = Bytes<T>::Read(graph_def);
    const tstring* names = outputs.vec<tstring>().data();
    const absl::StatusOr<InlinedCopy> copy =
        CopyInlined(bytes.data(), bytes.size(), {names, names + outputs.NumElements()});
    OP_REQUIRES(context, copy.ok(),
                tensorflow::errors::CreateWithUpdatedMessage(
                    copy.status(), absl::StrCat(kInlineCalls, ": ", copy.status().message())));
    Tensor* nodes = nullptr;
    const std::string serialized = copy->nodes.SerializeAsString();
    OP_REQUIRES_OK(context, context->allocate_output(0, Bytes<T>::ShapeOf(serialized), &nodes));
    Bytes<T>::Write(serialized, nodes);
    Tensor* inlined = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(1, outputs.shape(), &inlined));
    std::copy(copy->tensors.begin(), copy->tensors.end(), inlined->vec<tstring>().data());
  }
};

#define REGISTER_INLINE_CALLS(T)                                                       \
  REGISTER_KERNEL_BUILDER(                                                             \
      Name("TfExt>InlineCalls").Device(tensorflow::DEVICE_CPU).TypeConstraint<T>("T"), \
      InlineCallsOp<T>)
REGISTER_INLINE_CALLS(tstring);
REGISTER_INLINE_CALLS(uint8_t);
#undef REGISTER_INLINE_CALLS

}  // namespace
}  // namespace tensorflow_ext
