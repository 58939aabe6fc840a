#include "tensorflow_ext/gradient/functions/custom_gradients.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/core/common_runtime/function_def_utils.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"
#include "tensorflow_ext/gradient/plan/plan.h"
#include "tensorflow_ext/gradient/registry/named_gradient.h"

namespace tensorflow_ext {

using tensorflow::AttrSlice;
using tensorflow::DataTypeVector;
using tensorflow::Edge;
using tensorflow::FunctionBody;
using tensorflow::FunctionDef;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::NodeDef;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::OutputTensor;
using tensorflow::Scope;
using tensorflow::TensorId;

namespace {

// An attribute of a NoOp in a record: the gradient function, with these attributes. Python's loader
// allows no attributes of our own for the record itself.
constexpr char kRecorded[] = "_tfext_recorded";
constexpr char kNode[] = "node";
constexpr char kCaptures[] = "captures";
constexpr char kResults[] = "results";
constexpr char kProblem[] = "problem";

// An attribute of a node: the gradient function, with the number of captured tensors and the inputs
// that its results belong to.
constexpr char kAttached[] = "_tfext_gradient";
constexpr char kNumCaptures[] = "captures";

std::string RecordName(const std::string& function) {
  return absl::StrCat(function, "__custom_gradients");
}

template <typename T>
void Set(const char* name, const T& value, NameAttrList* list) {
  tensorflow::SetAttrValue(value, &(*list->mutable_attr())[name]);
}

template <typename T>
absl::Status Get(const char* name, const NameAttrList& list, T* value) {
  return tensorflow::GetNodeAttr(AttrSlice(&list.attr()), name, value);
}

NameAttrList Encode(const CustomGradient& gradient) {
  NameAttrList list;
  list.set_name(gradient.function);
  Set(kNode, gradient.node, &list);
  Set(kCaptures, gradient.captures, &list);
  Set(kResults, gradient.results, &list);
  Set(kProblem, gradient.problem, &list);
  return list;
}

absl::StatusOr<CustomGradient> Decode(const NameAttrList& list) {
  CustomGradient gradient;
  gradient.function = list.name();
  TF_RETURN_IF_ERROR(Get(kNode, list, &gradient.node));
  TF_RETURN_IF_ERROR(Get(kCaptures, list, &gradient.captures));
  TF_RETURN_IF_ERROR(Get(kResults, list, &gradient.results));
  TF_RETURN_IF_ERROR(Get(kProblem, list, &gradient.problem));
  return gradient;
}

absl::StatusOr<std::vector<CustomGradient>> GradientsOf(const FunctionDef& record) {
  std::vector<CustomGradient> gradients;
  for (const NodeDef& node : record.node_def()) {
    const auto found = node.attr().find(kRecorded);
    if (found == node.attr().end()) continue;
    TF_ASSIGN_OR_RETURN(CustomGradient gradient, Decode(found->second.func()));
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

// Replaces nodes of a function's body.
class Attacher {
 public:
  Attacher(const FunctionLibraryDefinition& library, const FunctionDef& record, FunctionBody* body)
      : library_(library), record_(record), body_(body), graph_(body->graph) {
    for (Node* node : graph_->op_nodes()) nodes_[node->name()] = node;
  }

  absl::Status Attach(const CustomGradient& gradient) {
    const auto found = nodes_.find(gradient.node);
    // Instantiating a function may remove nodes that nothing needs.
    if (found == nodes_.end()) return absl::OkStatus();
    Node* node = found->second;
    if (!gradient.problem.empty()) {
      node->AddAttr(kNamedGradientProblem, gradient.problem);
      return absl::OkStatus();
    }
    const auto function = library_.FindRecord(gradient.function);
    if (!function) {
      return absl::NotFoundError(absl::StrCat("the gradient '", gradient.function, "' of node '",
                                              gradient.node, "' is not in the graph's library"));
    }
    const int num_upstream =
        function->fdef().signature().input_arg_size() - static_cast<int>(gradient.captures.size());
    if (num_upstream != node->num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the gradient '", gradient.function, "' of node '", gradient.node, "' takes ",
          num_upstream, " upstream gradients, but the node has ", node->num_outputs(), " outputs"));
    }
    std::vector<OutputTensor> captured;
    for (const std::string& capture : gradient.captures) {
      TF_ASSIGN_OR_RETURN(const OutputTensor tensor, Find(capture));
      captured.push_back(tensor);
    }
    NameAttrList attached;
    attached.set_name(gradient.function);
    Set(kNumCaptures, static_cast<int>(captured.size()), &attached);
    if (node->type_string() == "IdentityN") {
      Set(kResults, gradient.results, &attached);
      return Replace(node, Inputs(*node), captured, attached);
    }
    // Another op, whose gradient Python overrode: an IdentityN of its outputs and of its inputs
    // takes the place of its outputs.
    std::vector<OutputTensor> passed;
    for (int i = 0; i < node->num_outputs(); ++i) passed.emplace_back(node, i);
    std::vector<int> results = gradient.results;
    for (int& result : results) result += node->num_outputs();
    Set(kResults, results, &attached);
    for (const OutputTensor& input : Inputs(*node)) passed.push_back(input);
    node->ClearAttr(kGradientOpType);
    return Replace(node, passed, captured, attached);
  }

 private:
  static std::vector<OutputTensor> Inputs(const Node& node) {
    std::vector<OutputTensor> inputs(node.num_inputs());
    for (const Edge* edge : node.in_edges()) {
      if (edge->IsControlEdge()) continue;
      inputs[edge->dst_input()] = OutputTensor(edge->src(), edge->src_output());
    }
    return inputs;
  }

  absl::StatusOr<OutputTensor> Find(const std::string& tensor) {
    const TensorId id = tensorflow::ParseTensorName(tensor);
    const std::string name(id.node());
    auto found = nodes_.find(name);
    if (found == nodes_.end()) {
      for (NodeDef source : record_.node_def()) {
        if (source.name() != name) continue;
        TF_ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(source)));
        found = nodes_.emplace(name, node).first;
      }
    }
    if (found == nodes_.end() || id.index() < 0 || id.index() >= found->second->num_outputs()) {
      return absl::NotFoundError(
          absl::StrCat("a gradient captured the tensor '", tensor, "', which is not there"));
    }
    return OutputTensor(found->second, id.index());
  }

