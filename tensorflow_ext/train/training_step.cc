#include "tensorflow_ext/train/training_step.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tensorflow_ext/gradient/functions/node_copies.h"
#include "tensorflow_ext/gradient/plan/known_values.h"
#include "tensorflow_ext/gradient/slices/gradient_slices.h"
#include "tensorflow_ext/train/body.h"
#include "tensorflow_ext/train/graph_inputs.h"
#include "tensorflow_ext/train/new_nodes.h"
#include "tensorflow_ext/train/rules.h"
#include "tensorflow_ext/train/variable.h"
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
struct Trained : Variable {
  // The place among the variables of ApplyGradients.
  size_t index = 0;
  // "node:index". Empty indices: a whole gradient.
  std::string gradient, indices;
  DataType index_type = DT_INT32;
};

class StepBuilder {
 public:
  // `n`: the number of variables, those without a gradient included.
  StepBuilder(const Graph& graph, Rules rules, size_t n)
      : rules_(std::move(rules)),
        n_(n),
        nodes_(graph),
        scope_(nodes_.NewScope(rules_.name)),
        library_(tensorflow::OpRegistry::Global()),
        body_(&library_) {}

  // `loss_scale`: the handle of LossScaling's scale; null without one.
  absl::StatusOr<TrainingStep> Run(const std::vector<Trained>& all, const Node* loss_scale) {
    // Gradients are in use only after all of them exist: an op that computes one may still read a
    // variable.
    std::set<std::string> computed;
    for (const Trained& trained : all) {
      computed.insert(trained.gradient.substr(0, trained.gradient.rfind(':')));
    }
    all_gradients_ = nodes_.Group(Scoped("gradients"), {computed.begin(), computed.end()});
    const std::string scale = loss_scale == nullptr ? "" : loss_scale->name();
    const std::string scaling = scale.substr(0, scale.rfind('/') + 1);
    saved_scope_ = scale.empty() ? scope_ + "/" : scaling + "inner_optimizer/";
    StepState state;
    state.iteration = State("iteration", "_iterations", DT_INT64, {}, 0);
    if (!rules_.schedule) {
      state.learning_rate =
          State("learning_rate", "_learning_rate", DT_FLOAT, {}, rules_.learning_rate);
      result_.has_learning_rate = true;
    }
    saved_ = result_.state.size();
    for (const Trained& trained : all) state.parameters.push_back(AddParameter(trained));
    AddSlots(all, &state.parameters);
    if (rules_.optimizer.product) {
      state.product = State("product", "_u_product", all[0].type, {}, 1);
    }
    if (!scale.empty()) {
      const std::string counter = nodes_.Variable(scaling + "step_counter", DT_INT64, {}, "");
      state.finite_steps = Initialized(counter, counter, DT_INT64, {}, 0);
      state.loss_scale =
          Initialized(scale, scale, DT_FLOAT, {}, rules_.loss_scaling->initial_scale);
    }
    WriteStep(rules_, state, &body_);
    TF_ASSIGN_OR_RETURN(const std::string call, nodes_.Call(Scoped("update"), "TfExt_train_step",
                                                            arguments_, {all_gradients_}, &body_));
    result_.step = nodes_.Group(Scoped("step"), {call});
    result_.initialize = nodes_.Group(Scoped("initialize"), assigns_);
    result_.nodes = nodes_.Take(library_);
    return std::move(result_);
  }

 private:
  std::string Scoped(const std::string& name) const { return absl::StrCat(scope_, "/", name); }

  // A tensor of the graph as an argument of the body.
  Expr Argument(const std::string& name, DataType type) {
    arguments_.emplace_back(name, type);
    return body_.Argument(type);
  }

  // Adds a variable of the optimizer. `saved`: its name in the optimizer's part of a checkpoint.
  Place State(const std::string& name, const std::string& saved, DataType type,
              const TensorShape& shape, double initial, const std::string& device = "") {
    return Initialized(nodes_.Variable(Scoped(name), type, shape, device), saved_scope_ + saved,
                       type, shape, initial);
  }

  // Adds the ops that set a variable to its initial value. `handle`: its node.
  Place Initialized(const std::string& handle, const std::string& saved, DataType type,
                    const TensorShape& shape, double initial) {
    tensorflow::Tensor value(type, {}), sizes(DT_INT64, {shape.dims()});
    body_.Check(FillWith({initial}, &value));
    for (int i = 0; i < shape.dims(); ++i) sizes.vec<int64_t>()(i) = shape.dim_size(i);
    const std::string scope =
        Scoped(absl::StrCat("initial/", handle.substr(handle.rfind('/') + 1)));
    NodeDef* const filled = nodes_.Add(
        scope, "Fill",
        {nodes_.Constant(scope + "/shape", sizes), nodes_.Constant(scope + "/value", value)});
    NewNodes::Set(filled, "T", type);
    NewNodes::Set(filled, "index_type", DT_INT64);
    NodeDef* const assign =
        nodes_.Add(scope + "/assign", "AssignVariableOp", {handle, filled->name()});
    NewNodes::Set(assign, "dtype", type);
    assigns_.push_back(assign->name());
    result_.state.push_back(handle + ":0");
    result_.names.push_back(saved);
    return {Argument(handle, DT_RESOURCE), type, {}};
  }

