// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/functions/loops.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow_ext/gradient/plan.h"

namespace tensorflow_ext {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;

namespace {

bool IsLoopExit(const Node& node) {
  return node.IsExit() && node.while_ctx() == nullptr &&
         IsDifferentiable(tensorflow::BaseType(node.output_type(0)));
}

// Whether this Switch or Merge is part of a loop and not of a branch.
bool IsPartOfLoop(const Node& node) {
  if (!node.IsSwitch() && !node.IsMerge()) return false;
  for (const Edge* edge : node.in_edges()) {
    const Node* source = edge->src();
    if (!edge->IsControlEdge() && (source->IsEnter() || source->IsLoopCond() ||
                                   source->IsNextIteration())) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::Status CheckNoLoops(const Graph& graph,
                          const std::vector<const Node*>& ends) {
  const Node* found = nullptr;
  for (const Node* end : ends) {
    if (IsPartOfLoop(*end)) found = end;
  }
  tensorflow::ReverseDFSFrom(
      graph, ends,
      [&](const Node* node) {
        if (IsLoopExit(*node)) found = node;
      },
      /*leave=*/nullptr, /*stable_comparator=*/{},
      [](const Edge& edge) { return !edge.IsControlEdge(); });
  if (found == nullptr) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "node '", found->name(), "' of op ", found->type_string(),
      " belongs to a loop of TensorFlow 1 that TF_NewWhile did not make, which "
      "has no gradient; use a While op, which tf.while_loop of TensorFlow 2 "
      "makes, or TF_NewWhile"));
}

}  // namespace tensorflow_ext