  // Puts an IdentityN of `passed` and `captured` in place of the outputs of `node`, and of the node
  // itself if that is an IdentityN.
  absl::Status Replace(Node* node, std::vector<OutputTensor> passed,
                       const std::vector<OutputTensor>& captured, const NameAttrList& attached) {
    passed.insert(passed.end(), captured.begin(), captured.end());
    const bool remains = passed[0].node == node;
    std::vector<NodeBuilder::NodeOut> inputs;
    for (const OutputTensor& tensor : passed) inputs.emplace_back(tensor.node, tensor.index);
    NodeBuilder builder(remains ? absl::StrCat(node->name(), "_custom_gradient") : node->name(),
                        "IdentityN");
    builder.Input(inputs).Device(node->requested_device()).Attr(kAttached, attached);
    if (!remains) {
      for (const auto& [name, value] : node->attrs()) {
        if (name != "T" && name != "_output_shapes") builder.Attr(name, value);
      }
    }
    std::vector<Edge> out;
    for (const Edge* edge : node->out_edges()) out.push_back(*edge);
    Node* made = nullptr;
    TF_RETURN_IF_ERROR(builder.Finalize(graph_, &made));
    made->set_assigned_device_name(node->assigned_device_name());
    for (const Edge& edge : out) {
      if (!edge.IsControlEdge()) {
        TF_RETURN_IF_ERROR(
            graph_->UpdateEdge(made, edge.src_output(), edge.dst(), edge.dst_input()));
      } else if (!remains) {
        graph_->AddControlEdge(made, edge.dst());
      }
    }
    if (remains) return absl::OkStatus();
    for (const Edge* edge : node->in_edges()) {
      if (edge->IsControlEdge()) graph_->AddControlEdge(edge->src(), made);
    }
    std::replace(body_->control_ret_nodes.begin(), body_->control_ret_nodes.end(), node, made);
    nodes_[node->name()] = made;
    graph_->RemoveNode(node);
    return absl::OkStatus();
  }

