// If only some rows of a table are gathered, its gradient is zero in all other rows. Clients get it
// dense: the UnsortedSegmentSum of GatherV2's gradient. This file turns such a gradient into the
// rows themselves, as Python's IndexedSlices. It works on gradients that were added before
// (terms.h), so every client can use it. Nothing then needs the dense nodes, so a session does not
// run them.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// Tensors "node:index" for one gradient.
struct GradientSlices {
  // The slices; empty if the gradient is dense.
  std::string values, indices, shape;
  tensorflow::DataType index_type = tensorflow::DT_INVALID;
  // Otherwise the dense gradient and the reason.
  std::string dense, reason;
};

struct SlicedGradients {
  // Nodes to add to the graph, and functions that they call. The names of the nodes share a prefix
  // that no node of the graph has. Inputs that no node here makes are tensors (or "^node") of the
  // graph.
  tensorflow::GraphDef nodes;
  std::vector<GradientSlices> gradients;
};

// Turns gradients of a graph into slices where their rows allow that. `sum_repeated`: true to add
// up the rows of equal indices. Errors: kNotFound, a function is not in the library.
absl::StatusOr<SlicedGradients> SliceGradients(
    const tensorflow::Graph& graph, const std::vector<tensorflow::OutputTensor>& gradients,
    bool sum_repeated);

// The same for a graph that is a serialized GraphDef, its library included, and tensors
// "node:index". More errors: those of ReadGraph.
absl::StatusOr<SlicedGradients> SliceGradients(const void* graph_def, size_t length,
                                               const std::vector<std::string>& gradients,
                                               bool sum_repeated);

}  // namespace tensorflow_ext
