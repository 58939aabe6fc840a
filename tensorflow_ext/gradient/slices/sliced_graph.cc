#include "tensorflow_ext/gradient/slices/sliced_graph.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"
#include "tensorflow_ext/gradient/functions/node_copies.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"
#include "tensorflow_ext/gradient/slices/sliced_function.h"

namespace tensorflow_ext {

using tensorflow::AttrValue;
using tensorflow::DataType;
using tensorflow::DT_INVALID;
using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeDef;
using tensorflow::OutputTensor;

namespace {

constexpr int kTensorsOfRows = 3;

// The attributes that name the functions of a call: of type func or list(func).
std::vector<std::string> FunctionsOf(const Node& call) {
  if (call.IsPartitionedCall()) return {"f"};
  if (call.IsIfNode()) return {"then_branch", "else_branch"};
  return {"branches"};
}

std::vector<OutputTensor> InputsOf(const Node& node) {
  std::vector<OutputTensor> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) inputs.push_back(InputOf(node, i));
  return inputs;
}

// The tensors that the rows of a term are made from.
std::vector<OutputTensor> NeededFor(const Term& term) {
  // The functions of a call take its inputs.
  std::vector<OutputTensor> needed = InputsOf(*term.node);
  const auto add = [&needed](const Node* node) {
    if (node == nullptr) return;
    const std::vector<OutputTensor> inputs = InputsOf(*node);
    needed.insert(needed.end(), inputs.begin() + 1, inputs.end());
  };
  add(term.reshape);
  return needed;
}

}  // namespace

SlicedGraph::SlicedGraph(Graph* graph, Functions* functions)
    : graph_(graph), functions_(functions), nodes_(graph, FreshPrefix(*graph, "slices")) {}

SlicedGraph::~SlicedGraph() = default;

absl::StatusOr<Terms> SlicedGraph::Find(const Tensor& gradient) {
  return FindTerms(gradient, [this](const Tensor& result) { return FindResult(result); });
}

absl::StatusOr<SlicedGraph::Branches*> SlicedGraph::BranchesOf(const Node& call) {
  Branches& branches = branches_[&call];
  if (!branches.empty()) return &branches;
  for (const std::string& attribute : FunctionsOf(call)) {
    const AttrValue* value = call.attrs().Find(attribute);
    if (value == nullptr) continue;
    std::vector<NameAttrList> functions(value->list().func().begin(), value->list().func().end());
    if (value->has_func()) functions.push_back(value->func());
    for (const NameAttrList& function : functions) {
      TF_ASSIGN_OR_RETURN(auto read, SlicedFunction::Read(function, functions_));
      branches.push_back(std::move(read));
    }
  }
  return &branches;
}

absl::StatusOr<Terms> SlicedGraph::FindResult(const Tensor& result) {
  TF_ASSIGN_OR_RETURN(Branches * branches, BranchesOf(*result.node));
  Terms common;
  for (const auto& branch : *branches) {
    TF_ASSIGN_OR_RETURN(const Terms found, branch->FindResult(result.index));
    if (common.dense.empty()) common.dense = found.dense;
    common.index_type = CommonIndexType(common.index_type, found.index_type);
  }
  return common;
}

absl::Status SlicedGraph::ReplaceCalls(const std::vector<Terms>& sliced,
                                       std::vector<Tensor>* dense) {
  std::vector<Tensor> needed = *dense;
  std::vector<const Node*> ends;
  for (const Terms& gradient : sliced) {
    ends.insert(ends.end(), gradient.waits.begin(), gradient.waits.end());
    for (const Term& term : gradient.terms) {
      const std::vector<Tensor> inputs = NeededFor(term);
      needed.insert(needed.end(), inputs.begin(), inputs.end());
      if (term.kind != Term::kCall) continue;
      Replaced& replaced = replaced_[term.node->id()];
      replaced.call = term.node;
      replaced.sliced.insert(term.index);
    }
  }
  for (const Tensor& tensor : needed) ends.push_back(tensor.node);
  const NodeSet leading = LeadingTo(ends, /*follow_controls=*/true);
  for (auto& [id, replaced] : replaced_) {
    for (const Tensor& tensor : needed) {
      if (tensor.node == replaced.call) replaced.kept.insert(tensor.index);
    }
    for (const Edge* edge : replaced.call->out_edges()) {
      if (edge->IsControlEdge() || leading.count(edge->dst()) == 0) continue;
      replaced.kept.insert(edge->src_output());
    }
    for (int output : replaced.sliced) {
      TF_ASSIGN_OR_RETURN(const Terms found, FindResult(Tensor(replaced.call, output)));
      replaced.index_types.push_back(CommonIndexType(found.index_type, tensorflow::DT_INT32));
    }
  }
  for (auto& [id, replaced] : replaced_) TF_RETURN_IF_ERROR(Replace(&replaced));
  for (Tensor& tensor : *dense) tensor = Current(tensor);
  return absl::OkStatus();
}

