#include "tensorflow_ext/gradient/c_api/client_graph.h"

#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/c/c_api_internal.h"
#include "tensorflow/c/tf_status_helper.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow_ext/gradient/c_api/add_gradients.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"

namespace tensorflow_ext {

using tensorflow::GraphDef;
using tensorflow::Node;
using tensorflow::OutputTensor;
using tensorflow::TensorId;

namespace {

// The node of that name, or an error.
absl::StatusOr<Node*> FindNode(const TF_Graph& graph, absl::string_view name) {
  const auto found = graph.name_map.find(std::string(name));
  if (found != graph.name_map.end()) return found->second;
  return absl::InternalError(absl::StrCat("no node '", name, "' in the graph"));
}

}  // namespace

std::mutex& OneRewriteAtATime() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

absl::StatusOr<std::vector<OutputTensor>> OutputTensors(TF_Graph* graph, const char* name,
                                                        const TF_Output* tensors, int n) {
  TF_RETURN_IF_ERROR(CheckArray(name, tensors, n));
  std::vector<OutputTensor> result;
  tensorflow::mutex_lock lock(graph->mu);
  for (int k = 0; k < n; ++k) {
    if (tensors[k].oper == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, "[", k, "]: its operation is NULL; expected one of the graph"));
    }
    Node* node = &tensors[k].oper->node;
    if (!graph->graph.IsValidNode(node).ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, "[", k, "]: operation '", node->name(),
                       "' belongs to another graph; expected one of this graph"));
    }
    if (tensors[k].index < 0 || tensors[k].index >= node->num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, "[", k, "]: operation '", node->name(), "' of type ", node->type_string(), " has ",
          node->num_outputs(), " outputs, but output ", tensors[k].index, " was requested"));
    }
    result.emplace_back(node, tensors[k].index);
  }
  return result;
}

absl::Status ImportNodes(TF_Graph* graph, const GraphDef& nodes) {
  const Owned<TF_ImportGraphDefOptions, TF_DeleteImportGraphDefOptions> options(
      TF_NewImportGraphDefOptions());
  std::set<std::string> own, mapped;
  for (const auto& node : nodes.node()) own.insert(node.name());
  {
    tensorflow::mutex_lock lock(graph->mu);
    for (const auto& node : nodes.node()) {
      for (const std::string& input : node.input()) {
        const TensorId id = tensorflow::ParseTensorName(input);
        const std::string source(id.node());
        if (own.count(source) > 0 || !mapped.insert(input).second) continue;
        TF_ASSIGN_OR_RETURN(Node * found, FindNode(*graph, source));
        if (id.index() < 0) {
          TF_ImportGraphDefOptionsRemapControlDependency(options.get(), source.c_str(),
                                                         ToTfOutput({found, 0}).oper);
        } else {
          TF_ImportGraphDefOptionsAddInputMapping(options.get(), source.c_str(), id.index(),
                                                  ToTfOutput({found, id.index()}));
        }
      }
    }
  }
  const std::string bytes = nodes.SerializeAsString();
  const Owned<TF_Buffer, TF_DeleteBuffer> buffer(
      TF_NewBufferFromString(bytes.data(), bytes.size()));
  const Owned<TF_Status, TF_DeleteStatus> status(TF_NewStatus());
  TF_GraphImportGraphDef(graph, buffer.get(), options.get(), status.get());
  return tensorflow::StatusFromTF_Status(status.get());
}

absl::StatusOr<std::vector<TF_Output>> FindTensors(TF_Graph* graph,
                                                   const std::vector<std::string>& names) {
  std::vector<TF_Output> found;
  tensorflow::mutex_lock lock(graph->mu);
  for (const std::string& name : names) {
    const TensorId id = tensorflow::ParseTensorName(name);
    TF_ASSIGN_OR_RETURN(Node * node, FindNode(*graph, id.node()));
    found.push_back(ToTfOutput({node, id.index()}));
  }
  return found;
}

}  // namespace tensorflow_ext
