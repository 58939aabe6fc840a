// Arrays of tensors behind a handle, which is a resource or, before version 3, a string. The
// gradient of an array is another array, which TensorArrayGrad creates or, if it exists under the
// same `source`, finds. Reading an element adds to the gradient's array; writing an element reads
// the sum. As in TensorFlow's Python gradients (tensor_array_grad.py), the flow, a number without
// meaning, orders these.
//
// `source` identifies the call of AddSymbolicGradients, by the name of its scope: all gradients of
// one call share an array, and no two calls do. TensorArrayGrad rejects arrays that it created
// itself. So the gradient of a gradient is another gradient of the first array, and its source
// names the gradient that it belongs to.
//
// The kernels limit the second order, and the first order within a growing graph. An element of a
// gradient's array can be read only once, so an element of the first array can then be read only
// once too. An element that nothing was added to is zeros of the shape that the first array had
// there when its gradient was created, or of the attribute element_shape. The kernels report these
// errors. They also abort the process if a gradient's array is concatenated unless TensorArraySplit
// wrote the first array.

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"

namespace tensorflow_ext {
namespace {

using tensorflow::Edge;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;

constexpr char kSplit[] = "TensorArraySplit";

// The effect of an op, and the inputs and outputs that take part.
struct Access {
  // The op that does the reverse to the gradient.
  const char* adjoint;
  int flow;            // input
  int value;           // input, or -1 for an op that returns the value
  int place;           // input that selects elements, or -1
  int lengths_output;  // output that gives the elements' lengths, or -1
};

// `op` without the version suffix, which all ops on one array share.
const Access& AccessOf(absl::string_view op) {
  static const auto* accesses = new std::map<absl::string_view, Access>{
      {"TensorArrayConcat", {"TensorArraySplit", 1, -1, -1, 1}},
      {"TensorArrayGather", {"TensorArrayScatter", 2, -1, 1, -1}},
      {"TensorArrayRead", {"TensorArrayWrite", 2, -1, 1, -1}},
      {"TensorArrayScatter", {"TensorArrayGather", 3, 2, 1, -1}},
      {"TensorArraySplit", {"TensorArrayConcat", 3, 1, -1, -1}},
      {"TensorArrayWrite", {"TensorArrayRead", 3, 2, 1, -1}},
  };
  return accesses->at(op);
}

absl::string_view Version(absl::string_view op) {
  for (absl::string_view version : {"V2", "V3"}) {
    if (absl::EndsWith(op, version)) return version;
  }
  return "";
}

NodeBuilder& AddInput(NodeBuilder& builder, const Output& tensor) {
  return builder.Input(tensor.node(), tensor.index());
}

// Adds the gradient of one access to an array.
class AccessGradient {
 public:
  AccessGradient(const Scope& scope, const Operation& op)
      : op_(op),
        version_(Version(op.node()->type_string())),
        access_(AccessOf(absl::StripSuffix(op.node()->type_string(), version_))),
        grad_op_(absl::StrCat("TensorArrayGrad", version_)),
        nodes_(scope, op) {}

  absl::Status Run(const Output& upstream, std::vector<Output>* gradients) {
    return nodes_.Finish(AddAll(upstream, gradients));
  }

