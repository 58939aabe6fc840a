// SPDX-License-Identifier: Apache-2.0
//
// TfExt_InlineCalls of gradient/c_api.h for C++ clients, which must link libtensorflow_ext.so.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow_ext/gradient/c_api.h"

namespace tensorflow_ext {

// Adds nodes to the graph of `scope` that compute its tensors `outputs` without function calls;
// `inlined` receives one replacement for each. Copies the nodes between a call and `outputs`, with
// the called function's body as plain nodes in place of the call; existing nodes do not change.
// TfExt_InlineCalls explains when to use it, and lists its errors.
inline absl::Status InlineCalls(const tensorflow::Scope& scope,
                                const std::vector<tensorflow::Output>& outputs,
                                std::vector<tensorflow::Output>* inlined) {
  using BufferOwner = std::unique_ptr<TF_Buffer, decltype(&TF_DeleteBuffer)>;
  TF_RETURN_IF_ERROR(scope.status());
  tensorflow::Graph* graph = scope.graph();
  tensorflow::GraphDef graph_def;
  graph->ToGraphDef(&graph_def);
  const std::string bytes = graph_def.SerializeAsString();
  std::string lines;
  for (const tensorflow::Output& output : outputs) {
    absl::StrAppend(&lines, output.name(), "\n");
  }
  const BufferOwner nodes(TF_NewBuffer(), TF_DeleteBuffer);
  const BufferOwner names(TF_NewBuffer(), TF_DeleteBuffer);
  const std::unique_ptr<TF_Status, decltype(&TF_DeleteStatus)> status(TF_NewStatus(),
                                                                      TF_DeleteStatus);
  TfExt_InlineCallsOfGraphDef(bytes.data(), bytes.size(), lines.c_str(), nodes.get(), names.get(),
                              status.get());
  TF_RETURN_IF_ERROR(absl::Status(static_cast<absl::StatusCode>(TF_GetCode(status.get())),
                                  TF_Message(status.get())));

  tensorflow::GraphDef added;
  if (!added.ParseFromArray(nodes->data, static_cast<int>(nodes->length))) {
    return absl::InternalError("TfExt_InlineCallsOfGraphDef gave no GraphDef");
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
  inlined->clear();
  const absl::string_view text(static_cast<const char*>(names->data), names->length);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const tensorflow::TensorId id = tensorflow::ParseTensorName(line);
    inlined->emplace_back(all.at(std::string(id.node())), id.index());
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