  // Adds the slots of all variables. Checkpoints number an optimizer's variables in the order in
  // which Keras makes them, also those of variables without a gradient, which have none here.
  void AddSlots(const std::vector<Trained>& all, std::vector<Parameter>* parameters) {
    if (rules_.use_ema) {
      const auto averages = AddSlots(all, {{"average"}});
      for (size_t k = 0; k < all.size(); ++k) (*parameters)[k].average = averages[k][0];
    }
    if (rules_.gradient_accumulation_steps > 1) {
      const auto accumulators = AddSlots(all, {{"gradient_accumulator"}});
      for (size_t k = 0; k < all.size(); ++k) (*parameters)[k].accumulator = accumulators[k][0];
    }
    const std::vector<Slot>& slots = rules_.optimizer.slots;
    for (auto first = slots.begin(); first != slots.end();) {
      const auto last =
          std::find_if(first + 1, slots.end(), [](const Slot& slot) { return slot.is_apart; });
      const auto added = AddSlots(all, {first, last});
      for (size_t k = 0; k < all.size(); ++k) {
        Parameter& p = (*parameters)[k];
        for (const Place& slot : added[k]) {
          p.slots.push_back(slot);
          p.slots.back().indices = p.rows.indices;
        }
      }
      first = last;
    }
  }

  // Adds these slots of the first variable, then of the second. Returns those of each.
  std::vector<std::vector<Place>> AddSlots(const std::vector<Trained>& all,
                                           const std::vector<Slot>& slots) {
    std::vector<std::vector<Place>> added(all.size());
    for (size_t k = 0; k < all.size(); ++k) {
      const std::string name = absl::StrReplaceAll(all[k].name, {{"/", "_"}});
      for (size_t i = 0; i < slots.size(); ++i) {
        added[k].push_back(
            State(absl::StrCat(name, "_", slots[i].name),
                  absl::StrCat("_variables/", saved_ + all[k].index * slots.size() + i),
                  all[k].type, all[k].shape, slots[i].initial, all[k].handle->requested_device()));
      }
    }
    saved_ += n_ * slots.size();
    return added;
  }

  Parameter AddParameter(const Trained& trained) {
    Parameter p;
    p.whole = {Argument(trained.handle->name(), DT_RESOURCE), trained.type, {}};
    p.rows = p.whole;
    const bool is_whole = trained.indices.empty();
    NodeDef* const gradient =
        nodes_.Add(Scoped("gradient/" + trained.name), is_whole ? "EnsureShape" : "Identity",
                   {trained.gradient, absl::StrCat("^", all_gradients_)});
    NewNodes::Set(gradient, "T", trained.type);
    if (is_whole) NewNodes::Set(gradient, "shape", trained.shape);
    p.gradient = Argument(gradient->name(), trained.type);
    if (!is_whole) p.rows.indices = Argument(trained.indices, trained.index_type);
    return p;
  }

  const Rules rules_;
  const size_t n_;
  // The beginning of names in checkpoints, and the number of Keras' variables before these slots.
  std::string saved_scope_;
  size_t saved_ = 0;
  NewNodes nodes_;
  const std::string scope_;
  std::string all_gradients_;
  // Its library has the functions.
  Graph library_;
  Body body_;
  // The arguments of the body: inputs of the call.
  NewNodes::Arguments arguments_;
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
      "', a VarHandleOp of type float and shape [], in the graph, and gradients of the loss times "
      "its value: minimize adds both if the optimizer has the type LossScaleOptimizer, which JSON "
      "does not have"));
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
  // Two handles may have one name, and are one variable then.
  std::set<std::string> different;
  for (size_t k = 0; k < gradients.size(); ++k) {
    Trained trained;
    trained.index = k;
    TF_ASSIGN_OR_RETURN(static_cast<Variable&>(trained), ReadVariable(variables[k]));
    const OutputTensor& gradient = gradients[k];
    if (!different.insert(trained.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("variables[", k, "]: '", trained.name,
                                                     "' is listed twice; expected it once"));
    }
    if (gradient.node == nullptr) continue;
    if (!tensorflow::DataTypeIsFloating(trained.type)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variables[", k, "]: '", trained.name, "' has the type ",
          tensorflow::DataTypeString(trained.type), "; expected half, bfloat16, float or double"));
    }
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
    return absl::InvalidArgumentError(absl::StrCat(
        "gradients: expected a gradient of at least one variable, got none of ", variables.size(),
        "; a loss must be a tensor of floating-point numbers that depends on one"));
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
  TF_ASSIGN_OR_RETURN(TrainingStep step,
                      StepBuilder(graph, std::move(rules), variables.size()).Run(all, loss_scale));
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
