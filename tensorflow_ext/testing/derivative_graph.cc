#include "tensorflow_ext/testing/derivative_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow/core/platform/statusor.h"
#include "tensorflow_ext/testing/real_numbers.h"

namespace tensorflow_ext {
namespace {

using tensorflow::GraphDef;
using tensorflow::Node;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;
using Named = DerivativeGraph::Named;

std::string NodeOf(const std::string& name) {
  const auto id = tensorflow::ParseTensorName(name.compare(0, 1, "^") == 0 ? name.substr(1) : name);
  return std::string(id.node());
}

absl::Status Import(const GraphDef& graph_def, const Scope& scope) {
  tensorflow::ImportGraphDefOptions options;
  TF_RETURN_IF_ERROR(
      tensorflow::ImportGraphDef(options, graph_def, scope.graph(), /*refiner=*/nullptr));
  std::vector<Node*> order;
  tensorflow::GetReversePostOrder(*scope.graph(), &order);
  for (Node* node : order) {
    if (node->IsOp()) TF_RETURN_IF_ERROR(scope.DoShapeInference(node));
  }
  return absl::OkStatus();
}

std::string UnusedPrefix(const GraphDef& graph_def) {
  std::string prefix = "check_gradient";
  const auto is_used = [&](const auto& node) { return absl::StartsWith(node.name(), prefix); };
  while (absl::c_any_of(graph_def.node(), is_used)) prefix += "_";
  return prefix;
}

// The nodes that `outputs` are computed from, by id.
std::set<int> Ancestors(const std::vector<Output>& outputs) {
  std::vector<const Node*> open;
  std::set<int> seen;
  for (const Output& output : outputs) open.push_back(output.node());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node->id()).second) continue;
    for (const tensorflow::Edge* edge : node->in_edges()) {
      if (!edge->IsControlEdge()) open.push_back(edge->src());
    }
  }
  return seen;
}

// Calls AddSymbolicGradients, which refuses sources that lead to no output.
absl::StatusOr<std::vector<Output>> AddGradients(const Scope& scope,
                                                 const std::vector<Output>& outputs,
                                                 const std::vector<Output>& sources,
                                                 const std::vector<Output>& upstreams) {
  const std::set<int> ancestors = Ancestors(outputs);
  std::vector<Output> reached, found;
  for (const Output& source : sources) {
    if (ancestors.count(source.node()->id())) reached.push_back(source);
  }
  if (!reached.empty()) {
    TF_RETURN_IF_ERROR(
        tensorflow::AddSymbolicGradients(scope, outputs, reached, upstreams, &found));
  }
  std::vector<Output> gradients;
  auto next = found.begin();
  for (const Output& source : sources) {
    const bool there = ancestors.count(source.node()->id()) > 0;
    gradients.push_back(there ? *next++ : tensorflow::NoGradient());
  }
  return gradients;
}

bool IsThere(const Output& gradient) { return gradient.node() != nullptr && gradient.index() >= 0; }

std::vector<Named> GradientNames(const std::vector<Output>& gradients,
                                 const std::vector<Named>& sources) {
  std::vector<Named> named;
  for (size_t k = 0; k < gradients.size(); ++k) {
    named.push_back({IsThere(gradients[k]) ? gradients[k].name() : "",
                     absl::StrCat("gradient for ", sources[k].title)});
  }
  return named;
}

// Adds one order: `sources` and `outputs` become those of the next.
absl::StatusOr<DerivativeGraph::Order> AddOrder(const Scope& scope,
                                                const std::vector<Named>& source_names,
                                                const std::vector<Named>& output_names,
                                                std::vector<Output>* sources,
                                                std::vector<Output>* outputs) {
  DerivativeGraph::Order order{source_names, output_names};
  std::vector<Output> ends, upstreams;
  for (const Output& output : *outputs) {
    // AddSymbolicGradients is wrong if one output leads to another.
    ends.push_back(tensorflow::ops::Identity(scope, output));
    upstreams.push_back(tensorflow::ops::Placeholder(scope.WithOpName("upstream"), output.type()));
    order.upstreams.push_back(upstreams.back().name());
  }
  TF_RETURN_IF_ERROR(scope.status());
  TF_ASSIGN_OR_RETURN(const std::vector<Output> gradients,
                      AddGradients(scope, ends, *sources, upstreams));
  order.gradients = GradientNames(gradients, source_names);
  for (size_t k = 0; ends.size() > 1 && k < ends.size(); ++k) {
    TF_ASSIGN_OR_RETURN(const std::vector<Output> alone,
                        AddGradients(scope, {ends[k]}, *sources, {upstreams[k]}));
    order.alone.push_back(GradientNames(alone, source_names));
  }
  sources->insert(sources->end(), upstreams.begin(), upstreams.end());
  outputs->clear();
  for (const Output& gradient : gradients) {
    if (IsThere(gradient)) outputs->push_back(gradient);
  }
  return order;
}

