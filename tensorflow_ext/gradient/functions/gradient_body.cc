#include "tensorflow_ext/gradient/functions/gradient_body.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/scope_internal.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/expand/static_shapes.h"
#include "tensorflow_ext/gradient/functions/custom_gradients.h"
#include "tensorflow_ext/gradient/functions/rerun.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"
#include "tensorflow_ext/gradient/graph/loops.h"
#include "tensorflow_ext/gradient/plan/plan.h"
#include "tensorflow_ext/gradient/registry/named_gradient.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::DataTypeString;
using tensorflow::DataTypeVector;
using tensorflow::DT_INVALID;
using tensorflow::DT_RESOURCE;
using tensorflow::Edge;
using tensorflow::FunctionBody;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Output;
using tensorflow::Scope;

GradientBody::GradientBody(const FunctionLibraryDefinition& library, const NameAttrList& function,
                           const FunctionBody& body, const DataTypeVector& upstream,
                           const DataTypeVector& required)
    : function_(function),
      argument_types_(body.arg_types),
      upstream_types_(upstream),
      required_(required),
      graph_(library),
      scope_(tensorflow::NewInternalScope(&graph_, &status_, nullptr)) {
  // The graph of `body` itself cannot take functions.
  tensorflow::CopyGraph(*body.graph, &graph_);
  RemoveIdentities();
}

absl::Status GradientBody::Build(bool with_forward) {
  TF_RETURN_IF_ERROR(ClassifyNodes());
  InferShapes();
  // The scope knows the names of the nodes that the graph has now.
  scope_ = tensorflow::NewInternalScope(&graph_, &status_, shapes_.get());
  TF_RETURN_IF_ERROR(AddUpstream());
  gradients_.assign(arguments_.size(), tensorflow::NoGradient());
  const std::string given = graph_.flib_def().FindGradient(function_.name());
  TF_RETURN_IF_ERROR(given.empty() ? Differentiate() : Call(given));
  TF_RETURN_IF_ERROR(AddResults());
  return Prune(with_forward);
}

void GradientBody::RemoveIdentities() {
  std::vector<Node*> identities;
  for (Node* node : graph_.op_nodes()) {
    const auto is_control = [](const Edge* edge) {
      return edge->IsControlEdge() && edge->src()->IsOp() && edge->dst()->IsOp();
    };
    if (node->type_string() == "Identity" && NamedGradient(node->attrs()).empty() &&
        absl::c_none_of(node->in_edges(), is_control) &&
        absl::c_none_of(node->out_edges(), is_control)) {
      identities.push_back(node);
    }
  }
  for (Node* node : identities) {
    const Edge* in = nullptr;
    if (!node->input_edge(0, &in).ok()) continue;
    std::vector<Edge> out;
    for (const Edge* edge : node->out_edges()) {
      if (!edge->IsControlEdge()) out.push_back(*edge);
    }
    Node* const source = in->src();
    const int index = in->src_output();
    graph_.RemoveNode(node);
    for (const Edge& edge : out) graph_.AddEdge(source, index, edge.dst(), edge.dst_input());
  }
}

void GradientBody::InferShapes() {
  shapes_ = std::make_unique<tensorflow::ShapeRefiner>(graph_.versions(), &graph_.flib_def());
  shapes_->set_require_shape_inference_fns(false);
  std::vector<Node*> order;
  tensorflow::GetReversePostOrder(graph_, &order);
  for (const Node* node : order) {
    if (!node->IsOp()) continue;
    if (!shapes_->AddNode(node).ok()) {
      shapes_ = nullptr;
      return;
    }
    // The shape of the variable, which its handle does not tell in a function.
    const auto* saved = node->attrs().Find("_output_shapes");
    if (node->type_string() != "ReadVariableOp" || saved == nullptr ||
        saved->list().shape_size() != 1) {
      continue;
    }
    tensorflow::shape_inference::ShapeHandle shape;
    auto* context = shapes_->GetContext(node);
    if (context->MakeShapeFromShapeProto(saved->list().shape(0), &shape).ok()) {
      shapes_->SetShape(node, 0, shape).IgnoreError();
    }
  }
}

void GradientBody::SetShape(const Output& like, NodeBuilder* argument) const {
  const tensorflow::PartialTensorShape shape = StaticShapes(scope_).Of(like);
  if (shape.unknown_rank()) return;
  argument->Attr("_output_shapes", std::vector<tensorflow::PartialTensorShape>{shape});
}

