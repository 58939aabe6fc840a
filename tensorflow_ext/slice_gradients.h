// SPDX-License-Identifier: Apache-2.0
//
// TfExt_SliceGradients of gradient/c_api.h for C++ clients, which must link libtensorflow_ext.so.

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow_ext/added_nodes.h"
#include "tensorflow_ext/c_objects.h"
#include "tensorflow_ext/gradient/c_api.h"

namespace tensorflow_ext {

// A gradient, either dense or by the rows that were gathered: then row k of `values` belongs to row
// indices[k] of the table, and all other rows are zero.
struct SlicedGradient {
  // The slices. Their node() is null if the gradient is dense.
  tensorflow::Output values, indices, shape;
  // The gradient, and the node that makes it dense. Empty if it is slices.
  tensorflow::Output dense;
  std::string reason;
};

// Turns gradients that AddSymbolicGradients added to the graph of `scope` into slices where their
// rows allow that. TfExt_SliceGradients says when, and lists the errors; an empty gradient
// (NoGradient()) stays so.
inline absl::Status SliceGradients(const tensorflow::Scope& scope,
                                   const std::vector<tensorflow::Output>& gradients,
                                   TfExt_RepeatedIndices repeated,
                                   std::vector<SlicedGradient>* sliced) {
  TF_RETURN_IF_ERROR(scope.status());
  std::vector<tensorflow::Output> existing;
  for (const tensorflow::Output& gradient : gradients) {
    if (gradient.node() != nullptr) existing.push_back(gradient);
  }
  const std::string bytes = added_nodes_internal::Serialized(scope);
  const std::string lines = added_nodes_internal::Lines(existing);
  const c_objects_internal::Buffer nodes, found;
  const c_objects_internal::Status status;
  TfExt_SliceGradientsOfGraphDef(bytes.data(), bytes.size(), lines.c_str(), repeated, nodes.get(),
                                 found.get(), status.get());
  TF_RETURN_IF_ERROR(status.Get());
  constexpr size_t kTensors = 4;
  std::vector<std::string> names, reasons;
  for (absl::string_view line : absl::StrSplit(found.text(), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    names.insert(names.end(), fields.begin(), fields.begin() + kTensors);
    reasons.push_back(fields[kTensors]);
  }
  std::vector<tensorflow::Output> tensors;
  TF_RETURN_IF_ERROR(added_nodes_internal::AddNodes(scope, nodes.text(), names, &tensors));
  std::vector<SlicedGradient> results(gradients.size());
  size_t next = 0;
  for (size_t k = 0; k < gradients.size(); ++k) {
    if (gradients[k].node() == nullptr) continue;
    const auto first = tensors.begin() + kTensors * next;
    results[k] = {first[0], first[1], first[2], first[3], reasons[next++]};
  }
  *sliced = std::move(results);
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
