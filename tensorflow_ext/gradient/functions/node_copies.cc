#include "tensorflow_ext/gradient/functions/node_copies.h"

#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow_ext/base/parse_message.h"

namespace tensorflow_ext {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::GraphDef;
using tensorflow::Node;
using tensorflow::NodeDef;
using tensorflow::OutputTensor;
using tensorflow::TensorId;

std::string FreshPrefix(const Graph& graph, const std::string& name) {
  std::unordered_set<std::string> taken;
  for (const Node* node : graph.op_nodes()) {
    taken.insert(node->name().substr(0, node->name().find('/')));
  }
  std::string prefix = name;
  for (int k = 1; taken.count(prefix) > 0; ++k) prefix = absl::StrCat(name, "_", k);
  return prefix;
}

NodeDef DefinitionWith(const Node& node, const std::string& name,
                       const std::function<std::string(const Edge&)>& source) {
  NodeDef def = node.def();
  def.set_name(name);
  def.mutable_attr()->erase("_class");
  def.clear_input();
  def.clear_experimental_debug_info();
  std::vector<std::string> inputs(node.num_inputs());
  std::vector<std::string> controls;
  for (const Edge* edge : node.in_edges()) {
    if (!edge->src()->IsOp()) continue;
    if (edge->IsControlEdge()) {
      controls.push_back(absl::StrCat("^", source(*edge)));
    } else {
      inputs[edge->dst_input()] = source(*edge);
    }
  }
  for (std::string& input : inputs) def.add_input(std::move(input));
  for (std::string& control : controls) def.add_input(std::move(control));
  return def;
}

absl::StatusOr<std::vector<OutputTensor>> ReadGraph(const void* graph_def, size_t length,
                                                    const char* argument,
                                                    const std::vector<std::string>& tensors,
                                                    Graph* graph) {
  TF_ASSIGN_OR_RETURN(GraphDef parsed,
                      ParseMessage<GraphDef>("graph_def: expected a serialized tensorflow.GraphDef",
                                             graph_def, length));
  TF_RETURN_IF_ERROR(tensorflow::ConvertGraphDefToGraph({}, std::move(parsed), graph));
  const auto nodes = graph->BuildNodeNameIndex();
  std::vector<OutputTensor> found;
  for (const std::string& tensor : tensors) {
    const TensorId id = tensorflow::ParseTensorName(tensor);
    const auto node = nodes.find(std::string(id.node()));
    if (node == nodes.end() || id.index() < 0 || id.index() >= node->second->num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          argument, ": '", tensor, "' is no tensor of the graph; expected \"node:index\""));
    }
    found.emplace_back(node->second, id.index());
  }
  return found;
}

}  // namespace tensorflow_ext