 private:
  absl::Status AddAll(const Output& upstream, std::vector<Output>* gradients) {
    gradients->assign(op_.num_inputs(), tensorflow::NoGradient());
    const bool writes = access_.value >= 0;
    Output flow = op_.input(access_.flow);
    if (writes) {
      // The array must have its elements when its gradient is created like it.
      TF_ASSIGN_OR_RETURN(flow, After(upstream, op_.node()));
      (*gradients)[access_.flow] = flow;
    }
    TF_ASSIGN_OR_RETURN(Node * array, GradientArray(flow));
    TF_ASSIGN_OR_RETURN(flow, After(flow, array));
    const std::string adjoint = absl::StrCat(access_.adjoint, version_);
    NodeBuilder builder = nodes_.New(adjoint, adjoint);
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

  // `tensor`, after `node` has run.
  absl::StatusOr<Output> After(const Output& tensor, Node* node) {
    NodeBuilder builder = nodes_.New("flow", "Identity");
    AddInput(builder, tensor).ControlInput(node);
    TF_ASSIGN_OR_RETURN(Node * identity, nodes_.Add(builder));
    return Output(identity, 0);
  }

  // The node output that creates the handle that `node` takes.
  static absl::StatusOr<const Edge*> Handle(const Node* node) {
    const Edge* edge = nullptr;
    do {
      TF_RETURN_IF_ERROR(node->input_edge(0, &edge));
      node = edge->src();
    } while (node->type_string() == "Identity");
    return edge;
  }

  // True if TensorArraySplit writes to the array.
  bool WasSplit(const Edge* handle) const {
    const std::string split = absl::StrCat(kSplit, version_);
    std::vector<const Node*> holders = {handle->src()};
    while (!holders.empty()) {
      const Node* holder = holders.back();
      holders.pop_back();
      for (const Edge* edge : holder->out_edges()) {
        if (edge->dst()->type_string() == split) return true;
        if (edge->dst()->type_string() == "Identity") {
          holders.push_back(edge->dst());
        }
      }
    }
    return false;
  }

  // The handle of the gradient's array.
  absl::StatusOr<Node*> GradientArray(const Output& flow) {
    TF_ASSIGN_OR_RETURN(const Edge* handle, Handle(op_.node()));
    std::string of;  // the sources of the differentiated gradients
    while (handle->src()->type_string() == grad_op_) {
      absl::StrAppend(&of, " of ", handle->src()->attrs().Find("source")->s());
      TF_ASSIGN_OR_RETURN(handle, Handle(handle->src()));
    }
    if (!of.empty() && absl::StartsWith(op_.node()->type_string(), kSplit) && !WasSplit(handle)) {
      return absl::UnimplementedError(
          "TensorFlow's kernel can concatenate the second gradient of an array only if "
          "TensorArraySplit wrote the array; use TensorArrayGather instead of "
          "TensorArrayConcat, or TensorList ops, as tf.TensorArray does in TensorFlow 2");
    }
    if (handle->src()->IsArg()) {
      return absl::UnimplementedError(
          "the handle is an argument of a function, so other gradients of its array are "
          "computed elsewhere; create the array in the function, or use TensorList ops, as "
          "tf.TensorArray does in TensorFlow 2");
    }
    NodeBuilder builder = nodes_.New(grad_op_, grad_op_);
    builder.Input(handle->src(), handle->src_output());
    AddInput(builder, flow);
    // Unique in the scope, so this contains the scope's name, unless the op already has a gradient
    // in it.
    absl::string_view scope_name = builder.node_name();
    if (!absl::ConsumeSuffix(&scope_name, grad_op_)) {
      return absl::InvalidArgumentError(
          "it already has a gradient in this scope, and both would add to one array; give "
          "every call of AddSymbolicGradients its own scope, such as "
          "scope.NewSubScope(\"gradients\")");
    }
    absl::ConsumeSuffix(&scope_name, "_grad/");
    absl::ConsumeSuffix(&scope_name, op_.node()->name());
    builder.Attr("source", absl::StrCat("gradient:", scope_name, of));
    return nodes_.Add(builder);
  }

  const Operation& op_;
  const absl::string_view version_;
  const Access& access_;
  const std::string grad_op_;
  GradientNodes nodes_;
};

absl::Status AccessGrad(const Scope& scope, const Operation& op,
                        const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  return AccessGradient(scope, op).Run(upstream[0], gradients);
}

[[maybe_unused]] const bool registered_tensor_arrays = [] {
  for (const char* version : {"", "V2", "V3"}) {
    for (const char* access : {"Concat", "Gather", "Read", "Scatter", "Split", "Write"}) {
      RegisterClientGradient(absl::StrCat("TensorArray", access, version).c_str(), AccessGrad);
    }
  }
  return true;
}();

}  // namespace
}  // namespace tensorflow_ext
