// For is a While whose variables are the counter, its limit, its step, and the variables of For.
// Its gradient is the gradient of this loop.

#include <string>
#include <vector>

#include "tensorflow/cc/framework/grad_op_registry.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DataTypeVector;
using tensorflow::Graph;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;

Outputs Inputs(const Operation& op) {
  Outputs inputs;
  for (int i = 0; i < op.num_inputs(); ++i) inputs.push_back(op.input(i));
  return inputs;
}

// The gradient of an op, taken from `same`, a new node that computes the same outputs from the same
// inputs in order.
absl::Status GradientAs(const Scope& scope, Node* same, const Outputs& upstream,
                        Outputs* gradients) {
  ClientGradient gradient;
  TF_RETURN_IF_ERROR(
      tensorflow::ops::GradOpRegistry::Global()->Lookup(same->type_string(), &gradient));
  TF_RETURN_IF_ERROR(gradient(scope, Operation(same), upstream, gradients));
  // At most its shapes are needed.
  if (same->out_edges().empty()) scope.graph()->RemoveNode(same);
  return absl::OkStatus();
}

// ---- For: a While whose variables are the counter, its limit, its step, and
// the variables of For.

// True until the counter reaches its limit, in the direction of its step.
absl::StatusOr<NameAttrList> Condition(const std::string& name, const DataTypeVector& types,
                                       Graph* graph) {
  FunctionBuilder test;
  const Outputs x = test.Arguments(types);
  const Output counter = x[0], limit = x[1], step = x[2], zero = test.Int(0);
  const Output up = test.Binary("LogicalAnd", test.Binary("Greater", step, zero),
                                test.Binary("Less", counter, limit));
  const Output down = test.Binary("LogicalAnd", test.Binary("Less", step, zero),
                                  test.Binary("Greater", counter, limit));
  return test.Finish(name + "_goes_on", {test.Binary("LogicalOr", up, down)}, graph);
}

absl::StatusOr<NameAttrList> StepOf(const NameAttrList& body, const DataTypeVector& types,
                                    Graph* graph) {
  FunctionBuilder step;
  const Outputs x = step.Arguments(types);
  Outputs variables = {x[0]};
  variables.insert(variables.end(), x.begin() + 3, x.end());
  Outputs results = {step.Binary("AddV2", x[0], x[2]), x[1], x[2]};
  for (const Output& result : step.Call("StatefulPartitionedCall", body, variables,
                                        DataTypeVector(types.begin() + 3, types.end()))) {
    results.push_back(result);
  }
  return step.Finish(body.name() + "_step", results, graph);
}

absl::Status AddForGradient(const Scope& scope, const Operation& op, const Outputs& upstream,
                            GradientNodes* nodes, Outputs* gradients) {
  NameAttrList body;
  DataTypeVector types;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(op.node()->attrs(), "body", &body));
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(op.node()->attrs(), "T", &types));
  types.insert(types.begin(), 3, tensorflow::DT_INT32);
  TF_ASSIGN_OR_RETURN(const NameAttrList cond, Condition(body.name(), types, scope.graph()));
  TF_ASSIGN_OR_RETURN(const NameAttrList step, StepOf(body, types, scope.graph()));
  // Order the inputs like the variables.
  Outputs by_variable(3);
  by_variable.insert(by_variable.end(), upstream.begin(), upstream.end());
  const std::vector<tensorflow::PartialTensorShape> shapes(types.size());
  NodeBuilder builder = nodes->New("loop", "While");
  builder.Input(NodeOuts(Inputs(op)))
      .Attr("cond", cond)
      .Attr("body", step)
      .Attr("output_shapes", shapes);
  TF_ASSIGN_OR_RETURN(Node * loop, nodes->Add(builder));

  return GradientAs(scope, loop, by_variable, gradients);
}

// ---- XlaWhile: a StatelessWhile, which XLA also compiles. XLA must know the
// maximum number of iterations of a loop with lists, and does not for the
// backward loop, so it compiles no second order.

absl::Status AddXlaWhileGradient(const Scope& scope, const Operation& op, const Outputs& upstream,
                                 GradientNodes* nodes, Outputs* gradients) {
  NodeBuilder builder = nodes->New("loop", "StatelessWhile");
  builder.Input(NodeOuts(Inputs(op)));
  for (const char* name : {"cond", "body"}) {
    builder.Attr(name, *op.node()->attrs().Find(name));
  }
  TF_ASSIGN_OR_RETURN(Node * loop, nodes->Add(builder));
  return GradientAs(scope, loop, upstream, gradients);
}

template <auto add>
absl::Status Gradient(const Scope& scope, const Operation& op, const Outputs& upstream,
                      Outputs* gradients) {
  GradientNodes nodes(scope, op);
  return nodes.Finish(add(scope, op, upstream, &nodes, gradients));
}

[[maybe_unused]] const bool registered_forms[] = {
    RegisterClientGradient("For", Gradient<AddForGradient>),
    RegisterClientGradient("XlaWhile", Gradient<AddXlaWhileGradient>),
};

}  // namespace
}  // namespace tensorflow_ext
