// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/train/training_step.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow_ext/gradient/functions/node_copies.h"
#include "tensorflow_ext/gradient/plan/known_values.h"
#include "tensorflow_ext/gradient/slices/gradient_slices.h"
#include "tensorflow_ext/train/body.h"
#include "tensorflow_ext/train/graph_inputs.h"
#include "tensorflow_ext/train/rules.h"
#include "tensorflow_ext/train/write_step.h"

namespace tensorflow_ext::train {

using tensorflow::DataType;
using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::DT_INT64;
using tensorflow::DT_RESOURCE;
using tensorflow::Graph;
using tensorflow::GraphDef;
using tensorflow::Node;
using tensorflow::NodeDef;
using tensorflow::OutputTensor;
using tensorflow::TensorShape;

namespace {

// A variable that is trained, and its gradient: a whole one, or rows.
struct Trained {
  const Node* handle;
  DataType type;
  TensorShape shape;
  // Its name in the names of slots.
  std::string name;
  // "node:index". Empty indices: a whole gradient.
  std::string gradient, indices;
  DataType index_type = DT_INT32;
};

absl::StatusOr<Trained> ReadVariable(const OutputTensor& variable) {
  const Node& node = *variable.node;
  Trained trained{&node};
  tensorflow::PartialTensorShape shape;
  if (node.type_string() != "VarHandleOp") {
    return absl::InvalidArgumentError(
        absl::StrCat("variables: expected the handles of variables, VarHandleOp nodes, got '",
                     node.name(), "' of type ", node.type_string()));
  }
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "dtype", &trained.type));
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "shape", &shape));
  if (!shape.AsTensorShape(&trained.shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat("variables: '", node.name(), "' has the shape ", shape.DebugString(),
                     "; expected a known shape, which the optimizer's variables have, too"));
  }
  std::string shared_name;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "shared_name", &shared_name));
  trained.name = absl::StrReplaceAll(shared_name.empty() ? node.name() : shared_name, {{"/", "_"}});
  return trained;
}

// Characters that names of nodes cannot have become "_".
std::string NodeName(std::string name) {
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '_' && c != '-' && c != '/') c = '_';
  }
  if (name.empty() || !(absl::ascii_isalnum(name[0]) || name[0] == '.')) name = "_" + name;
  return name[0] == '_' ? "v" + name : name;
}

class StepBuilder {
 public:
  StepBuilder(const Graph& graph, Rules rules)
      : rules_(std::move(rules)), library_(tensorflow::OpRegistry::Global()), body_(&library_) {
    for (const Node* node : graph.nodes()) taken_.insert(node->name());
    // No node of the graph may be in the optimizer's scope.
    const std::string wanted = NodeName(rules_.name);
    prefix_ = wanted;
    for (int i = 1; HasScope(prefix_); ++i) prefix_ = absl::StrCat(wanted, "_", i);
  }

  // `loss_scale`: the handle of LossScaling's scale; null without one.
  absl::StatusOr<TrainingStep> Run(const std::vector<Trained>& all, const Node* loss_scale) {
    // Gradients are in use only after all of them exist: an op that computes one may still read a
    // variable.
    NodeDef* const computed = Add("gradients", "NoOp", {});
    std::set<std::string> nodes;
    for (const Trained& trained : all) {
      nodes.insert(trained.gradient.substr(0, trained.gradient.rfind(':')));
    }
    for (const std::string& node : nodes) computed->add_input(absl::StrCat("^", node));
    after_gradients_ = absl::StrCat("^", computed->name());

    StepState state;
    state.iteration = State(Scoped("iteration"), DT_INT64, {}, 0, "");
    if (!rules_.schedule) {
      state.learning_rate = State(Scoped("learning_rate"), DT_FLOAT, {}, rules_.learning_rate, "");
      result_.has_learning_rate = true;
    }
    for (const Trained& trained : all) state.parameters.push_back(AddParameter(trained));
    if (rules_.optimizer.product) state.product = State(Scoped("product"), all[0].type, {}, 1, "");
    if (loss_scale != nullptr) {
      state.finite_steps = State(Beside(loss_scale->name(), "step_counter"), DT_INT64, {}, 0, "");
      state.loss_scale =
          Initialized(loss_scale->name(), DT_FLOAT, {}, rules_.loss_scaling->initial_scale);
    }
    WriteStep(rules_, state, &body_);
    TF_ASSIGN_OR_RETURN(const auto function, body_.Finish("TfExt_train_step"));
    NodeDef* const call = Add("update", "StatefulPartitionedCall", {});
    tensorflow::DataTypeVector types;
    for (const auto& [name, type] : arguments_) {
      call->add_input(name);
      types.push_back(type);
    }
    call->add_input(after_gradients_);
    tensorflow::SetAttrValue(types, &(*call->mutable_attr())["Tin"]);
    tensorflow::SetAttrValue(tensorflow::DataTypeVector(), &(*call->mutable_attr())["Tout"]);
    tensorflow::SetAttrValue(function, &(*call->mutable_attr())["f"]);
    NodeDef* const step = Add("step", "NoOp", {absl::StrCat("^", call->name())});
    NodeDef* const initialize = Add("initialize", "NoOp", {});
    for (const std::string& assign : assigns_) initialize->add_input(absl::StrCat("^", assign));
    result_.step = step->name();
    result_.initialize = initialize->name();
    *result_.nodes.mutable_library() = library_.flib_def().ToProto();
    return std::move(result_);
  }