absl::Status FindAll(const Scope& scope, const std::vector<Named>& names,
                     std::vector<Output>* found) {
  const auto nodes = scope.graph()->BuildNodeNameIndex();
  for (const Named& name : names) {
    const auto id = tensorflow::ParseTensorName(name.tensor);
    const auto node = nodes.find(std::string(id.node()));
    if (node == nodes.end()) {
      return absl::InternalError(absl::StrCat(name.tensor, " was not copied"));
    }
    found->emplace_back(node->second, id.index());
  }
  return absl::OkStatus();
}

bool IsNarrow(tensorflow::DataType dtype) { return Widened(dtype) != dtype; }

void WidenAttribute(tensorflow::AttrValue* attribute) {
  if (attribute->has_list()) {
    for (int& type : *attribute->mutable_list()->mutable_type()) {
      type = Widened(static_cast<tensorflow::DataType>(type));
    }
  } else if (attribute->value_case() == tensorflow::AttrValue::kType) {
    attribute->set_type(Widened(attribute->type()));
  } else if (attribute->value_case() == tensorflow::AttrValue::kTensor &&
             IsNarrow(attribute->tensor().dtype())) {
    Tensor tensor;
    if (tensor.FromProto(attribute->tensor())) {
      Widen(tensor).AsProtoTensorContent(attribute->mutable_tensor());
    }
  }
}

}  // namespace

GraphDef InDouble(const GraphDef& graph_def, const std::vector<std::string>& names) {
  std::map<std::string, const tensorflow::NodeDef*> nodes;
  for (const auto& node : graph_def.node()) nodes[node.name()] = &node;
  std::set<std::string> needed;
  std::vector<std::string> open;
  for (const std::string& name : names) open.push_back(NodeOf(name));
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (nodes.count(name) == 0 || !needed.insert(name).second) continue;
    for (const std::string& input : nodes[name]->input()) {
      open.push_back(NodeOf(input));
    }
  }
  GraphDef wide;
  *wide.mutable_versions() = graph_def.versions();
  *wide.mutable_library() = graph_def.library();
  for (const auto& node : graph_def.node()) {
    if (needed.count(node.name()) == 0) continue;
    tensorflow::NodeDef* copy = wide.add_node();
    *copy = node;
    for (auto& attribute : *copy->mutable_attr()) {
      WidenAttribute(&attribute.second);
    }
  }
  return wide;
}

absl::StatusOr<std::unique_ptr<DerivativeGraph>> DerivativeGraph::Create(
    const GraphDef& graph_def, std::vector<Named> sources, std::vector<Named> outputs, int order,
    const std::vector<std::string>& initializers) {
  const Scope root = Scope::NewRootScope();
  TF_RETURN_IF_ERROR(Import(graph_def, root));
  // A scope does not know the names of imported nodes.
  const Scope scope = root.NewSubScope(UnusedPrefix(graph_def));
  std::vector<Output> from, to;
  TF_RETURN_IF_ERROR(FindAll(scope, sources, &from));
  TF_RETURN_IF_ERROR(FindAll(scope, outputs, &to));
  std::unique_ptr<DerivativeGraph> graph(new DerivativeGraph());
  for (int k = 1; k <= order && !to.empty(); ++k) {
    auto added = AddOrder(scope, sources, outputs, &from, &to);
    if (!added.ok()) {
      graph->failure_ = added.status();
      break;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      sources.push_back({added->upstreams[i], absl::StrCat("upstream of ", outputs[i].title)});
    }
    outputs.clear();
    for (const Named& gradient : added->gradients) {
      if (!gradient.tensor.empty()) outputs.push_back(gradient);
    }
    graph->orders_.push_back(*std::move(added));
  }
  GraphDef whole;
  TF_RETURN_IF_ERROR(scope.ToGraphDef(&whole));
  graph->session_.reset(tensorflow::NewSession(tensorflow::SessionOptions()));
  TF_RETURN_IF_ERROR(graph->session_->Create(whole));
  if (!initializers.empty()) {
    TF_RETURN_IF_ERROR(graph->session_->Run({}, {}, initializers, /*outputs=*/nullptr));
  }
  return graph;
}

absl::StatusOr<std::vector<Tensor>> DerivativeGraph::Run(
    const Feeds& feeds, const std::vector<std::string>& fetches) const {
  std::vector<Tensor> fetched;
  if (fetches.empty()) return fetched;
  TF_RETURN_IF_ERROR(session_->Run(feeds, fetches, {}, &fetched));
  return fetched;
}

}  // namespace tensorflow_ext
