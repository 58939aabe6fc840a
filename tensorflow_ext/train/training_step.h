// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext::train {

// What an optimizer adds to a graph.
struct TrainingStep {
  // Nodes to add, and functions that they call. Inputs that no node here makes are tensors (or
  // "^node") of the graph.
  tensorflow::GraphDef nodes;
  // The nodes that update the variables, and that set the optimizer's variables to their initial
  // values.
  std::string step, initialize;
  // The optimizer's variables: their handles "node:0", and their names in checkpoints. The first is
  // the iteration; then comes the learning rate, unless it follows a schedule.
  std::vector<std::string> state, names;
  bool has_learning_rate = false;
  // The tensors of the graph that `nodes` read, "node:index", if the graph was serialized.
  std::vector<std::string> inputs;
};

// The error of the description of an optimizer.
absl::Status CheckOptimizer(const std::string& optimizer);

// Adds a step that updates `variables` by their gradients. `gradients[k]`: its node is null if loss
// does not depend on variables[k], which then stays. `optimizer`: see Config::Parse. Errors:
// kInvalidArgument, a variable or gradient does not fit, or the optimizer's description is wrong.
absl::StatusOr<TrainingStep> ApplyGradients(
    const tensorflow::Graph& graph, const std::vector<tensorflow::OutputTensor>& gradients,
    const std::vector<tensorflow::OutputTensor>& variables, const std::string& optimizer);

// The same for a graph that is a serialized GraphDef, its library included. Tensors are
// "node:index"; the gradient is "" where there is none. The result's nodes wait only for tensors of
// the graph, unless a node has none.
absl::StatusOr<TrainingStep> ApplyGradients(const void* graph_def, size_t length,
                                            const std::vector<std::string>& gradients,
                                            const std::vector<std::string>& variables,
                                            const std::string& optimizer);

}  // namespace tensorflow_ext::train
