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
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/ops/math_ops.h"
#include "tensorflow/cc/ops/resource_variable_ops.h"
#include "tensorflow_ext/added_nodes.h"
#include "tensorflow_ext/cc/gradients.h"
#include "tensorflow_ext/optimizers.h"
#include "tensorflow_ext/variables.h"

namespace tensorflow_ext {

// A training step in a graph. Run operations by their node()->name().
struct TrainingStep {
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
  // All variables of the optimizer, these two included. Their names are those in a checkpoint of
  // tf.train.Checkpoint(adam=optimizer) in Python, if the optimizer's name is "adam".
  std::vector<SavedVariable> state;

  // The same with another name of the optimizer.
  std::vector<SavedVariable> Saved(const std::string& name) const {
    const absl::string_view inner = absl::StripSuffix(state[0].name, "/_iterations");
    const absl::string_view scope = absl::StripSuffix(inner, "/inner_optimizer");
    std::vector<SavedVariable> saved = state;
    for (SavedVariable& variable : saved) {
      variable.name = absl::StrCat(name, absl::StripPrefix(variable.name, scope));
    }
    return saved;
  }
};

// Adds the updates of variables by given gradients to the graph of `scope`. `gradients`: a gradient
// for each variable, of its type and shape; Output() for one that stays as it is.
// TfExt_ApplyGradients of train/train.h says more, and lists the errors. An error leaves `training`
// unchanged.
inline absl::Status ApplyGradients(const tensorflow::Scope& scope,
                                   const std::vector<tensorflow::Output>& gradients,
                                   const std::vector<tensorflow::Output>& variables,
                                   const Optimizer& optimizer, TrainingStep* training) {
  tensorflow::NodeDef op;
  op.set_op("TfExt>ApplyGradients");
  tensorflow::AddNodeAttr("optimizer", optimizer.json(), &op);
  using added_nodes_internal::Names;
  TF_ASSIGN_OR_RETURN(const auto tensors, Names(scope, gradients));
  TF_ASSIGN_OR_RETURN(const auto handles, Names(scope, variables));
  std::vector<tensorflow::Output> added;
  std::vector<std::vector<std::string>> further;
  TF_RETURN_IF_ERROR(
      added_nodes_internal::AddNodesOfOp(scope, op, {tensors, handles}, 3, &added, &further));
  const std::vector<std::string>& names = further[0];
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
  if (loss.node() != nullptr && !tensorflow::DataTypeIsFloating(loss.type())) {
    return absl::InvalidArgumentError(absl::StrCat("loss: '", loss.name(), "' has the type ",
                                                   tensorflow::DataTypeString(loss.type()),
                                                   "; expected half, bfloat16, float or double"));
  }
  tensorflow::Output scaled = loss;
  if (!optimizer.loss_scale_name().empty()) {
    // A LossScaleOptimizer multiplies the loss by this variable.
    const std::string name = optimizer.loss_scale_name() + "/dynamic_scale";
    Variables scale;
    TF_RETURN_IF_ERROR(
        NewVariables(scope, {{name, tensorflow::DT_FLOAT, {}, initializers::Ones{}}}, &scale));
    namespace ops = tensorflow::ops;
    const ops::ReadVariableOp value(scope, scale.handles[0], tensorflow::DT_FLOAT);
    scaled = ops::Mul(scope, loss, ops::Cast(scope, value, loss.type()));
  }
  std::vector<tensorflow::Output> gradients;
  TF_RETURN_IF_ERROR(tensorflow_ext::AddSymbolicGradients(scope, {scaled}, variables, &gradients));
  return ApplyGradients(scope, gradients, variables, optimizer, training);
}

}  // namespace tensorflow_ext
