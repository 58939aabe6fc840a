#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// Nodes that compute some tensors of a graph without function calls.
struct InlinedCopy {
  // Nodes to add to the graph. Their names share a prefix that no node of the graph has. Inputs
  // that no node here makes are tensors (or "^node") of the graph.
  tensorflow::GraphDef nodes;
  // The tensors "node:index" that replace the requested ones: of `nodes`, or the same one if no
  // call leads to it.
  std::vector<std::string> tensors;
};

// Copies the nodes between calls and `tensors`, including the calls. The body of the called
// function replaces each PartitionedCall, StatefulPartitionedCall and function used as an op, and
// so on within the bodies. Each tensor also waits for all side effects of the calls that lead to
// it. If, Case and While stay, with the calls in their functions. Calls that XLA compiles stay too,
// and calls of functions for which the graph's library names a gradient. Errors: kNotFound, a
// function is not in the library; kUnimplemented, one calls itself.
absl::StatusOr<InlinedCopy> CopyInlined(const tensorflow::Graph& graph,
                                        const std::vector<tensorflow::OutputTensor>& tensors);

// The same for a graph that is a serialized GraphDef, its library included, and tensors
// "node:index". More errors: kInvalidArgument, the bytes are not a GraphDef, its graph is invalid,
// or it has no such tensor.
absl::StatusOr<InlinedCopy> CopyInlined(const void* graph_def, size_t length,
                                        const std::vector<std::string>& tensors);

}  // namespace tensorflow_ext
