// SPDX-License-Identifier: Apache-2.0
//
// The functions of c_api.h that work on a client's TF_Graph or GraphDef.

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tensorflow/c/c_api_internal.h"
#include "tensorflow/c/tf_status_helper.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/c_api.h"
#include "tensorflow_ext/gradient/c_api/add_gradients.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/gradient/functions/inlined_copy.h"

namespace tensorflow_ext {
namespace {

using tensorflow::Graph;
using tensorflow::GraphDef;
using tensorflow::Node;
using tensorflow::OutputTensor;
using tensorflow::TensorId;

// `tensors[k]` of argument `name` as an output of its node in `graph`.
absl::StatusOr<std::vector<OutputTensor>> OutputTensors(TF_Graph* graph, const char* name,
                                                        const TF_Output* tensors, int n) {
  if (n < 0 || (n > 0 && tensors == nullptr)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected an array of tensors and its length, got ",
                     tensors == nullptr ? "NULL" : "an array", " and ", n));
  }
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

// The node of that name, or an error.
absl::StatusOr<Node*> FindNode(const TF_Graph& graph, absl::string_view name) {
  const auto found = graph.name_map.find(std::string(name));
  if (found != graph.name_map.end()) return found->second;
  return absl::InternalError(absl::StrCat("no node '", name, "' in the graph"));
}

// Adds nodes whose inputs may be existing nodes of the graph.
absl::Status Import(TF_Graph* graph, const GraphDef& nodes) {
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

absl::Status InlineCallsOfGraph(TF_Graph* graph, const TF_Output* outputs, int n,
                                TF_Output* inlined) {
  TF_ASSIGN_OR_RETURN(const auto tensors, OutputTensors(graph, "outputs", outputs, n));
  // The names are new unless another call inlines at the same time.
  static std::mutex* one_at_a_time = new std::mutex;
  std::lock_guard<std::mutex> only(*one_at_a_time);
  InlinedCopy copy;
  {
    tensorflow::mutex_lock lock(graph->mu);
    TF_ASSIGN_OR_RETURN(copy, CopyInlined(graph->graph, tensors));
  }
  TF_RETURN_IF_ERROR(Import(graph, copy.nodes));
  std::vector<TF_Output> found;
  tensorflow::mutex_lock lock(graph->mu);
  for (const std::string& tensor : copy.tensors) {
    const TensorId id = tensorflow::ParseTensorName(tensor);
    TF_ASSIGN_OR_RETURN(Node * node, FindNode(*graph, id.node()));
    found.push_back(ToTfOutput({node, id.index()}));
  }
  std::copy(found.begin(), found.end(), inlined);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tensorflow_ext

extern "C" {

void TfExt_AddGradients(TF_Graph* graph, const char* prefix, TF_Output* y, int ny, TF_Output* x,
                        int nx, TF_Output* dx, TF_Status* status, TF_Output* dy,
                        TfExt_Unconnected unconnected) {
  using tensorflow_ext::OutputTensors;
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    if (graph == nullptr || ny < 1 || (nx > 0 && dy == nullptr)) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a graph, at least one y, and room for the gradients; got ",
                       graph == nullptr ? "NULL" : "a graph", ", ", ny, " and ",
                       dy == nullptr ? "NULL" : "an array"));
    }
    if (unconnected != TFEXT_UNCONNECTED_NONE && unconnected != TFEXT_UNCONNECTED_ZEROS) {
      return absl::InvalidArgumentError(
          absl::StrCat("unconnected: expected TFEXT_UNCONNECTED_NONE or "
                       "TFEXT_UNCONNECTED_ZEROS, got ",
                       static_cast<int>(unconnected)));
    }
    tensorflow_ext::HandOverNew();
    TF_ASSIGN_OR_RETURN(const auto ys, OutputTensors(graph, "y", y, ny));
    TF_ASSIGN_OR_RETURN(const auto xs, OutputTensors(graph, "x", x, nx));
    TF_ASSIGN_OR_RETURN(const auto upstream,
                        OutputTensors(graph, "dx", dx, dx == nullptr ? 0 : ny));
    TF_ASSIGN_OR_RETURN(const auto gradients,
                        tensorflow_ext::AddGradients(graph, prefix, ys, xs, upstream,
                                                     unconnected == TFEXT_UNCONNECTED_ZEROS));
    std::transform(gradients.begin(), gradients.end(), dy, tensorflow_ext::ToTfOutput);
    return absl::OkStatus();
  });
}

void TfExt_InlineCalls(TF_Graph* graph, const TF_Output* outputs, int n, TF_Output* inlined,
                       TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    if (graph == nullptr || (n > 0 && inlined == nullptr)) {
      return absl::InvalidArgumentError(absl::StrCat("expected a graph and room for ", n,
                                                     " tensors, got ",
                                                     graph == nullptr ? "NULL" : "a graph", " and ",
                                                     inlined == nullptr ? "NULL" : "an array"));
    }
    return tensorflow_ext::InlineCallsOfGraph(graph, outputs, n, inlined);
  });
}

void TfExt_InlineCallsOfGraphDef(const void* graph_def, size_t graph_def_length,
                                 const char* outputs, TF_Buffer* nodes, TF_Buffer* inlined,
                                 TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckEmpty(nodes));
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckEmpty(inlined));
    const std::vector<std::string> tensors =
        absl::StrSplit(outputs == nullptr ? "" : outputs, '\n', absl::SkipEmpty());
    TF_ASSIGN_OR_RETURN(const auto copy,
                        tensorflow_ext::CopyInlined(graph_def, graph_def_length, tensors));
    TF_RETURN_IF_ERROR(tensorflow_ext::Write(copy.nodes.SerializeAsString(), nodes));
    return tensorflow_ext::Write(absl::StrJoin(copy.tensors, "\n"), inlined);
  });
}

}  // extern "C"
