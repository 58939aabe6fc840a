// TfExt_InlineCalls of gradient/c_api.h for C++ clients, which must link libtensorflow_ext.so.

#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow_ext/added_nodes.h"
#include "tensorflow_ext/c_objects.h"
#include "tensorflow_ext/gradient/c_api.h"

namespace tensorflow_ext {

// Adds nodes to the graph of `scope` that compute its tensors `outputs` without function calls;
// `inlined` receives one replacement for each. Copies the nodes between a call and `outputs`, with
// the called function's body as plain nodes in place of the call; existing nodes do not change.
// TfExt_InlineCalls explains when to use it, and lists its errors.
inline absl::Status InlineCalls(const tensorflow::Scope& scope,
                                const std::vector<tensorflow::Output>& outputs,
                                std::vector<tensorflow::Output>* inlined) {
  TF_RETURN_IF_ERROR(scope.status());
  const std::string bytes = added_nodes_internal::Serialized(scope);
  TF_ASSIGN_OR_RETURN(const auto names_of_outputs, added_nodes_internal::Names(scope, outputs));
  if (std::count(names_of_outputs.begin(), names_of_outputs.end(), "") != 0) {
    return absl::InvalidArgumentError(
        "InlineCalls: outputs: expected tensors, got an Output() that was never assigned");
  }
  const std::string lines = absl::StrJoin(names_of_outputs, "\n");
  const c_objects_internal::Buffer nodes, names;
  const c_objects_internal::Status status;
  TfExt_InlineCallsOfGraphDef(bytes.data(), bytes.size(), lines.c_str(), nodes.get(), names.get(),
                              status.get());
  TF_RETURN_IF_ERROR(status.Get());
  std::vector<std::string> tensors;
  for (absl::string_view line : absl::StrSplit(names.text(), '\n', absl::SkipEmpty())) {
    tensors.emplace_back(line);
  }
  return added_nodes_internal::AddNodes(scope, nodes.text(), tensors, inlined);
}

}  // namespace tensorflow_ext