  const FunctionLibraryDefinition& library_;
  const FunctionDef& record_;
  FunctionBody* const body_;
  Graph* const graph_;
  std::map<std::string, Node*> nodes_;
};

// The arguments of the gradient: the upstream gradients, with zeros for missing ones, and what was
// captured.
absl::StatusOr<Outputs> Arguments(const Operation& op, const Outputs& upstream, int num_upstream,
                                  int num_captures, GradientNodes* nodes) {
  Outputs arguments(upstream.begin(), upstream.begin() + num_upstream);
  for (int i = 0; i < num_upstream; ++i) {
    if (arguments[i].node() == nullptr) {
      TF_ASSIGN_OR_RETURN(arguments[i], nodes->ZerosLike(op.output(i)));
    }
  }
  for (int i = op.num_inputs() - num_captures; i < op.num_inputs(); ++i) {
    arguments.push_back(op.input(i));
  }
  return arguments;
}

absl::Status AddCall(const Scope& scope, const Operation& op, const Outputs& upstream,
                     GradientNodes* nodes, Outputs* gradients) {
  gradients->assign(op.num_inputs(), tensorflow::NoGradient());
  NameAttrList attached;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(op.node()->attrs(), kAttached, &attached));
  int num_captures = 0;
  std::vector<int> results;
  TF_RETURN_IF_ERROR(Get(kNumCaptures, attached, &num_captures));
  TF_RETURN_IF_ERROR(Get(kResults, attached, &results));
  const auto function = scope.graph()->flib_def().FindRecord(attached.name());
  if (!function) {
    return absl::NotFoundError(
        absl::StrCat("its gradient '", attached.name(), "' is not in the graph's library"));
  }
  DataTypeVector types;
  for (const auto& result : function->fdef().signature().output_arg()) {
    types.push_back(result.type());
  }
  if (types.empty()) return absl::OkStatus();
  const int num_upstream = function->fdef().signature().input_arg_size() - num_captures;
  const auto is_input = [&](int i) { return i >= 0 && i < op.num_inputs(); };
  // The attribute may come from a graph that another program wrote.
  if (num_captures < 0 || num_captures > op.num_inputs() || num_upstream < 0 ||
      num_upstream > op.num_outputs() || results.size() != types.size() ||
      !std::all_of(results.begin(), results.end(), is_input)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its attribute '", kAttached, "' does not fit the gradient '", attached.name(), "'"));
  }
  TF_ASSIGN_OR_RETURN(const Outputs arguments,
                      Arguments(op, upstream, num_upstream, num_captures, nodes));
  NameAttrList f;
  f.set_name(attached.name());
  NodeBuilder builder = nodes->New("call", "StatefulPartitionedCall");
  builder.Input(NodeOuts(arguments)).Attr("Tout", types).Attr("f", f);
  TF_ASSIGN_OR_RETURN(Node * call, nodes->Add(builder));
  for (size_t k = 0; k < types.size(); ++k) {
    const int input = results[k];
    if (!IsDifferentiable(types[k]) || !IsDifferentiable(op.input_type(input))) continue;
    if (types[k] != op.input_type(input)) {
      return absl::InvalidArgumentError(
          absl::StrCat("result ", k, " of its gradient '", attached.name(), "' is of type ",
                       tensorflow::DataTypeString(types[k]), ", but input ", input, " is of type ",
                       tensorflow::DataTypeString(op.input_type(input))));
    }
    TF_ASSIGN_OR_RETURN((*gradients)[input], nodes->WrapInIdentity(Output(call, k)));
  }
  return absl::OkStatus();
}

}  // namespace