absl::Status SlicedGraph::Replace(Replaced* replaced) {
  Node* const call = replaced->call;
  std::vector<NameAttrList> functions;
  TF_ASSIGN_OR_RETURN(Branches * branches, BranchesOf(*call));
  for (const auto& branch : *branches) {
    TF_ASSIGN_OR_RETURN(const std::string name,
                        branch->Make(replaced->kept, replaced->sliced, replaced->index_types));
    functions.push_back(Named(name));
  }
  NodeDef def = call->def();
  def.set_name(nodes_.NewName(call->name()));
  auto& attributes = *def.mutable_attr();
  AttrValue types;
  for (int output : replaced->kept) types.mutable_list()->add_type(call->output_type(output));
  size_t k = 0;
  for (int output : replaced->sliced) {
    const DataType index_type = replaced->index_types[k++];
    types.mutable_list()->add_type(call->output_type(output));
    types.mutable_list()->add_type(index_type);
    types.mutable_list()->add_type(index_type);
  }
  attributes["Tout"] = types;
  size_t next = 0;
  for (const std::string& attribute : FunctionsOf(*call)) {
    AttrValue& value = attributes[attribute];
    if (value.has_func()) {
      *value.mutable_func() = functions[next++];
    } else {
      for (auto& function : *value.mutable_list()->mutable_func()) function = functions[next++];
    }
  }
  // The shapes of the old outputs.
  attributes.erase("_output_shapes");
  if (attributes.count("output_shapes") > 0) {
    attributes["output_shapes"].mutable_list()->clear_shape();
  }
  TF_ASSIGN_OR_RETURN(Node * made, graph_->AddNode(std::move(def)));
  replaced->replacement = made;
  made->set_assigned_device_name(call->assigned_device_name());
  for (const Edge* edge : call->in_edges()) {
    if (edge->IsControlEdge()) {
      graph_->AddControlEdge(edge->src(), made);
    } else {
      graph_->AddEdge(edge->src(), edge->src_output(), made, edge->dst_input());
    }
  }
  const std::vector<const Edge*> edges(call->out_edges().begin(), call->out_edges().end());
  for (const Edge* edge : edges) {
    Node* const user = edge->dst();
    const int input = edge->dst_input();
    if (!user->IsOp()) continue;
    if (edge->IsControlEdge()) {
      graph_->RemoveControlEdge(edge);
      graph_->AddControlEdge(made, user);
    } else if (replaced->kept.count(edge->src_output()) > 0) {
      const Tensor current = Current(Tensor(call, edge->src_output()));
      graph_->RemoveEdge(edge);
      graph_->AddEdge(current.node, current.index, user, input);
    }
  }
  return absl::OkStatus();
}

SlicedGraph::Tensor SlicedGraph::Current(const Tensor& tensor) const {
  const auto found = replaced_.find(tensor.node->id());
  if (found == replaced_.end() || found->second.call != tensor.node) return tensor;
  const std::set<int>& kept = found->second.kept;
  const int place = std::distance(kept.begin(), kept.find(tensor.index));
  return Tensor(found->second.replacement, place);
}

absl::StatusOr<Rows> SlicedGraph::RowsOf(const Term& term, DataType index_type) {
  if (term.kind == Term::kScatter) return nodes_.OfScatter(*term.node, term.reshape, index_type);
  if (term.kind == Term::kZeros) return nodes_.OfZeros(*term.node, index_type);
  const Replaced& replaced = replaced_.at(term.node->id());
  const int place = std::distance(replaced.sliced.begin(), replaced.sliced.find(term.index));
  const int first = replaced.kept.size() + kTensorsOfRows * place;
  Node* const call = replaced.replacement;
  return Rows{Tensor(call, first), nodes_.Cast(Tensor(call, first + 1), index_type),
              nodes_.Cast(Tensor(call, first + 2), index_type)};
}

absl::StatusOr<Rows> SlicedGraph::AddRows(const Terms& terms, DataType index_type) {
  std::vector<const Term*> parts;
  for (const Term& term : terms.terms) {
    if (term.kind != Term::kZeros) parts.push_back(&term);
  }
  if (parts.empty()) parts.push_back(&terms.terms[0]);
  std::vector<Rows> rows;
  for (const Term* term : parts) {
    nodes_.SetDevice(term->node->requested_device());
    TF_ASSIGN_OR_RETURN(Rows one, RowsOf(*term, index_type));
    for (auto map = term->maps.rbegin(); map != term->maps.rend(); ++map) {
      one.values = nodes_.Map(*map, one.values);
    }
    rows.push_back(one);
  }
  Rows all = nodes_.Concat(rows);
  std::vector<Node*> waits;
  for (Node* node : terms.waits) waits.push_back(Current(Tensor(node, 0)).node);
  for (Tensor* tensor : {&all.values, &all.indices, &all.num_rows}) {
    *tensor = nodes_.After(waits, *tensor);
  }
  TF_RETURN_IF_ERROR(nodes_.status());
  return all;
}

}  // namespace tensorflow_ext
