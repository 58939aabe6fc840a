#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext::train {

// An optimizer in a graph.
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

// The name of a LossScaleOptimizer; empty for other optimizers. Errors: those of its description.
absl::StatusOr<std::string> LossScaleName(const std::string& optimizer);

// Adds a step that updates `variables` by their gradients. `gradients[k]`: its node is null if loss
// does not depend on variables[k], which then stays. `optimizer`: see Config::Parse. `loss_scale`:
// for a LossScaleOptimizer, the handle of the float that the loss was multiplied by; if null, it is
// the graph's variable "NAME/dynamic_scale". Errors: kInvalidArgument, a variable or gradient does
// not fit, or the optimizer's description is wrong.
absl::StatusOr<TrainingStep> ApplyGradients(const tensorflow::Graph& graph,
                                            const std::vector<tensorflow::OutputTensor>& gradients,
                                            const std::vector<tensorflow::OutputTensor>& variables,
                                            const std::string& optimizer,
                                            const tensorflow::Node* loss_scale = nullptr);

// The same for a graph that is a serialized GraphDef, its library included. Tensors are
// "node:index"; the gradient is "" where there is none. The result's nodes wait only for tensors of
// the graph, unless a node has none.
absl::StatusOr<TrainingStep> ApplyGradients(const void* graph_def, size_t length,
                                            const std::vector<std::string>& gradients,
                                            const std::vector<std::string>& variables,
                                            const std::string& optimizer);

}  // namespace tensorflow_ext::train