 private:
  bool HasScope(const std::string& scope) const {
    const auto next = taken_.lower_bound(scope);
    if (next == taken_.end()) return false;
    const auto inside = taken_.lower_bound(scope + "/");
    return *next == scope ||
           (inside != taken_.end() && inside->compare(0, scope.size() + 1, scope + "/") == 0);
  }

  std::string Scoped(const std::string& name) const { return absl::StrCat(prefix_, "/", name); }

  static std::string Beside(const std::string& node, const std::string& name) {
    return node.substr(0, node.rfind('/') + 1) + name;
  }

  // A node in the scope.
  NodeDef* Add(const std::string& name, const char* op, const std::vector<std::string>& inputs) {
    return AddNamed(Scoped(name), op, inputs);
  }

  // A node, whose name becomes unique.
  NodeDef* AddNamed(const std::string& wanted, const char* op,
                    const std::vector<std::string>& inputs) {
    std::string unique = wanted;
    for (int i = 1; !taken_.insert(unique).second; ++i) unique = absl::StrCat(wanted, "_", i);
    NodeDef* const node = result_.nodes.add_node();
    node->set_name(unique);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    return node;
  }

  template <typename T>
  static void Set(NodeDef* node, const char* attribute, const T& value) {
    tensorflow::SetAttrValue(value, &(*node->mutable_attr())[attribute]);
  }

  // Adds a constant and returns its name.
  std::string Constant(const std::string& name, const tensorflow::Tensor& value) {
    NodeDef* const node = Add(name, "Const", {});
    Set(node, "dtype", value.dtype());
    value.AsProtoTensorContent((*node->mutable_attr())["value"].mutable_tensor());
    return node->name();
  }

  // A tensor of the graph as an argument of the body.
  Expr Argument(const std::string& name, DataType type) {
    arguments_.emplace_back(name, type);
    return body_.Argument(type);
  }

  // Adds a variable of the optimizer.
  Place State(const std::string& name, DataType type, const TensorShape& shape, double initial,
              const std::string& device) {
    NodeDef* const handle = AddNamed(name, "VarHandleOp", {});
    const std::string node = handle->name();
    handle->set_device(device);
    Set(handle, "dtype", type);
    Set(handle, "shape", shape);
    Set(handle, "shared_name", node);
    return Initialized(node, type, shape, initial);
  }

  // Adds what sets a variable to its initial value. `node`: its handle.
  Place Initialized(const std::string& node, DataType type, const TensorShape& shape,
                    double initial) {
    tensorflow::Tensor value(type, {}), sizes(DT_INT64, {shape.dims()});
    body_.Check(FillWith({initial}, &value));
    for (int i = 0; i < shape.dims(); ++i) sizes.vec<int64_t>()(i) = shape.dim_size(i);
    const std::string scope = absl::StrCat("initial/", node.substr(node.rfind('/') + 1));
    NodeDef* const filled =
        Add(scope, "Fill", {Constant(scope + "/shape", sizes), Constant(scope + "/value", value)});
    Set(filled, "T", type);
    Set(filled, "index_type", DT_INT64);
    NodeDef* const assign = Add(scope + "/assign", "AssignVariableOp", {node, filled->name()});
    Set(assign, "dtype", type);
    assigns_.push_back(assign->name());
    result_.state.push_back(node + ":0");
    result_.names.push_back(node);
    return {Argument(node, DT_RESOURCE), type, {}};
  }

  // A slot of a trained variable.
  Place SlotOf(const Trained& trained, const std::string& slot, double initial) {
    return State(Scoped(NodeName(absl::StrCat(trained.name, "_", slot))), trained.type,
                 trained.shape, initial, trained.handle->requested_device());
  }

  Parameter AddParameter(const Trained& trained) {
    Parameter p;
    p.whole = {Argument(trained.handle->name(), DT_RESOURCE), trained.type, {}};
    p.rows = p.whole;
    NodeDef* const gradient = Add("gradient", "Identity", {trained.gradient, after_gradients_});
    Set(gradient, "T", trained.type);
    p.gradient = Argument(gradient->name(), trained.type);
    if (!trained.indices.empty()) p.rows.indices = Argument(trained.indices, trained.index_type);
    for (const Slot& slot : rules_.optimizer.slots) {
      p.slots.push_back(SlotOf(trained, slot.name, slot.initial));
      p.slots.back().indices = p.rows.indices;
    }
    if (rules_.use_ema) p.average = SlotOf(trained, "average", 0);
    if (rules_.gradient_accumulation_steps > 1) {
      p.accumulator = SlotOf(trained, "gradient_accumulator", 0);
    }
    return p;
  }

