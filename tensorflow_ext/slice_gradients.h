// TfExt_SliceGradients of gradient/c_api.h for C++ clients, which must link libtensorflow_ext.so.

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow_ext/added_nodes.h"
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
  std::vector<tensorflow::Output> existing;
  for (const tensorflow::Output& gradient : gradients) {
    if (gradient.node() != nullptr) existing.push_back(gradient);
  }
  tensorflow::NodeDef op;
  op.set_op("TfExt>SliceGradients");
  tensorflow::AddNodeAttr("sum_repeated", repeated == TFEXT_REPEATED_SUMMED, &op);
  // The values of all gradients, then the indices, shapes and dense gradients.
  std::vector<tensorflow::Output> added;
  std::vector<std::vector<std::string>> reasons;
  TF_ASSIGN_OR_RETURN(const auto names, added_nodes_internal::Names(scope, existing));
  TF_RETURN_IF_ERROR(added_nodes_internal::AddNodesOfOp(scope, op, {names}, 4, &added, &reasons));
  std::vector<SlicedGradient> results(gradients.size());
  const size_t n = existing.size();
  size_t next = 0;
  for (size_t k = 0; k < gradients.size(); ++k) {
    if (gradients[k].node() == nullptr) continue;
    const auto part = added.begin() + next;
    results[k] = {part[0], part[n], part[2 * n], part[3 * n], reasons[0][next++]};
  }
  *sliced = std::move(results);
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