FunctionDef MakeRecord(const std::string& name, const std::vector<CustomGradient>& gradients,
                       const std::vector<NodeDef>& sources) {
  FunctionDef record;
  record.mutable_signature()->set_name(RecordName(name));
  for (const NodeDef& source : sources) *record.add_node_def() = source;
  for (const CustomGradient& gradient : gradients) {
    NodeDef* node = record.add_node_def();
    node->set_name(absl::StrCat("gradient_", record.node_def_size()));
    node->set_op("NoOp");
    *(*node->mutable_attr())[kRecorded].mutable_func() = Encode(gradient);
  }
  return record;
}

absl::Status CopyRecords(const FunctionLibraryDefinition& library,
                         FunctionLibraryDefinition* reachable) {
  std::vector<std::string> names = reachable->ListFunctionNames();
  while (!names.empty()) {
    const std::string record_name = RecordName(names.back());
    names.pop_back();
    const auto record = library.FindRecord(record_name);
    if (!record || reachable->Contains(record_name)) continue;
    TF_RETURN_IF_ERROR(reachable->AddFunctionDef(record->fdef()));
    TF_ASSIGN_OR_RETURN(const auto gradients, GradientsOf(record->fdef()));
    for (const CustomGradient& gradient : gradients) {
      if (!gradient.problem.empty() || reachable->Contains(gradient.function)) continue;
      TF_ASSIGN_OR_RETURN(const FunctionLibraryDefinition needed,
                          library.ReachableDefinitions(gradient.function));
      std::vector<std::string> more = needed.ListFunctionNames();
      more.push_back(gradient.function);
      for (const std::string& name : more) {
        if (reachable->Contains(name)) continue;
        TF_RETURN_IF_ERROR(reachable->CopyFunctionDefFrom(name, library));
        names.push_back(name);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FunctionBody>> BodyWithGradients(
    const FunctionLibraryDefinition& library, const FunctionDef& definition,
    const NameAttrList& function) {
  std::unique_ptr<FunctionBody> body;
  TF_RETURN_IF_ERROR(tensorflow::FunctionDefToBodyHelper(definition, AttrSlice(&function.attr()),
                                                         &library, &body));
  const auto record = library.FindRecord(RecordName(function.name()));
  if (!record) return body;
  TF_ASSIGN_OR_RETURN(const auto gradients, GradientsOf(record->fdef()));
  Attacher attacher(library, record->fdef(), body.get());
  for (const CustomGradient& gradient : gradients) {
    TF_RETURN_IF_ERROR(attacher.Attach(gradient));
  }
  return body;
}

absl::Status CheckNamedGradient(const Node& node) {
  if (HasAttachedGradient(node)) return absl::OkStatus();
  return CheckNamesNoGradient(absl::StrCat("node '", node.name(), "'"), node.attrs());
}

absl::Status CheckNamedGradients(const NodeSet& between) {
  for (const Node* node : between) {
    // A gradient that ends at an output of the node does not need that of the node.
    const auto& edges = node->in_edges();
    const bool needed = std::any_of(edges.begin(), edges.end(), [&](const Edge* edge) {
      return !edge->IsControlEdge() && between.count(edge->src()) > 0;
    });
    if (needed) TF_RETURN_IF_ERROR(CheckNamedGradient(*node));
  }
  return absl::OkStatus();
}

bool HasAttachedGradient(const Node& node) { return node.attrs().Find(kAttached) != nullptr; }

absl::Status AddAttachedGradient(const Scope& scope, const Operation& op, const Outputs& upstream,
                                 Outputs* gradients) {
  GradientNodes nodes(scope, op);
  return nodes.Finish(AddCall(scope, op, upstream, &nodes, gradients));
}

}  // namespace tensorflow_ext
