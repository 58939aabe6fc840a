#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/graph_marks/graph_bytes.h"
#include "tensorflow_ext/train/training_step.h"

namespace tensorflow_ext::train {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

namespace {

constexpr char kApplyGradients[] = "TfExt>ApplyGradients";

absl::Status ApplyGradientsShape(InferenceContext* c) {
  ShapeHandle gradients, variables;
  TF_RETURN_IF_ERROR(InferGraphAndNames(c, kApplyGradients, "gradients", &gradients));
  TF_RETURN_IF_ERROR(InferRank(c, kApplyGradients, "variables", 2, 1, kVector, &variables));
  c->set_output(1, c->Scalar());
  c->set_output(2, c->Scalar());
  c->set_output(3, c->Vector(c->UnknownDim()));
  c->set_output(4, c->Vector(c->UnknownDim()));
  c->set_output(5, c->Vector(c->UnknownDim()));
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("TfExt>ApplyGradients")
    .Input("graph_def: T")
    .Input("gradients: string")
    .Input("variables: string")
    .Output("nodes: T")
    .Output("step: string")
    .Output("initialize: string")
    .Output("state: string")
    .Output("names: string")
    .Output("inputs: string")
    .Attr("optimizer: string")
    .Attr("T: {string, uint8} = DT_STRING")
    .SetShapeFn(ApplyGradientsShape)
    .Doc(R"doc(
Adds an optimizer of Keras 3 to a graph.

This is TfExt_ApplyGradients (train/train.h) as an op, for languages that run ops but
cannot call functions of a library. The bytes of `graph_def` followed by those of
`nodes` are a GraphDef of both, which any client can import.

graph_def: A serialized tensorflow.GraphDef, its library included: a string, []; or
  its bytes, [n], for languages whose strings cannot hold all bytes, as in Rust.
gradients: Gradients that were added to it, as "node:index", [n]; "" for a variable
  that has none.
variables: The handles of the variables, as "node:index", [n].
nodes: The nodes to add and functions that they call, a serialized GraphDef whose
  inputs come from these nodes or from the graph, in the form of `graph_def`.
step: The node that updates the variables.
initialize: The node that sets the optimizer's variables to their initial values.
state: The handles of the optimizer's variables, as "node:index", [m]: the iteration;
  the learning rate, unless it follows a schedule; the slots.
names: Their names in checkpoints, [m], such as "adam/_variables/2".
inputs: The tensors of the graph that `nodes` read, as "node:index", [k]. A client that
  adds `nodes` to the graph itself maps each to the tensor of this name.
optimizer: What `keras.optimizers.serialize` gives in Python, as JSON, or the name of
  an optimizer.
)doc");

// Graphs have no gradient.
REGISTER_OP_NO_GRADIENT("TfExt>ApplyGradients");

namespace {

template <typename T>
class ApplyGradientsOp : public OpKernel {
 public:
  explicit ApplyGradientsOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("optimizer", &optimizer_));
  }

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckGraphAndNames<T>(kApplyGradients, "gradients", *context));
    OP_REQUIRES_OK(context,
                   CheckRank(kApplyGradients, "variables", context->input(2).shape(), 1, kVector));
    const absl::string_view bytes = Bytes<T>::Read(context->input(0));
    const absl::StatusOr<TrainingStep> made = ApplyGradients(
        bytes.data(), bytes.size(), Names(context->input(1)), Names(context->input(2)), optimizer_);
    OP_REQUIRES_OK(context, Prefixed(kApplyGradients, made.status()));
    OP_REQUIRES_OK(context, WriteGraphDef<T>(made->nodes, context));
    OP_REQUIRES_OK(context, WriteName(1, made->step, context));
    OP_REQUIRES_OK(context, WriteName(2, made->initialize, context));
    OP_REQUIRES_OK(context, WriteNames(3, made->state, context));
    OP_REQUIRES_OK(context, WriteNames(4, made->names, context));
    OP_REQUIRES_OK(context, WriteNames(5, made->inputs, context));
  }

 private:
  std::string optimizer_;
};

REGISTER_GRAPH_KERNEL("TfExt>ApplyGradients", ApplyGradientsOp);

}  // namespace
}  // namespace tensorflow_ext::train
