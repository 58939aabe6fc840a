// The functions of train.h.

#include "tensorflow_ext/gradient/c_api.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/c/c_api_internal.h"
#include "tensorflow/c/tf_status_helper.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/gradient/c_api/client_graph.h"
#include "tensorflow_ext/train/new_variables.h"
#include "tensorflow_ext/train/saver.h"
#include "tensorflow_ext/train/train.h"
#include "tensorflow_ext/train/training_step.h"

namespace tensorflow_ext::train {
using tensorflow::Node;

namespace {

std::string StateLines(const TrainingStep& step) {
  std::string lines;
  for (size_t k = 0; k < step.state.size(); ++k) {
    absl::StrAppend(&lines, step.state[k], "\t", step.names[k], "\n");
  }
  return lines;
}

absl::Status CheckArguments(const TF_Graph* graph, const char* optimizer,
                            const TfExt_TrainingStep* training, const TF_Buffer* state) {
  if (graph == nullptr || optimizer == nullptr || training == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(graph == nullptr       ? "graph"
                                                   : optimizer == nullptr ? "optimizer"
                                                                          : "training",
                                                   ": expected a pointer, got NULL"));
  }
  return state == nullptr ? absl::OkStatus() : CheckEmpty(state);
}

absl::Status ApplyGradientsOfGraph(TF_Graph* graph, const TF_Output* gradients,
                                   const TF_Output* variables, int n, const char* optimizer,
                                   const Node* loss_scale, TfExt_TrainingStep* training,
                                   TF_Buffer* state) {
  TF_RETURN_IF_ERROR(CheckArray("gradients", gradients, n));
  TF_ASSIGN_OR_RETURN(const auto handles, OutputTensors(graph, "variables", variables, n));
  std::vector<TF_Output> existing;
  for (int k = 0; k < n; ++k) {
    if (gradients[k].oper != nullptr) existing.push_back(gradients[k]);
  }
  TF_ASSIGN_OR_RETURN(const auto found,
                      OutputTensors(graph, "gradients", existing.data(), existing.size()));
  std::vector<tensorflow::OutputTensor> tensors;
  auto next = found.begin();
  for (int k = 0; k < n; ++k) {
    tensors.push_back(gradients[k].oper == nullptr ? tensorflow::OutputTensor() : *next++);
  }
  TF_ASSIGN_OR_RETURN(const TrainingStep made, AddNodes(graph, [&](const auto& nodes) {
                        return ApplyGradients(nodes, tensors, handles, optimizer, loss_scale);
                      }));
  const bool has_rate = made.has_learning_rate;
  TF_ASSIGN_OR_RETURN(const auto added,
                      FindTensors(graph, {made.step + ":0", made.initialize + ":0", made.state[0],
                                          made.state[has_rate ? 1 : 0]}));
  if (state != nullptr) TF_RETURN_IF_ERROR(Write(StateLines(made), state));
  *training = {added[0].oper, added[1].oper, added[2], has_rate ? added[3] : TF_Output{nullptr, 0}};
  return absl::OkStatus();
}

// Adds the variable that a LossScaleOptimizer multiplies the loss by, and the product.
TF_Output ScaledLoss(TF_Graph* graph, TF_Output loss, const std::string& optimizer,
                     TF_Operation** scale, TF_Status* status) {
  std::string scope = optimizer;
  for (int i = 1; TF_GraphOperationByName(graph, (scope + "/dynamic_scale").c_str()); ++i) {
    scope = absl::StrCat(optimizer, "_", i);
  }
  const auto add = [&](const char* op, const char* name, std::vector<TF_Output> inputs,
                       const char* attribute, TF_DataType type) {
    const std::string full = absl::StrCat(scope, "/", name);
    TF_OperationDescription* const node = TF_NewOperation(graph, op, full.c_str());
    for (const TF_Output& input : inputs) TF_AddInput(node, input);
    TF_SetAttrType(node, attribute, type);
    if (inputs.empty()) {
      TF_SetAttrShape(node, "shape", nullptr, 0);
      TF_SetAttrString(node, "shared_name", full.data(), full.size());
    }
    return TF_Output{TF_FinishOperation(node, status), 0};
  };
  const TF_DataType type = TF_OperationOutputType(loss);
  const TF_Output handle = add("VarHandleOp", "dynamic_scale", {}, "dtype", TF_FLOAT);
  if (TF_GetCode(status) != TF_OK) return loss;
  const TF_Output value = add("ReadVariableOp", "scale", {handle}, "dtype", TF_FLOAT);
  if (TF_GetCode(status) != TF_OK) return loss;
  const TF_Output cast = add("Cast", "scale_of_loss", {value}, "DstT", type);
  if (TF_GetCode(status) != TF_OK) return loss;
  *scale = handle.oper;
  return add("Mul", "scaled_loss", {loss, cast}, "T", type);
}

absl::Status Minimize(TF_Graph* graph, TF_Output loss, const TF_Output* variables, int n,
                      const char* optimizer, TfExt_TrainingStep* training, TF_Buffer* state) {
  // Before the graph changes.
  TF_ASSIGN_OR_RETURN(const std::string scaling, LossScaleName(optimizer));
  TF_RETURN_IF_ERROR(OutputTensors(graph, "variables", variables, n).status());
  TF_ASSIGN_OR_RETURN(const auto losses, OutputTensors(graph, "loss", &loss, 1));
  const Node* const node = losses[0].node;
  const tensorflow::DataType type = node->output_type(loss.index);
  if (!tensorflow::DataTypeIsFloating(type)) {
    return absl::InvalidArgumentError(absl::StrCat("loss: '", node->name(), "' has the type ",
                                                   tensorflow::DataTypeString(type),
                                                   "; expected half, bfloat16, float or double"));
  }
  std::vector<TF_Output> xs(variables, variables + n), gradients(n);
  const Owned<TF_Status, TF_DeleteStatus> status(TF_NewStatus());
  TF_Operation* scale = nullptr;
  if (!scaling.empty()) {
    loss = ScaledLoss(graph, loss, scaling, &scale, status.get());
    TF_RETURN_IF_ERROR(tensorflow::StatusFromTF_Status(status.get()));
  }
  TfExt_AddGradients(graph, nullptr, &loss, 1, xs.data(), n, nullptr, status.get(),
                     gradients.data(), TFEXT_UNCONNECTED_NONE);
  TF_RETURN_IF_ERROR(tensorflow::StatusFromTF_Status(status.get()));
  return ApplyGradientsOfGraph(graph, gradients.data(), variables, n, optimizer,
                               scale == nullptr ? nullptr : &scale->node, training, state);
}

absl::Status Add(TF_Graph* graph, const NewVariable& variable, TF_Output* handle,
                 TF_Operation** initialize) {
  TF_ASSIGN_OR_RETURN(const NewVariables made, AddNodes(graph, [&](const auto& nodes) {
                        return MakeVariables(nodes, {variable});
                      }));
  TF_ASSIGN_OR_RETURN(const auto added,
                      FindTensors(graph, {made.handles[0], made.initialize + ":0"}));
  *handle = added[0];
  *initialize = added[1].oper;
  return absl::OkStatus();
}

absl::Status Add(TF_Graph* graph, const TF_Output* variables, int n, const char* names,
                 TfExt_Saver* saver) {
  TF_ASSIGN_OR_RETURN(const auto handles, OutputTensors(graph, "variables", variables, n));
  TF_ASSIGN_OR_RETURN(const Saver made, AddNodes(graph, [&](const auto& nodes) {
                        return MakeSaver(nodes, handles, Lines(names));
                      }));
  TF_ASSIGN_OR_RETURN(const auto added, FindTensors(graph, {made.prefix + ":0", made.save + ":0",
                                                            made.restore + ":0"}));
  *saver = {added[0], added[1].oper, added[2].oper};
  return absl::OkStatus();
}

}  // namespace
}  // namespace tensorflow_ext::train

