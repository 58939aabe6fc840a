// Branches of TensorFlow 1. Switch passes its input to one of two branches and a dead tensor to the
// other, which makes everything that depends on it dead. Merge takes the live input. Each is the
// adjoint of the other, as in TensorFlow's Python gradients (control_flow_grad.py).
//
// The gradients of a branch are alive when the branch is, because they start at the Switch that is
// the gradient of its Merge. A branch without a gradient gets zeros, made from the branch's inputs
// so that they are alive when it is. So one input of the Merge is always alive.

#include <vector>

#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/expand/upstream.h"
#include "tensorflow_ext/gradient/graph/loops.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DT_INVALID;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Operation;
using tensorflow::Output;

using Outputs = std::vector<Output>;
using NodeOut = NodeBuilder::NodeOut;

NodeOut In(const Output& tensor) { return {tensor.node(), tensor.index()}; }

// Merge: input i has the gradient if it was the live one.
absl::Status AddMergeGradient(Graph*, const Operation& op, const Outputs& upstream,
                              GradientNodes* nodes, Outputs* gradients) {
  TF_RETURN_IF_ERROR(CheckNoLoops(LeadingTo({op.node()}, /*follow_controls=*/false), {op.node()}));
  for (int i = 0; i < op.num_inputs(); ++i) {
    TF_ASSIGN_OR_RETURN(const Output number, nodes->Constant("number", tensorflow::Tensor(i)));
    NodeBuilder equal = nodes->New("was_it", "Equal");
    equal.Input(op.node(), 1).Input(In(number));
    TF_ASSIGN_OR_RETURN(Node * was_it, nodes->Add(equal));
    NodeBuilder builder = nodes->New("switch", "Switch");
    builder.Input(In(upstream[0])).Input(was_it);
    TF_ASSIGN_OR_RETURN(Node * taken, nodes->Add(builder));
    TF_ASSIGN_OR_RETURN(Output gradient, nodes->WrapInIdentity(Output(taken, 1)));
    gradients->push_back(gradient);
  }
  return absl::OkStatus();
}

// Switch: the gradient of the branch that ran.
absl::Status AddSwitchGradient(Graph*, const Operation& op, const Outputs& upstream,
                               GradientNodes* nodes, Outputs* gradients) {
  TF_RETURN_IF_ERROR(CheckNoLoops(LeadingTo({op.node()}, /*follow_controls=*/false), {op.node()}));
  gradients->assign(op.num_inputs(), tensorflow::NoGradient());
  const tensorflow::DataTypeVector types = UpstreamTypes(op, upstream);
  const tensorflow::DataType type = types[0] != DT_INVALID ? types[0] : types[1];
  if (type == DT_INVALID) return absl::OkStatus();
  std::vector<NodeOut> branches;
  for (int i = 0; i < 2; ++i) {
    Output gradient = upstream[i];
    if (gradient.node() == nullptr) {
      TF_ASSIGN_OR_RETURN(gradient, nodes->ZerosLikeVariable(op.output(i), type));
    }
    branches.push_back(In(gradient));
  }
  NodeBuilder builder = nodes->New("merge", "Merge");
  builder.Input(branches);
  TF_ASSIGN_OR_RETURN(Node * merge, nodes->Add(builder));
  TF_ASSIGN_OR_RETURN((*gradients)[0], nodes->WrapInIdentity(Output(merge, 0)));
  return absl::OkStatus();
}

template <auto add>
absl::Status ClientGradient(const tensorflow::Scope& scope, const Operation& op,
                            const Outputs& upstream, Outputs* gradients) {
  GradientNodes nodes(scope, op);
  return nodes.Finish(
      add(scope.graph(), op, WithoutZerosOfResources(scope, op, upstream), &nodes, gradients));
}

[[maybe_unused]] const bool registered_switch_and_merge[] = {
    RegisterClientGradient("Merge", ClientGradient<AddMergeGradient>),
    RegisterClientGradient("RefMerge", ClientGradient<AddMergeGradient>),
    RegisterClientGradient("RefSwitch", ClientGradient<AddSwitchGradient>),
    RegisterClientGradient("Switch", ClientGradient<AddSwitchGradient>),
};

}  // namespace
}  // namespace tensorflow_ext
