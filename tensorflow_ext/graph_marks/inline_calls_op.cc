// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::tstring;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

namespace {

constexpr char kInlineCalls[] = "TfExt>InlineCalls";
constexpr char kNames[] = "a vector, [n]";

absl::Status InlineCallsShape(InferenceContext* c) {
  ShapeHandle graph_def, outputs;
  TF_RETURN_IF_ERROR(InferRank(c, kInlineCalls, "graph_def", 0, 0, kScalar, &graph_def));
  TF_RETURN_IF_ERROR(InferRank(c, kInlineCalls, "outputs", 1, 1, kNames, &outputs));
  c->set_output(0, c->Scalar());
  c->set_output(1, outputs);
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("TfExt>InlineCalls")
    .Input("graph_def: string")
    .Input("outputs: string")
    .Output("nodes: string")
    .Output("inlined: string")
    .SetShapeFn(InlineCallsShape)
    .Doc(R"doc(
Adds nodes that compute tensors of a graph without function calls.

This is TfExt_InlineCalls as an op, for languages that run ops but cannot call
functions of a library. A gradient of `inlined` runs a called function once,
forward and backward, so it can train a model with dropout. The bytes of
`graph_def` followed by those of `nodes` are a GraphDef of both, which any
client can import.

graph_def: A serialized tensorflow.GraphDef, its library included, [].
outputs: Tensors of it, as "node:index", [n].
nodes: The nodes to add, a serialized GraphDef whose inputs come from these
  nodes or from the graph, [].
inlined: The tensors that replace `outputs`; the same ones if no call leads to
  them, [n].
)doc");

// Graphs have no gradient.
REGISTER_OP_NO_GRADIENT("TfExt>InlineCalls");

namespace {

class InlineCallsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const Tensor& graph_def = context->input(0);
    const Tensor& outputs = context->input(1);
    OP_REQUIRES_OK(context, CheckRank(kInlineCalls, "graph_def", graph_def.shape(), 0, kScalar));
    OP_REQUIRES_OK(context, CheckRank(kInlineCalls, "outputs", outputs.shape(), 1, kNames));
    const tstring* bytes = graph_def.scalar<tstring>().data();
    const tstring* names = outputs.vec<tstring>().data();
    const absl::StatusOr<InlinedCopy> copy =
        CopyInlined(bytes->data(), bytes->size(), {names, names + outputs.NumElements()});
    OP_REQUIRES(context, copy.ok(),
                tensorflow::errors::CreateWithUpdatedMessage(
                    copy.status(), absl::StrCat(kInlineCalls, ": ", copy.status().message())));
    Tensor* nodes = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, {}, &nodes));
    nodes->scalar<tstring>()() = copy->nodes.SerializeAsString();
    Tensor* inlined = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(1, outputs.shape(), &inlined));
    std::copy(copy->tensors.begin(), copy->tensors.end(), inlined->vec<tstring>().data());
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>InlineCalls").Device(tensorflow::DEVICE_CPU), InlineCallsOp);

}  // namespace
}  // namespace tensorflow_ext