extern "C" {

void TfExt_Minimize(TF_Graph* graph, TF_Output loss, const TF_Output* variables, int n,
                    const char* optimizer, TfExt_TrainingStep* training, TF_Buffer* state,
                    TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::train::CheckArguments(graph, optimizer, training, state));
    return tensorflow_ext::train::Minimize(graph, loss, variables, n, optimizer, training, state);
  });
}

void TfExt_ApplyGradients(TF_Graph* graph, const TF_Output* gradients, const TF_Output* variables,
                          int n, const char* optimizer, TfExt_TrainingStep* training,
                          TF_Buffer* state, TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::train::CheckArguments(graph, optimizer, training, state));
    return tensorflow_ext::train::ApplyGradientsOfGraph(graph, gradients, variables, n, optimizer,
                                                        /*loss_scale=*/nullptr, training, state);
  });
}

void TfExt_NewVariable(TF_Graph* graph, const char* name, TF_DataType dtype, const int64_t* dims,
                       int num_dims, const char* initializer, TF_Output* handle,
                       TF_Operation** initialize, TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    if (graph == nullptr || name == nullptr || initializer == nullptr || handle == nullptr ||
        initialize == nullptr) {
      return absl::InvalidArgumentError(
          "graph, name, initializer, handle, initialize: expected pointers, got NULL");
    }
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckArray("dims", dims, num_dims));
    tensorflow::TensorShape shape;
    TF_RETURN_IF_ERROR(tensorflow::TensorShapeUtils::MakeShape(dims, num_dims, &shape));
    return tensorflow_ext::train::Add(
        graph, {name, static_cast<tensorflow::DataType>(dtype), shape, initializer}, handle,
        initialize);
  });
}

void TfExt_AddSaver(TF_Graph* graph, const TF_Output* variables, int n, const char* names,
                    TfExt_Saver* saver, TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    if (graph == nullptr || saver == nullptr) {
      return absl::InvalidArgumentError("graph, saver: expected pointers, got NULL");
    }
    return tensorflow_ext::train::Add(graph, variables, n, names, saver);
  });
}

}  // extern "C"
