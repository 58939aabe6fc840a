// Refuses loops of TensorFlow 1 where AddSymbolicGradients ends the process.

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/while_context.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"

namespace tensorflow_ext {

// True if a tensor of this type can have a gradient, or hold one that has.
inline bool CarriesGradient(tensorflow::DataType type) {
  return tensorflow::DataTypeIsFloating(type) || tensorflow::DataTypeIsComplex(type) ||
         type == tensorflow::DT_RESOURCE || type == tensorflow::DT_VARIANT;
}

namespace loops_internal {

inline bool IsLoopExit(const tensorflow::Node& node) {
  return node.IsExit() && node.while_ctx() == nullptr &&
         CarriesGradient(tensorflow::BaseType(node.output_type(0)));
}

// True if this Switch or Merge is part of a loop and not of a branch.
inline bool IsPartOfLoop(const tensorflow::Node& node) {
  if (!node.IsSwitch() && !node.IsMerge()) return false;
  for (const tensorflow::Edge* edge : node.in_edges()) {
    const tensorflow::Node* source = edge->src();
    if (!edge->IsControlEdge() &&
        (source->IsEnter() || source->IsLoopCond() || source->IsNextIteration())) {
      return true;
    }
  }
  return false;
}

// Adds the Merge of each variable of the loop of TF_NewWhile that ends at `exit`.
inline void AddMerges(const tensorflow::Node& exit, NodeSet* merges) {
  for (const tensorflow::Node* each : exit.while_ctx()->exit_nodes()) {
    const tensorflow::Edge* from_switch = nullptr;
    const tensorflow::Edge* from_merge = nullptr;
    if (each->input_edge(0, &from_switch).ok() &&
        from_switch->src()->input_edge(0, &from_merge).ok()) {
      merges->insert(from_merge->src());
    }
  }
}

}  // namespace loops_internal

// Refuses to differentiate loops of TensorFlow 1. AddSymbolicGradients has a gradient for loops
// made by TF_NewWhile. Other loops come with an imported graph or a function; it ends the process
// when it reaches their end, so call this first. `nodes`: those that it will reach, for example
// Between the xs and the ys; `ends`: the nodes of the ys. Errors: kUnimplemented, one of `nodes` is
// the end of such a loop whose result is differentiable, or one of `nodes` or `ends` is part of
// one; names the node.
inline absl::Status CheckNoLoops(const NodeSet& nodes,
                                 const std::vector<const tensorflow::Node*>& ends) {
  const tensorflow::Node* found = nullptr;
  for (const tensorflow::Node* end : ends) {
    if (nodes.count(end) > 0 && loops_internal::IsPartOfLoop(*end)) found = end;
  }
  for (const tensorflow::Node* node : nodes) {
    // The first node by creation, so that every run gives the same error.
    if (loops_internal::IsLoopExit(*node) && (found == nullptr || node->id() < found->id())) {
      found = node;
    }
  }
  if (found == nullptr) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("node '", found->name(), "' of op ", found->type_string(),
                   " belongs to a TensorFlow 1 loop of an imported graph, so it has no gradient. "
                   "Turn the loops of the model into While ops, which have one: python -m "
                   "tensorflow_ext prepare MODEL (a SavedModel or a frozen graph) writes such a "
                   "model for every language; C and C++ can also call "
                   "TfExt_FunctionalizeGraphDef"));
}

// Refuses loops of TF_NewWhile (BuildWhileLoop) with only some outputs that have a gradient:
// AddSymbolicGradients waits for all of them, then ends the process. `between`: Between the xs and
// the ys. Errors: kUnimplemented, there is such a loop; names two of its outputs.
inline absl::Status CheckWholeLoops(const NodeSet& between) {
  for (const tensorflow::Node* node : between) {
    if (!node->IsExit() || node->while_ctx() == nullptr) continue;
    for (const tensorflow::Node* exit : node->while_ctx()->exit_nodes()) {
      if (between.count(exit) > 0) continue;
      return absl::UnimplementedError(
          absl::StrCat("the gradient goes through output '", node->name(),
                       "' of a TensorFlow 1 loop (TF_NewWhile in C, Graph.whileLoop in Java, "
                       "BuildWhileLoop in C++) and not through its output '",
                       exit->name(),
                       "', but TensorFlow differentiates such a loop only through all its "
                       "outputs; make y depend on all of them and all of them on x, or use a "
                       "While op"));
    }
  }
  return absl::OkStatus();
}

// Refuses a y in the body of a loop of TensorFlow 1 that depends on an x of an earlier iteration or
// before the loop: AddSymbolicGradients goes round the loop and ends the process. `between`:
// Between the xs and the ys. Errors: kUnimplemented, there is such a y; names the start of the
// loop.
inline absl::Status CheckOutsideOfLoops(const NodeSet& between) {
  NodeSet whole;
  for (const tensorflow::Node* node : between) {
    if (node->IsExit() && node->while_ctx() != nullptr) loops_internal::AddMerges(*node, &whole);
  }
  for (const tensorflow::Node* node : between) {
    if (!node->IsMerge() || !loops_internal::IsPartOfLoop(*node) || whole.count(node) > 0 ||
        !CarriesGradient(tensorflow::BaseType(node->output_type(0)))) {
      continue;
    }
    return absl::UnimplementedError(absl::StrCat(
        "y lies in the body of the TensorFlow 1 loop that begins at node '", node->name(),
        "', where a tensor has another value in each iteration; differentiate a result of the "
        "loop, or use a While op, which tf.while_loop makes in TensorFlow 2"));
  }
  return absl::OkStatus();
}

// Makes these checks on the nodes between `starts`, of the xs, and `ends`, of the ys. `leading`:
// LeadingTo the ends.
inline absl::Status CheckLoops(const std::vector<const tensorflow::Node*>& starts,
                               const NodeSet& leading,
                               const std::vector<const tensorflow::Node*>& ends) {
  const NodeSet between = Between(starts, leading);
  absl::Status status = CheckNoLoops(between, ends);
  if (status.ok()) status = CheckWholeLoops(between);
  return status.ok() ? CheckOutsideOfLoops(between) : status;
}

}  // namespace tensorflow_ext
