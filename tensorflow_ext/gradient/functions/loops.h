// SPDX-License-Identifier: Apache-2.0
//
// Loops of TensorFlow 1 that AddSymbolicGradients ends the process by.

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOPS_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOPS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/while_context.h"
#include "tensorflow_ext/gradient/functions/leading_to.h"

namespace tensorflow_ext {

// Whether a tensor of this type can have a gradient, or hold what has one.
inline bool CarriesGradient(tensorflow::DataType type) {
  return tensorflow::DataTypeIsFloating(type) ||
         tensorflow::DataTypeIsComplex(type) ||
         type == tensorflow::DT_RESOURCE || type == tensorflow::DT_VARIANT;
}

namespace loops_internal {

inline bool IsLoopExit(const tensorflow::Node& node) {
  return node.IsExit() && node.while_ctx() == nullptr &&
         CarriesGradient(tensorflow::BaseType(node.output_type(0)));
}

// Whether this Switch or Merge is part of a loop and not of a branch.
inline bool IsPartOfLoop(const tensorflow::Node& node) {
  if (!node.IsSwitch() && !node.IsMerge()) return false;
  for (const tensorflow::Edge* edge : node.in_edges()) {
    const tensorflow::Node* source = edge->src();
    if (!edge->IsControlEdge() && (source->IsEnter() || source->IsLoopCond() ||
                                   source->IsNextIteration())) {
      return true;
    }
  }
  return false;
}

}  // namespace loops_internal

// Refuses to differentiate what loops of TensorFlow 1 lead to. For those that
// TF_NewWhile made AddSymbolicGradients has a gradient. By others, which come
// with an imported graph or a function, it ends the process as soon as it
// reaches their end; so this is to be asked before.
// Errors: kUnimplemented, one of `ends` is in such a loop, or a loop with a
// differentiable result leads to it; names the node.
inline absl::Status CheckNoLoops(
    const tensorflow::Graph& graph,
    const std::vector<const tensorflow::Node*>& ends) {
  const tensorflow::Node* found = nullptr;
  for (const tensorflow::Node* end : ends) {
    if (loops_internal::IsPartOfLoop(*end)) found = end;
  }
  tensorflow::ReverseDFSFrom(
      graph, ends,
      [&](const tensorflow::Node* node) {
        if (loops_internal::IsLoopExit(*node)) found = node;
      },
      /*leave=*/nullptr, /*stable_comparator=*/{},
      [](const tensorflow::Edge& edge) { return !edge.IsControlEdge(); });
  if (found == nullptr) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "node '", found->name(), "' of op ", found->type_string(),
      " belongs to a loop of TensorFlow 1 that TF_NewWhile did not make, which "
      "has no gradient; use a While op, which tf.while_loop of TensorFlow 2 "
      "makes, or TF_NewWhile"));
}

// Refuses loops of TF_NewWhile (BuildWhileLoop) of which only some outputs have
// a gradient: AddSymbolicGradients waits for all of them, then ends the
// process. `starts`: the nodes of the xs; `leading`: LeadingTo those of the ys.
// Errors: kUnimplemented, there is such a loop; names two of its outputs.
inline absl::Status CheckWholeLoops(
    const tensorflow::Graph& graph, const NodeSet& leading,
    const std::vector<const tensorflow::Node*>& starts) {
  NodeSet between;
  tensorflow::DFSFrom(
      graph, starts,
      [&](const tensorflow::Node* node) { between.insert(node); }, nullptr, {},
      [&](const tensorflow::Edge& edge) {
        return !edge.IsControlEdge() && leading.count(edge.dst()) > 0;
      });
  for (const tensorflow::Node* node : between) {
    if (!node->IsExit() || node->while_ctx() == nullptr) continue;
    for (const tensorflow::Node* exit : node->while_ctx()->exit_nodes()) {
      if (between.count(exit) > 0) continue;
      return absl::UnimplementedError(absl::StrCat(
          "the gradient goes through output '", node->name(),
          "' of a loop of TF_NewWhile and not through its output '",
          exit->name(),
          "', and TensorFlow differentiates such a loop by all its outputs or "
          "not at all; let y take all of them and x lead to all of them, or "
          "use a While op"));
    }
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LOOPS_H_