  const Rules rules_;
  std::set<std::string> taken_;
  std::string prefix_, after_gradients_;
  // Its library has the functions.
  Graph library_;
  Body body_;
  // The arguments of the body: inputs of the call.
  std::vector<std::pair<std::string, DataType>> arguments_;
  std::vector<std::string> assigns_;
  TrainingStep result_;
};

// The scale that a LossScaleOptimizer of that name needs.
absl::StatusOr<const Node*> FindLossScale(const Graph& graph, const std::string& optimizer) {
  const std::string name = absl::StrCat(optimizer, "/dynamic_scale");
  for (const Node* node : graph.nodes()) {
    if (node->name() == name && node->type_string() == "VarHandleOp") return node;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "optimizer: a LossScaleOptimizer needs the variable '", name,
      "', a VarHandleOp of type float and shape [], in the graph; multiply the loss by its value "
      "before its gradients are added"));
}

DataType TypeOf(const OutputTensor& tensor) { return tensor.node->output_type(tensor.index); }

}  // namespace

absl::StatusOr<std::string> LossScaleName(const std::string& optimizer) {
  TF_ASSIGN_OR_RETURN(const Rules rules, ReadRules(optimizer));
  return rules.loss_scaling ? rules.loss_scaling->name : std::string();
}

absl::StatusOr<TrainingStep> ApplyGradients(const Graph& graph,
                                            const std::vector<OutputTensor>& gradients,
                                            const std::vector<OutputTensor>& variables,
                                            const std::string& optimizer, const Node* loss_scale) {
  if (gradients.size() != variables.size()) {
    return absl::InvalidArgumentError(absl::StrCat("expected a gradient for each of ",
                                                   variables.size(), " variables, got ",
                                                   gradients.size()));
  }
  TF_ASSIGN_OR_RETURN(Rules rules, ReadRules(optimizer));
  if (rules.loss_scaling && loss_scale == nullptr) {
    TF_ASSIGN_OR_RETURN(loss_scale, FindLossScale(graph, rules.loss_scaling->name));
  }
  std::vector<Trained> all;
  std::vector<OutputTensor> existing;
  std::set<const Node*> different;
  for (size_t k = 0; k < gradients.size(); ++k) {
    TF_ASSIGN_OR_RETURN(Trained trained, ReadVariable(variables[k]));
    const OutputTensor& gradient = gradients[k];
    if (!different.insert(trained.handle).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variables[", k, "]: '", trained.handle->name(), "' is there twice; expected it once"));
    }
    if (gradient.node == nullptr) continue;
    if (TypeOf(gradient) != trained.type) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradients[", k, "]: '", gradient.node->name(), "' has the type ",
                       tensorflow::DataTypeString(TypeOf(gradient)), "; expected ",
                       tensorflow::DataTypeString(trained.type), ", the type of the variable '",
                       trained.handle->name(), "'"));
    }
    trained.gradient = absl::StrCat(gradient.node->name(), ":", gradient.index);
    all.push_back(std::move(trained));
    existing.push_back(gradient);
  }
  if (all.empty()) {
    return absl::InvalidArgumentError("gradients: expected a gradient of at least one variable");
  }
  GraphDef row_nodes;
  const bool by_rows =
      rules.gradient_accumulation_steps == 1 && (rules.lazy || rules.optimizer.leaves_zero_rows);
  if (by_rows) {
    TF_ASSIGN_OR_RETURN(SlicedGradients sliced,
                        SliceGradients(graph, existing, /*sum_repeated=*/true));
    for (size_t k = 0; k < all.size(); ++k) {
      const GradientSlices& found = sliced.gradients[k];
      all[k].gradient = found.values.empty() ? found.dense : found.values;
      all[k].indices = found.indices;
      all[k].index_type = found.index_type;
    }
    row_nodes = std::move(sliced.nodes);
  }
  TF_ASSIGN_OR_RETURN(TrainingStep step, StepBuilder(graph, std::move(rules)).Run(all, loss_scale));
  step.nodes.mutable_node()->MergeFrom(row_nodes.node());
  step.nodes.mutable_library()->MergeFrom(row_nodes.library());
  return step;
}

absl::StatusOr<TrainingStep> ApplyGradients(const void* graph_def, size_t length,
                                            const std::vector<std::string>& gradients,
                                            const std::vector<std::string>& variables,
                                            const std::string& optimizer) {
  Graph graph(tensorflow::OpRegistry::Global());
  std::vector<std::string> names = variables;
  for (const std::string& gradient : gradients) {
    if (!gradient.empty()) names.push_back(gradient);
  }
  TF_ASSIGN_OR_RETURN(const auto found,
                      ReadGraph(graph_def, length, "gradients or variables", names, &graph));
  auto next = found.begin() + variables.size();
  std::vector<OutputTensor> tensors;
  for (const std::string& gradient : gradients) {
    tensors.push_back(gradient.empty() ? OutputTensor() : *next++);
  }
  TF_ASSIGN_OR_RETURN(
      TrainingStep step,
      ApplyGradients(graph, tensors, {found.begin(), found.begin() + variables.size()}, optimizer));
  step.inputs = ReadTensorsOnly(graph, &step.nodes);
  return step;
}

}  // namespace tensorflow_ext::train
