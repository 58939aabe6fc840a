// SPDX-License-Identifier: Apache-2.0
//
// Arrays of tensors behind a resource handle. The gradient of an array is
// another one, which TensorArrayGradV3 makes or, under the same `source`,
// finds: reading an element adds to it, and writing an element reads what was
// added. As in TensorFlow's Python gradients (tensor_array_grad.py) the flow, a
// number that means nothing, keeps these in order.
//
// So `source` is the call of AddSymbolicGradients: all its gradients share one
// array, and no two calls do. Its scope's name tells.

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/bridge.h"
#include "tensorflow_ext/gradient/gradient_nodes.h"

namespace tensorflow_ext {
namespace {

using tensorflow::Edge;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;

constexpr char kGradOp[] = "TensorArrayGradV3";

// What an op does, and which of its inputs and outputs take part.
struct Access {
  // The op that does the same to the gradient the other way round.
  const char* adjoint;
  int flow;            // input
  int value;           // input, or -1 for an op that returns it
  int place;           // input that says which elements, or -1
  int lengths_output;  // output that says which elements, or -1
};

const Access& AccessOf(const std::string& op) {
  static const auto* accesses = new std::map<std::string, Access>{
      {"TensorArrayConcatV3", {"TensorArraySplitV3", 1, -1, -1, 1}},
      {"TensorArrayGatherV3", {"TensorArrayScatterV3", 2, -1, 1, -1}},
      {"TensorArrayReadV3", {"TensorArrayWriteV3", 2, -1, 1, -1}},
      {"TensorArrayScatterV3", {"TensorArrayGatherV3", 3, 2, 1, -1}},
      {"TensorArraySplitV3", {"TensorArrayConcatV3", 3, 1, -1, -1}},
      {"TensorArrayWriteV3", {"TensorArrayReadV3", 3, 2, 1, -1}},
  };
  return accesses->at(op);
}

NodeBuilder& AddInput(NodeBuilder& builder, const Output& tensor) {
  return builder.Input(tensor.node(), tensor.index());
}

// Adds the gradient of one access to an array.
class AccessGradient {
 public:
  AccessGradient(const Scope& scope, const Operation& op)
      : op_(op),
        access_(AccessOf(op.node()->type_string())),
        nodes_(scope, op) {}

  absl::Status Run(const Output& upstream, std::vector<Output>* gradients) {
    gradients->assign(op_.num_inputs(), tensorflow::NoGradient());
    const bool writes = access_.value >= 0;
    Output flow = op_.input(access_.flow);
    if (writes) {
      // The array must have its elements before its gradient is made like it.
      TF_ASSIGN_OR_RETURN(flow, After(upstream, op_.node()));
      (*gradients)[access_.flow] = flow;
    }
    TF_ASSIGN_OR_RETURN(Node * array, GradientArray(flow));
    TF_ASSIGN_OR_RETURN(flow, After(flow, array));
    NodeBuilder builder = nodes_.New(access_.adjoint, access_.adjoint);
    builder.Input(array, 0);
    const bool value_first = access_.place < 0;
    if (!writes && value_first) AddInput(builder, upstream);
    if (access_.place >= 0) AddInput(builder, op_.input(access_.place));
    if (!writes && !value_first) AddInput(builder, upstream);
    if (access_.lengths_output >= 0) {
      AddInput(builder, op_.output(access_.lengths_output));
    }
    AddInput(builder, flow);
    if (writes) builder.Attr("dtype", op_.input(access_.value).type());
    TF_ASSIGN_OR_RETURN(Node * node, nodes_.Add(builder));
    (*gradients)[writes ? access_.value : access_.flow] = Output(node, 0);
    return absl::OkStatus();
  }

  GradientNodes& nodes() { return nodes_; }

 private:
  // `tensor`, once `node` has run.
  absl::StatusOr<Output> After(const Output& tensor, Node* node) {
    NodeBuilder builder = nodes_.New("flow", "Identity");
    AddInput(builder, tensor).ControlInput(node);
    TF_ASSIGN_OR_RETURN(Node * identity, nodes_.Add(builder));
    return Output(identity, 0);
  }

  // The handle of the gradient's array.
  absl::StatusOr<Node*> GradientArray(const Output& flow) {
    const Output handle = op_.input(0);
    const Node* origin = handle.node();
    while (origin->type_string() == "Identity") {
      const Edge* edge = nullptr;
      TF_RETURN_IF_ERROR(origin->input_edge(0, &edge));
      origin = edge->src();
    }
    if (origin->IsArg()) {
      return absl::UnimplementedError(
          "the handle is an argument of a function, so other gradients of its "
          "array are made elsewhere; make the array in the function, or use "
          "TensorList ops, which tf.TensorArray of TensorFlow 2 does");
    }
    if (origin->type_string() == kGradOp) {
      return absl::UnimplementedError(
          "TensorFlow has no array for the gradient of a gradient's array; use "
          "TensorList ops, which tf.TensorArray of TensorFlow 2 does");
    }
    NodeBuilder builder = nodes_.New(kGradOp, kGradOp);
    AddInput(AddInput(builder, handle), flow);
    // Unique in the scope, so this is the scope's name unless the op has had a
    // gradient in it before.
    absl::string_view scope_name = builder.node_name();
    if (!absl::ConsumeSuffix(&scope_name, kGradOp)) {
      return absl::InvalidArgumentError(
          "it has a gradient in this scope already, and both would add to one "
          "array; give every call of AddSymbolicGradients a scope of its own, "
          "such as scope.NewSubScope(\"gradients\")");
    }
    absl::ConsumeSuffix(&scope_name, "_grad/");
    absl::ConsumeSuffix(&scope_name, op_.node()->name());
    builder.Attr("source", absl::StrCat("gradient:", scope_name));
    return nodes_.Add(builder);
  }

  const Operation& op_;
  const Access& access_;
  GradientNodes nodes_;
};

absl::Status AccessGrad(const Scope& scope, const Operation& op,
                        const std::vector<Output>& upstream,
                        std::vector<Output>* gradients) {
  AccessGradient gradient(scope, op);
  const absl::Status status = gradient.Run(upstream[0], gradients);
  if (!status.ok()) gradient.nodes().Undo();
  return gradient.nodes().Explain(status);
}

[[maybe_unused]] const bool registered[] = {
    RegisterClientGradient("TensorArrayConcatV3", AccessGrad),
    RegisterClientGradient("TensorArrayGatherV3", AccessGrad),
    RegisterClientGradient("TensorArrayReadV3", AccessGrad),
    RegisterClientGradient("TensorArrayScatterV3", AccessGrad),
    RegisterClientGradient("TensorArraySplitV3", AccessGrad),
    RegisterClientGradient("TensorArrayWriteV3", AccessGrad),
};

}  // namespace
}  // namespace tensorflow_ext
