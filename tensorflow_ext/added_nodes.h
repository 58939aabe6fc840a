// SPDX-License-Identifier: Apache-2.0
//
// Parts of inline_calls.h, minimize.h and slice_gradients.h, which send a scope's graph to
// libtensorflow_ext.so and add the nodes that it gives.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace tensorflow_ext {
namespace added_nodes_internal {

inline std::string Serialized(const tensorflow::Scope& scope) {
  tensorflow::GraphDef graph_def;
  scope.graph()->ToGraphDef(&graph_def);
  return graph_def.SerializeAsString();
}

// The tensors as "node:index", one per line.
inline std::string Lines(const std::vector<tensorflow::Output>& tensors) {
  std::string lines;
  for (const tensorflow::Output& tensor : tensors) absl::StrAppend(&lines, tensor.name(), "\n");
  return lines;
}

// Adds the nodes and functions of a serialized GraphDef, whose inputs may be tensors of the graph,
// and finds the tensors "node:index" in the graph; "" gives an empty Output.
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

}  // namespace added_nodes_internal
}  // namespace tensorflow_ext
