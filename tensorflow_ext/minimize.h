// SPDX-License-Identifier: Apache-2.0
//
// Training steps for C++ clients, which must link libtensorflow_ext.so and compile cc/gradients.cc:
//
//   tensorflow_ext::Adam adam;
//   adam.learning_rate = 1e-3;
//   tensorflow_ext::TrainingStep training;
//   TF_RETURN_IF_ERROR(tensorflow_ext::Minimize(scope, loss, variables, adam, &training));
//   // Run training.initialize once, then training.step for each batch.

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow_ext/added_nodes.h"
#include "tensorflow_ext/c_objects.h"
#include "tensorflow_ext/cc/gradients.h"
#include "tensorflow_ext/optimizers.h"
#include "tensorflow_ext/train/train.h"

namespace tensorflow_ext {

// A training step in a graph. Run operations by their node()->name().
struct TrainingStep {
  // A variable of the optimizer.
  struct State {
    tensorflow::Output handle;
    // Its name in checkpoints, which is that of Keras.
    std::string name;
  };

  // Updates the variables.
  tensorflow::Operation step;
  // Sets the optimizer's own variables to their initial values. It does not change those that are
  // trained.
  tensorflow::Operation initialize;
  // The handle of the number of steps, an int64.
  tensorflow::Output iteration;
  // The handle of the learning rate, a float, which a program may assign. Its node() is null if the
  // learning rate follows a schedule.
  tensorflow::Output learning_rate;
  // All variables of the optimizer, these two included.
  std::vector<State> state;
};

// Adds the updates of variables by given gradients to the graph of `scope`. `gradients`: a gradient
// for each variable, of its type and shape; NoGradient() for one that stays as it is.
// TfExt_ApplyGradients of train/train.h says more, and lists the errors. An error leaves `training`
// unchanged.
inline absl::Status ApplyGradients(const tensorflow::Scope& scope,
                                   const std::vector<tensorflow::Output>& gradients,
                                   const std::vector<tensorflow::Output>& variables,
                                   const Optimizer& optimizer, TrainingStep* training) {
  TF_RETURN_IF_ERROR(scope.status());
  std::string gradient_lines;
  for (const tensorflow::Output& gradient : gradients) {
    absl::StrAppend(&gradient_lines, gradient.node() == nullptr ? "-" : gradient.name(), "\n");
  }
  const std::string bytes = added_nodes_internal::Serialized(scope);
  const std::string handles = added_nodes_internal::Lines(variables);
  const c_objects_internal::Buffer nodes, found;
  const c_objects_internal::Status status;
  TfExt_ApplyGradientsOfGraphDef(bytes.data(), bytes.size(), gradient_lines.c_str(),
                                 handles.c_str(), optimizer.json().c_str(), nodes.get(),
                                 found.get(), status.get());
  TF_RETURN_IF_ERROR(status.Get());
  // Two operations, and then a handle and a name on each line.
  const std::vector<std::string> lines = absl::StrSplit(found.text(), '\n', absl::SkipEmpty());
  std::vector<std::string> tensors = {lines[0] + ":0", lines[1] + ":0"};
  std::vector<std::string> names;
  for (size_t k = 2; k < lines.size(); ++k) {
    const std::pair<std::string, std::string> fields = absl::StrSplit(lines[k], '\t');
    tensors.push_back(fields.first);
    names.push_back(fields.second);
  }
  std::vector<tensorflow::Output> added;
  TF_RETURN_IF_ERROR(added_nodes_internal::AddNodes(scope, nodes.text(), tensors, &added));
  TrainingStep made;
  made.step = added[0].op();
  made.initialize = added[1].op();
  for (size_t k = 0; k < names.size(); ++k) made.state.push_back({added[2 + k], names[k]});
  made.iteration = made.state[0].handle;
  if (names.size() > 1 && absl::EndsWith(names[1], "/_learning_rate")) {
    made.learning_rate = made.state[1].handle;
  }
  *training = std::move(made);
  return absl::OkStatus();
}

// Adds a training step to the graph of `scope`: the gradients of `loss` by `variables`, and the
// updates of these by an optimizer. `variables`: handles of variables (VarHandleOp) with known
// shapes; one that the loss does not depend on stays as it is. TfExt_Minimize of train/train.h says
// more. Errors: those of AddSymbolicGradients and ApplyGradients. An error leaves `training`
// unchanged; the graph may have the gradients.
inline absl::Status Minimize(const tensorflow::Scope& scope, const tensorflow::Output& loss,
                             const std::vector<tensorflow::Output>& variables,
                             const Optimizer& optimizer, TrainingStep* training) {
  std::vector<tensorflow::Output> gradients;
  TF_RETURN_IF_ERROR(tensorflow_ext::AddSymbolicGradients(scope, {loss}, variables, &gradients));
  return ApplyGradients(scope, gradients, variables, optimizer, training);
}

}  // namespace tensorflow_ext
