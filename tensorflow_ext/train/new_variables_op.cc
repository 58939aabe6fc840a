#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/graph_marks/graph_bytes.h"
#include "tensorflow_ext/train/new_variables.h"

namespace tensorflow_ext::train {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

namespace {

constexpr char kNewVariables[] = "TfExt>NewVariables";

absl::Status NewVariablesShape(InferenceContext* c) {
  ShapeHandle names;
  TF_RETURN_IF_ERROR(InferGraphAndNames(c, kNewVariables, "names", &names));
  c->set_output(1, names);
  c->set_output(2, c->Scalar());
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("TfExt>NewVariables")
    .Input("graph_def: T")
    .Input("names: string")
    .Output("nodes: T")
    .Output("handles: string")
    .Output("initialize: string")
    .Attr("dtypes: list(type) >= 1")
    .Attr("shapes: list(shape) >= 1")
    .Attr("initializers: list(string) >= 1")
    .Attr("T: {string, uint8} = DT_STRING")
    .SetShapeFn(NewVariablesShape)
    .Doc(R"doc(
Adds variables to a graph, with the initial values that Keras gives.

This is TfExt_NewVariable (train/train.h) as an op, for languages that run ops but
cannot call functions of a library. The bytes of `graph_def` followed by those of
`nodes` are a GraphDef of both, which any client can import.

graph_def: A serialized tensorflow.GraphDef, its library included: a string, []; or
  its bytes, [n], for languages whose strings cannot hold all bytes, as in Rust.
names: The names of the variables, which are those of their handles, too, [n].
nodes: The nodes to add and functions that they call, a serialized GraphDef, in the
  form of `graph_def`.
handles: The handles, as "node:index", [n].
initialize: The node that gives all these variables their initial values.
dtypes: Their types, n of them.
shapes: Their shapes, n of them.
initializers: What `keras.initializers.serialize` gives in Python, as JSON, or the
  name of an initializer, such as "glorot_uniform"; n of them.
)doc");

// Graphs have no gradient.
REGISTER_OP_NO_GRADIENT("TfExt>NewVariables");

namespace {

template <typename T>
class NewVariablesOp : public OpKernel {
 public:
  explicit NewVariablesOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("dtypes", &types_));
    OP_REQUIRES_OK(context, context->GetAttr("shapes", &shapes_));
    OP_REQUIRES_OK(context, context->GetAttr("initializers", &initializers_));
  }

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckGraphAndNames<T>(kNewVariables, "names", *context));
    const std::vector<std::string> names = Names(context->input(1));
    const size_t n = names.size();
    OP_REQUIRES(
        context, types_.size() == n && shapes_.size() == n && initializers_.size() == n,
        absl::InvalidArgumentError(absl::StrCat(
            kNewVariables, ": expected a dtype, shape and initializer for each of ", n,
            " names, got ", types_.size(), ", ", shapes_.size(), " and ", initializers_.size())));
    std::vector<NewVariable> variables;
    for (size_t k = 0; k < n; ++k) {
      variables.push_back({names[k], types_[k], shapes_[k], initializers_[k]});
    }
    const absl::string_view bytes = Bytes<T>::Read(context->input(0));
    const absl::StatusOr<NewVariables> made = MakeVariables(bytes.data(), bytes.size(), variables);
    OP_REQUIRES_OK(context, Prefixed(kNewVariables, made.status()));
    OP_REQUIRES_OK(context, WriteGraphDef<T>(made->nodes, context));
    OP_REQUIRES_OK(context, WriteNames(1, made->handles, context));
    OP_REQUIRES_OK(context, WriteName(2, made->initialize, context));
  }

 private:
  tensorflow::DataTypeVector types_;
  std::vector<tensorflow::TensorShape> shapes_;
  std::vector<std::string> initializers_;
};

REGISTER_GRAPH_KERNEL("TfExt>NewVariables", NewVariablesOp);

}  // namespace
}  // namespace tensorflow_ext::train
