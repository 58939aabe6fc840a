// Parts of inline_calls.h, minimize.h, slice_gradients.h, trainable_model.h and variables.h, which
// send a scope's graph to libtensorflow_ext.so and add the nodes that it gives.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow/core/platform/statusor.h"
#include "tensorflow/core/public/session.h"

namespace tensorflow_ext {
namespace added_nodes_internal {

inline std::string Serialized(const tensorflow::Scope& scope) {
  tensorflow::GraphDef graph_def;
  scope.graph()->ToGraphDef(&graph_def);
  return graph_def.SerializeAsString();
}

// The tensors as "node:index"; "" for an empty one. A tensor of another graph is an error, because
// this one may have a tensor of the same name.
inline absl::StatusOr<std::vector<std::string>> Names(
    const tensorflow::Scope& scope, const std::vector<tensorflow::Output>& tensors) {
  std::vector<std::string> names;
  for (const tensorflow::Output& tensor : tensors) {
    const tensorflow::Node* const node = tensor.node();
    if (node != nullptr && !scope.graph()->IsValidNode(node).ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", node->name(), "' is a node of another graph; expected one of this scope's graph"));
    }
    names.push_back(node == nullptr ? "" : tensor.name());
  }
  return names;
}

// Adds the nodes and functions of a serialized GraphDef, whose inputs may be tensors of the graph,
// and finds the tensors "node:index" in the graph; "node" is its first output, and "" gives an
// empty Output.
inline absl::Status AddNodes(const tensorflow::Scope& scope, absl::string_view serialized,
                             const std::vector<std::string>& tensors,
                             std::vector<tensorflow::Output>* found) {
  tensorflow::GraphDef added;
  if (!added.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) {
    return absl::InternalError("libtensorflow_ext.so gave no GraphDef");
  }
  tensorflow::Graph* graph = scope.graph();
  // TensorFlow refuses a function that the graph has, even the same one.
  auto* functions = added.mutable_library()->mutable_function();
  for (int k = functions->size() - 1; k >= 0; --k) {
    const tensorflow::FunctionDef* existing =
        graph->flib_def().Find((*functions)[k].signature().name());
    if (existing == nullptr || !tensorflow::FunctionDefsEqual((*functions)[k], *existing)) continue;
    functions->DeleteSubrange(k, 1);
  }
  tensorflow::ImportGraphDefOptions options;
  // Inputs that are not among the nodes are tensors of the graph.
  const auto existing = graph->BuildNodeNameIndex();
  for (const auto& node : added.node()) {
    for (const std::string& input : node.input()) {
      const tensorflow::TensorId id = tensorflow::ParseTensorName(input);
      if (existing.count(std::string(id.node())) == 0) continue;
      options.input_map[tensorflow::SafeTensorId(id)] = tensorflow::SafeTensorId(id);
    }
  }
  const int first = graph->num_node_ids();
  TF_RETURN_IF_ERROR(tensorflow::ImportGraphDef(options, added, graph, /*refiner=*/nullptr));
  for (int id = first; id < graph->num_node_ids(); ++id) {
    tensorflow::Node* node = graph->FindNodeId(id);
    if (node != nullptr) TF_RETURN_IF_ERROR(scope.DoShapeInference(node));
  }
  const auto all = graph->BuildNodeNameIndex();
  std::vector<tensorflow::Output> outputs;
  for (const std::string& tensor : tensors) {
    if (tensor.empty()) {
      outputs.emplace_back();
      continue;
    }
    const tensorflow::TensorId id = tensorflow::ParseTensorName(tensor);
    outputs.emplace_back(all.at(std::string(id.node())), id.index());
  }
  *found = std::move(outputs);
  return absl::OkStatus();
}

// The elements of a tensor of strings.
inline std::vector<std::string> Strings(const tensorflow::Tensor& tensor) {
  const auto values = tensor.flat<tensorflow::tstring>();
  return {values.data(), values.data() + values.size()};
}

// Runs an op of libtensorflow_ext.so in a session of its own, and adds the nodes that are its first
// result. `op` has its name and attributes; its first input is the graph of `scope`, and `inputs`
// are the others, lists of strings. `added`: the tensors that the next `n` results name. `further`:
// the results after these.
inline absl::Status AddNodesOfOp(const tensorflow::Scope& scope, const tensorflow::NodeDef& op,
                                 const std::vector<std::vector<std::string>>& inputs, size_t n,
                                 std::vector<tensorflow::Output>* added,
                                 std::vector<std::vector<std::string>>* further = nullptr) {
  TF_RETURN_IF_ERROR(scope.status());
  std::vector<tensorflow::Tensor> values = {tensorflow::Tensor(Serialized(scope))};
  for (const std::vector<std::string>& input : inputs) {
    values.emplace_back(tensorflow::DT_STRING,
                        tensorflow::TensorShape({static_cast<int64_t>(input.size())}));
    std::copy(input.begin(), input.end(), values.back().flat<tensorflow::tstring>().data());
  }
  tensorflow::GraphDef graph;
  tensorflow::NodeDef* const made = graph.add_node();
  *made = op;
  made->set_name("made");
  for (const tensorflow::Tensor& value : values) {
    tensorflow::NodeDef* const input = graph.add_node();
    input->set_name(absl::StrCat("input_", graph.node_size()));
    input->set_op("Const");
    tensorflow::AddNodeAttr("dtype", tensorflow::DT_STRING, input);
    tensorflow::AddNodeAttr("value", value, input);
    made->add_input(input->name());
  }
  const std::unique_ptr<tensorflow::Session> session(tensorflow::NewSession({}));
  TF_RETURN_IF_ERROR(session->Create(graph));
  const tensorflow::OpDef* definition = nullptr;
  TF_RETURN_IF_ERROR(tensorflow::OpRegistry::Global()->LookUpOpDef(op.op(), &definition));
  std::vector<std::string> fetches;
  for (int k = 0; k < definition->output_arg_size(); ++k) {
    fetches.push_back(absl::StrCat("made:", k));
  }
  std::vector<tensorflow::Tensor> results;
  TF_RETURN_IF_ERROR(session->Run({}, fetches, {}, &results));
  std::vector<std::string> tensors;
  std::vector<std::vector<std::string>> others;
  for (size_t k = 1; k < results.size(); ++k) {
    const std::vector<std::string> names = Strings(results[k]);
    if (k > n) {
      others.push_back(names);
    } else {
      tensors.insert(tensors.end(), names.begin(), names.end());
    }
  }
  TF_RETURN_IF_ERROR(AddNodes(scope, Strings(results[0])[0], tensors, added));
  if (further != nullptr) *further = std::move(others);
  return absl::OkStatus();
}

}  // namespace added_nodes_internal
}  // namespace tensorflow_ext
