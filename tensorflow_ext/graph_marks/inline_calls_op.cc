#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/functions/inlined_copy.h"
#include "tensorflow_ext/graph_marks/graph_bytes.h"

namespace tensorflow_ext {

using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

namespace {

constexpr char kInlineCalls[] = "TfExt>InlineCalls";

absl::Status InlineCallsShape(InferenceContext* c) {
  ShapeHandle outputs;
  TF_RETURN_IF_ERROR(InferGraphAndNames(c, kInlineCalls, "outputs", &outputs));
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

template <typename T>
class InlineCallsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckGraphAndNames<T>(kInlineCalls, "outputs", *context));
    const absl::string_view bytes = Bytes<T>::Read(context->input(0));
    const absl::StatusOr<InlinedCopy> copy =
        CopyInlined(bytes.data(), bytes.size(), Names(context->input(1)));
    OP_REQUIRES_OK(context, Prefixed(kInlineCalls, copy.status()));
    OP_REQUIRES_OK(context, WriteGraphDef<T>(copy->nodes, context));
    OP_REQUIRES_OK(context, WriteNames(1, copy->tensors, context));
  }
};

REGISTER_GRAPH_KERNEL("TfExt>InlineCalls", InlineCallsOp);

}  // namespace
}  // namespace tensorflow_ext
