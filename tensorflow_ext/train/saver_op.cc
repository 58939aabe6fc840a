#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/graph_marks/graph_bytes.h"
#include "tensorflow_ext/train/saver.h"

namespace tensorflow_ext::train {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

namespace {

constexpr char kAddSaver[] = "TfExt>AddSaver";

absl::Status AddSaverShape(InferenceContext* c) {
  ShapeHandle variables, names;
  TF_RETURN_IF_ERROR(InferGraphAndNames(c, kAddSaver, "variables", &variables));
  TF_RETURN_IF_ERROR(InferRank(c, kAddSaver, "names", 2, 1, kVector, &names));
  for (int i = 1; i < c->num_outputs(); ++i) c->set_output(i, c->Scalar());
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("TfExt>AddSaver")
    .Input("graph_def: T")
    .Input("variables: string")
    .Input("names: string")
    .Output("nodes: T")
    .Output("prefix: string")
    .Output("save: string")
    .Output("restore: string")
    .Attr("T: {string, uint8} = DT_STRING")
    .SetShapeFn(AddSaverShape)
    .Doc(R"doc(
Adds nodes that write checkpoints and read them.

This is TfExt_AddSaver (train/train.h) as an op, for languages that run ops but cannot
call functions of a library. The bytes of `graph_def` followed by those of `nodes` are
a GraphDef of both, which any client can import.

graph_def: A serialized tensorflow.GraphDef, its library included: a string, []; or
  its bytes, [n], for languages whose strings cannot hold all bytes, as in Rust.
variables: The handles of the variables, as "node:index", [n].
names: Their names in the checkpoint, [n]; or none, [0], for the variables' own.
nodes: The nodes to add, a serialized GraphDef, in the form of `graph_def`.
prefix: The placeholder of the beginning of the paths of a checkpoint's files, a
  string, [].
save: The node that writes a checkpoint.
restore: The node that reads one and sets the variables.
)doc");

// Graphs have no gradient.
REGISTER_OP_NO_GRADIENT("TfExt>AddSaver");

namespace {

template <typename T>
class AddSaverOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckGraphAndNames<T>(kAddSaver, "variables", *context));
    OP_REQUIRES_OK(context, CheckRank(kAddSaver, "names", context->input(2).shape(), 1, kVector));
    const absl::string_view bytes = Bytes<T>::Read(context->input(0));
    const absl::StatusOr<Saver> saver =
        MakeSaver(bytes.data(), bytes.size(), Names(context->input(1)), Names(context->input(2)));
    OP_REQUIRES_OK(context, Prefixed(kAddSaver, saver.status()));
    OP_REQUIRES_OK(context, WriteGraphDef<T>(saver->nodes, context));
    OP_REQUIRES_OK(context, WriteName(1, saver->prefix, context));
    OP_REQUIRES_OK(context, WriteName(2, saver->save, context));
    OP_REQUIRES_OK(context, WriteName(3, saver->restore, context));
  }
};

REGISTER_GRAPH_KERNEL("TfExt>AddSaver", AddSaverOp);

}  // namespace
}  // namespace tensorflow_ext::train
