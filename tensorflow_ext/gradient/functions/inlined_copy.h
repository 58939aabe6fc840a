// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_INLINED_COPY_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_INLINED_COPY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// What computes some tensors of a graph without calls of functions.
struct InlinedCopy {
  // Nodes to add to the graph. Their names begin with a name that no node of
  // the graph begins with. Inputs that no node here makes are tensors (or
  // "^node") of the graph.
  tensorflow::GraphDef nodes;
  // The tensors "node:index" that take the place of those asked for: of
  // `nodes`, or the same one where no call leads to it.
  std::vector<std::string> tensors;
};

// Copies what lies between calls and `tensors`, the calls included, with the
// body of the called function in place of each PartitionedCall,
// StatefulPartitionedCall and function named as an op, and so on in what comes
// in with these. Each tensor also waits for all side effects of the calls that
// lead to it. If, Case and While stay, and the calls in their functions; so do
// calls that XLA is to compile, and those of functions for which the graph's
// library names a gradient.
// Errors: kNotFound, a function is not in the library; kUnimplemented, one
// calls itself.
absl::StatusOr<InlinedCopy> CopyInlined(
    const tensorflow::Graph& graph,
    const std::vector<tensorflow::OutputTensor>& tensors);

// The same for a graph that is a serialized GraphDef, its library included, and
// tensors "node:index".
// Errors beside those: kInvalidArgument, the bytes are no GraphDef or hold no
// right graph, or it has no such tensor.
absl::StatusOr<InlinedCopy> CopyInlined(
    const void* graph_def, size_t length,
    const std::vector<std::string>& tensors);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_INLINED_COPY_H_