absl::Status GradientBody::ClassifyNodes() {
  arguments_.resize(argument_types_.size());
  retvals_.resize(upstream_types_.size());
  for (Node* node : graph_.op_nodes()) {
    int index = 0;
    if (node->IsArg()) {
      TF_RETURN_IF_ERROR(GetNodeAttr(node->attrs(), "index", &index));
      arguments_[index] = node;
    } else if (node->IsRetval()) {
      TF_RETURN_IF_ERROR(GetNodeAttr(node->attrs(), "index", &index));
      retvals_[index] = node;
    } else if (OnlyReports(*node)) {
      reports_.push_back(node);
    } else {
      forward_.push_back(node);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Node*> GradientBody::Add(NodeBuilder builder) {
  Node* node = nullptr;
  TF_RETURN_IF_ERROR(builder.Finalize(&graph_, &node));
  TF_RETURN_IF_ERROR(scope_.DoShapeInference(node));
  return node;
}

NodeBuilder GradientBody::New(const char* name, const char* op) const {
  return NodeBuilder(scope_.GetUniqueNameForOp(name), op);
}

absl::StatusOr<Output> GradientBody::Identity(Output x) {
  TF_ASSIGN_OR_RETURN(Node * node, Add(New("gradient", "Identity").Input(x.node(), x.index())));
  return Output(node, 0);
}

absl::Status GradientBody::AddUpstream() {
  for (size_t i = 0; i < retvals_.size(); ++i) {
    const Edge* edge = nullptr;
    TF_RETURN_IF_ERROR(retvals_[i]->input_edge(0, &edge));
    const Output result(edge->src(), edge->src_output());
    results_.push_back(result);
    if (upstream_types_[i] != DT_INVALID) {
      TF_ASSIGN_OR_RETURN(Output y, Identity(result));
      ys_.push_back(y);
      const int index = arguments_.size() + upstreams_.size();
      NodeBuilder builder = New("upstream", "_Arg");
      builder.Attr("T", upstream_types_[i]).Attr("index", index);
      SetShape(result, &builder);
      TF_ASSIGN_OR_RETURN(Node * argument, Add(builder));
      upstreams_.push_back(Output(argument, 0));
    }
    graph_.RemoveNode(retvals_[i]);
  }
  return absl::OkStatus();
}

absl::Status GradientBody::Call(const std::string& gradient) {
  const auto record = graph_.flib_def().FindRecord(gradient);
  if (!record) {
    return absl::NotFoundError(
        absl::StrCat("its gradient '", gradient, "' is not in the graph's library"));
  }
  std::vector<NodeBuilder::NodeOut> inputs(arguments_.begin(), arguments_.end());
  auto next = upstreams_.begin();
  for (size_t i = 0; i < results_.size(); ++i) {
    if (upstream_types_[i] != DT_INVALID) {
      inputs.emplace_back((next++)->node());
    } else {
      TF_ASSIGN_OR_RETURN(
          Node * zeros,
          Add(New("zeros", "ZerosLike").Input(results_[i].node(), results_[i].index())));
      inputs.emplace_back(zeros);
    }
  }
  DataTypeVector types;
  for (const auto& result : record->fdef().signature().output_arg()) {
    types.push_back(result.type());
  }
  if (types.size() != arguments_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("its gradient '", gradient, "' has ",
                                                   types.size(), " results where it has ",
                                                   arguments_.size(), " arguments"));
  }
  NameAttrList function = function_;
  function.set_name(gradient);
  TF_ASSIGN_OR_RETURN(Node * call, Add(New("call", "StatefulPartitionedCall")
                                           .Input(inputs)
                                           .Attr("Tout", types)
                                           .Attr("f", function)));
  for (size_t i = 0; i < types.size(); ++i) {
    if (IsDifferentiable(types[i])) gradients_[i] = Output(call, i);
  }
  return absl::OkStatus();
}

absl::Status GradientBody::Differentiate() {
  std::vector<const Node*> ends;
  for (const Output& y : ys_) ends.push_back(y.node());
  const NodeSet reached = LeadingTo(ends, /*follow_controls=*/false);
  std::vector<Output> xs;
  std::vector<int> indices;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    // AddSymbolicGradients refuses the whole call if no path leads to an argument.
    if (reached.count(arguments_[i]) == 0 || !IsDifferentiable(argument_types_[i])) {
      continue;
    }
    xs.push_back(Output(arguments_[i], 0));
    indices.push_back(i);
  }
  if (xs.empty()) return absl::OkStatus();
  std::vector<const Node*> starts;
  for (const Output& x : xs) starts.push_back(x.node());
  const NodeSet between = Between(starts, reached);
  TF_RETURN_IF_ERROR(CheckNoLoops(between, ends));
  TF_RETURN_IF_ERROR(CheckNamedGradients(between));
  std::vector<Output> found;
  // A scope that shares its graph with no other: IsMadeByThisCall.
  const Scope scope =
      tensorflow::NewInternalScope(&graph_, &status_, shapes_.get()).NewSubScope("gradients");
  TF_RETURN_IF_ERROR(tensorflow::AddSymbolicGradients(scope, ys_, xs, upstreams_, &found));
  TF_RETURN_IF_ERROR(scope.status());
  for (size_t k = 0; k < xs.size(); ++k) gradients_[indices[k]] = found[k];
  return absl::OkStatus();
}

absl::StatusOr<Output> GradientBody::Zeros(int i, DataType type) {
  Node* const x = arguments_[i];
  if (argument_types_[i] != DT_RESOURCE) {
    TF_ASSIGN_OR_RETURN(Node * zeros, Add(New("zeros", "ZerosLike").Input(x)));
    return Output(zeros, 0);
  }
  TF_ASSIGN_OR_RETURN(Node * shape, Add(New("shape", "VariableShape").Input(x)));
  TF_ASSIGN_OR_RETURN(
      Node * zero, Add(New("zero", "Const").Attr("dtype", type).Attr("value", ZeroScalar(type))));
  TF_ASSIGN_OR_RETURN(Node * zeros, Add(New("zeros", "Fill").Input(shape).Input(zero)));
  return Output(zeros, 0);
}

absl::Status GradientBody::AddResults() {
  gradient_types_.assign(gradients_.size(), DT_INVALID);
  for (size_t i = 0; i < gradients_.size(); ++i) {
    const DataType required = required_.empty() ? DT_INVALID : required_[i];
    if (gradients_[i].node() == nullptr) {
      if (required == DT_INVALID) continue;
      TF_ASSIGN_OR_RETURN(gradients_[i], Zeros(i, required));
    }
    gradient_types_[i] = gradients_[i].type();
    if (required != DT_INVALID && required != gradient_types_[i]) {
      return absl::UnimplementedError(absl::StrCat(
          "the gradient of argument ", i, " is of type ", DataTypeString(gradient_types_[i]),
          " in this function and of ", DataTypeString(required), " in another branch"));
    }
    TF_ASSIGN_OR_RETURN(Output result, Identity(gradients_[i]));
    ends_.push_back(result.node());
  }
  return absl::OkStatus();
}

absl::Status GradientBody::Prune(bool with_forward) {
  NodeSet needed;
  std::vector<const Edge*> kept, controls;
  TF_RETURN_IF_ERROR(FindNeeded(&needed, &kept, &controls));
  TF_RETURN_IF_ERROR(Keep(kept, with_forward));
  for (const Edge* edge : controls) graph_.RemoveEdge(edge);
  std::vector<Node*> unneeded, stateful;
  for (Node* node : graph_.op_nodes()) {
    if (node->IsArg()) continue;
    if (needed.count(node) == 0) {
      unneeded.push_back(node);
    } else if (node->op_def().is_stateful()) {
      stateful.push_back(node);
    }
  }
  if (!stateful.empty()) {
    // One node waits for all of them. With an edge from each of them to each result, the cost of a
    // call would grow with the product of its variables and its results.
    TF_ASSIGN_OR_RETURN(Node * all, Add(New("all", "NoOp")));
    for (Node* node : stateful) graph_.AddControlEdge(node, all, /*allow_duplicates=*/true);
    for (Node* end : ends_) graph_.AddControlEdge(all, end, /*allow_duplicates=*/true);
  }
  for (Node* node : unneeded) graph_.RemoveNode(node);
  for (size_t k = 0; k < ends_.size(); ++k) {
    TF_RETURN_IF_ERROR(
        Add(New("result", "_Retval").Input(ends_[k]).Attr("index", static_cast<int>(k))).status());
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
