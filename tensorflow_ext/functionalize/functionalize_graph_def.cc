#include "tensorflow_ext/functionalize/functionalize_graph_def.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow_ext/base/parse_message.h"
#include "tensorflow_ext/functionalize/graph_def_editor.h"
#include "tensorflow_ext/functionalize/loops_to_functions.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"

namespace tensorflow_ext {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

absl::Status NoOutput(const std::string& output, const char* expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      "outputs: '", output, "' is no tensor and no node of the graph; ", "expected ", expected));
}

// kInvalidArgument if the node has no output of that index. Functions called by name are not
// checked.
absl::Status CheckIndex(const NodeDef& node, int index, const std::string& output) {
  const tensorflow::OpDef* op = nullptr;
  if (!tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &op).ok()) return absl::OkStatus();
  int count = 0;
  if (!tensorflow::NumOutputsForNode(node, *op, &count).ok() || index < count) {
    return absl::OkStatus();
  }
  return NoOutput(output, "an index below the number of the node's outputs");
}

// Removes the nodes that do not lead to the outputs.
absl::Status Prune(const std::vector<std::string>& outputs, GraphDef* graph) {
  std::unordered_map<std::string, const NodeDef*> nodes;
  for (const NodeDef& node : graph->node()) nodes[node.name()] = &node;
  std::unordered_set<std::string> needed;
  std::vector<const NodeDef*> stack;
  const auto need = [&](const std::string& name) {
    const auto found = nodes.find(name);
    if (found == nodes.end()) return false;
    if (needed.insert(name).second) stack.push_back(found->second);
    return true;
  };
  for (const std::string& output : outputs) {
    const tensorflow::TensorId id = tensorflow::ParseTensorName(output);
    const std::string name(id.node());
    if (id.index() < 0 || !need(name)) return NoOutput(output, "\"node:index\" or \"node\"");
    if (name != output) TF_RETURN_IF_ERROR(CheckIndex(*nodes[name], id.index(), output));
  }
  while (!stack.empty()) {
    const NodeDef* node = stack.back();
    stack.pop_back();
    for (const std::string& input : node->input()) {
      const std::string source(tensorflow::ParseTensorName(input).node());
      if (need(source)) continue;
      return absl::InvalidArgumentError(absl::StrCat("graph_def: node '", node->name(),
                                                     "' has the input '", input,
                                                     "', which is not in the graph"));
    }
  }
  KeepNodes([&](const NodeDef& node) { return needed.count(node.name()) > 0; }, graph);
  return absl::OkStatus();
}

// kInvalidArgument if an output is gone, because it was in a loop.
absl::Status CheckKept(const std::vector<std::string>& outputs, const GraphDef& graph) {
  std::unordered_set<std::string> names;
  for (const NodeDef& node : graph.node()) names.insert(node.name());
  for (const std::string& output : outputs) {
    if (names.count(std::string(tensorflow::ParseTensorName(output).node())) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "outputs: '", output, "' is in a loop of TensorFlow 1; expected results of loops"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Functionalize(const void* bytes, size_t length, const char* outputs) {
  TF_ASSIGN_OR_RETURN(GraphDef graph,
                      ParseMessage<GraphDef>("graph_def: expected a serialized tensorflow.GraphDef",
                                             bytes, length));
  const std::vector<std::string> kept =
      absl::StrSplit(outputs == nullptr ? "" : outputs, '\n', absl::SkipEmpty());
  if (outputs != nullptr) TF_RETURN_IF_ERROR(Prune(kept, &graph));
  if (HasLoops(graph)) {
    TF_RETURN_IF_ERROR(LoopsToFunctions(&graph));
    TF_RETURN_IF_ERROR(CheckKept(kept, graph));
  }
  std::string functional;
  if (!tensorflow::SerializeToStringDeterministic(graph, &functional)) {
    return absl::ResourceExhaustedError("graph_def: the result is larger than 2 GiB");
  }
  return functional;
}

}  // namespace
}  // namespace tensorflow_ext

extern "C" void TfExt_FunctionalizeGraphDef(const void* graph_def, size_t graph_def_length,
                                            const char* outputs, TF_Buffer* functional,
                                            TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckEmpty(functional));
    TF_ASSIGN_OR_RETURN(const std::string bytes,
                        tensorflow_ext::Functionalize(graph_def, graph_def_length, outputs));
    return tensorflow_ext::Write(bytes, functional);
  });
}
