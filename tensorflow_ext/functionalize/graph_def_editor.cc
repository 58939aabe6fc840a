#include "tensorflow_ext/functionalize/graph_def_editor.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace tensorflow_ext {

using tensorflow::NodeDef;

GraphDefEditor::GraphDefEditor(tensorflow::GraphDef* graph) : graph_(graph) {
  for (NodeDef& node : *graph->mutable_node()) {
    nodes_[node.name()] = &node;
    for (int i = 0; i < node.input_size(); ++i) {
      const tensorflow::TensorId id = tensorflow::ParseTensorName(node.input(i));
      const std::string source(id.node());
      if (id.index() < 0) {
        ++num_controls_[source];
      } else {
        uses_[{source, id.index()}].emplace_back(&node, i);
      }
    }
  }
}

std::vector<NodeDef*> GraphDefEditor::Nodes() const {
  std::vector<NodeDef*> nodes;
  for (NodeDef& node : *graph_->mutable_node()) nodes.push_back(&node);
  return nodes;
}

NodeDef* GraphDefEditor::Find(absl::string_view name) const {
  const auto found = nodes_.find(std::string(name));
  return found == nodes_.end() ? nullptr : found->second;
}

const std::vector<GraphDefEditor::Use>& GraphDefEditor::Uses(const TensorName& tensor) const {
  static const auto* none = new std::vector<Use>;
  const auto found = uses_.find(tensor);
  return found == uses_.end() ? *none : found->second;
}

bool GraphDefEditor::IsControl(const std::string& node) const {
  return num_controls_.count(node) > 0;
}

absl::Status GraphDefEditor::CheckInputs(const NodeDef& node, int count) const {
  int found = 0;
  while (found < node.input_size() && !absl::StartsWith(node.input(found), "^")) ++found;
  if (found == count) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("node '", node.name(), "' of op ", node.op(),
                                                 ": expected ", count, " inputs, got ", found));
}

void GraphDefEditor::Become(NodeDef* node, const char* op, const std::vector<std::string>& inputs) {
  std::vector<std::string> all = inputs;
  for (const std::string& input : node->input()) {
    if (absl::StartsWith(input, "^")) all.push_back(input);
  }
  node->set_op(op);
  node->clear_input();
  for (const std::string& input : all) node->add_input(input);
  std::vector<std::string> old;
  for (const auto& [name, value] : node->attr()) {
    if (!absl::StartsWith(name, "_") || name == "_output_shapes") old.push_back(name);
  }
  for (const std::string& name : old) node->mutable_attr()->erase(name);
}

NodeDef* GraphDefEditor::Add(const NodeDef& owner, const char* name, const char* op,
                             const std::vector<std::string>& inputs) {
  std::string unique = absl::StrCat(owner.name(), "/", name);
  while (nodes_.count(unique) > 0) absl::StrAppend(&unique, "_");
  NodeDef* node = graph_->add_node();
  node->set_name(unique);
  node->set_op(op);
  node->set_device(owner.device());
  for (const std::string& input : inputs) node->add_input(input);
  nodes_[unique] = node;
  return node;
}

std::vector<NodeDef*> GraphDefEditor::RemoveUnused(const std::set<NodeDef*>& nodes) {
  std::unordered_map<std::string, int> num_uses;
  const auto count = [&](const NodeDef& node, int by) {
    for (const std::string& input : node.input()) {
      num_uses[std::string(tensorflow::ParseTensorName(input).node())] += by;
    }
  };
  for (const NodeDef& node : graph_->node()) count(node, 1);
  std::set<NodeDef*> left = nodes, removed;
  for (bool changed = true; changed;) {
    changed = false;
    for (NodeDef* node : nodes) {
      if (left.count(node) == 0 || num_uses[node->name()] > 0) continue;
      count(*node, -1);
      left.erase(node);
      removed.insert(node);
      nodes_.erase(node->name());
      changed = true;
    }
  }
  KeepNodes([&](NodeDef& node) { return removed.count(&node) == 0; }, graph_);
  return {left.begin(), left.end()};
}

void GraphDefEditor::SetType(NodeDef* node, const char* attribute, tensorflow::DataType type) {
  (*node->mutable_attr())[attribute].set_type(type);
  node->mutable_attr()->erase("_output_shapes");
}

}  // namespace tensorflow_ext
