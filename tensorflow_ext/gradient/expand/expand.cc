#include "tensorflow_ext/gradient/expand/expand.h"

#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/expand/result_check.h"
#include "tensorflow_ext/gradient/expand/run_time_checks.h"
#include "tensorflow_ext/gradient/expand/static_shapes.h"
#include "tensorflow_ext/gradient/expand/upstream.h"
#include "tensorflow_ext/gradient/plan/known_values.h"

namespace tensorflow_ext {

using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;
using NodeOut = tensorflow::NodeBuilder::NodeOut;

namespace {

// Adds one plan. Steps that make tensors of data are added in order. Steps that compute with shapes
// wait until a node needs their result; if it is known by then, it becomes a constant. So known
// results cost nothing, and each tensor's shape is known when a later step asks for it.
class Expander {
 public:
  Expander(const Plan& plan, const Scope& scope, const Operation& forward,
           const std::vector<Output>& upstream)
      : plan_(plan),
        scope_(scope),
        forward_(forward),
        upstream_(upstream),
        shapes_(scope),
        nodes_(scope, forward),
        steps_(plan.steps.size()) {}

  absl::Status Run(std::vector<Output>* gradients) { return nodes_.Finish(AddAll(gradients)); }

 private:
  struct StepState {
    Node* node = nullptr;  // once it is added
    // The tensor that its only output equals; then no node is added.
    std::optional<Source> equal;
    // True if the step depends only on constants and shapes.
    bool is_of_shapes = false;
    std::vector<Known> outputs;  // may be empty

    bool IsKnown() const {
      return !outputs.empty() &&
             absl::c_all_of(outputs, [](const Known& output) { return output.value.has_value(); });
    }
  };

  absl::Status AddAll(std::vector<Output>* gradients) {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!Foresee(i)) TF_RETURN_IF_ERROR(AddStep(i));
    }
    gradients->assign(plan_.results.size(), tensorflow::NoGradient());
    for (size_t i = 0; i < plan_.results.size(); ++i) {
      if (!plan_.results[i] || IsOfMissingResource(*plan_.results[i])) continue;
      TF_ASSIGN_OR_RETURN((*gradients)[i], Find(*plan_.results[i]));
    }
    nodes_.RemoveUnused(*gradients);
    const ResultCheck check(plan_, forward_, upstream_, shapes_);
    const std::vector<Output> found = *gradients;
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].node() == nullptr) continue;
      Output* gradient = &(*gradients)[i];
      const Source made_by = Resolve(*plan_.results[i]);
      TF_RETURN_IF_ERROR(check.Check(i, *gradient, made_by));
      if (ChecksAtRunTime() && check.IsUncertain(i, *gradient)) {
        TF_ASSIGN_OR_RETURN(*gradient, check.AddCheck(i, *gradient, made_by, &nodes_));
      } else if (IsUsedElsewhere(found, i) || IsOfClient(*gradient, made_by)) {
        TF_ASSIGN_OR_RETURN(*gradient, nodes_.WrapInIdentity(*gradient));
      }
      const Output input = forward_.input(i);
      if (nodes_.Added(gradient->node()) && tensorflow::DataTypeIsNumeric(input.type())) {
        shapes_.Refine(*gradient, input);
      }
    }
    return absl::OkStatus();
  }

  // True if the gradient is the tensor that the client gave. A tensor that is fed cannot be
  // fetched.
  bool IsOfClient(const Output& gradient, const Source& made_by) const {
    return made_by.kind == Source::kUpstream && !nodes_.Added(gradient.node()) &&
           !IsMadeByThisCall(scope_, gradient.node()->name());
  }

  // True if `source` is the missing upstream gradient of a resource, which has no zeros.
  bool IsOfMissingResource(const Source& source) const {
    return source.kind == Source::kUpstream && upstream_[source.index].node() == nullptr &&
           forward_.output_type(source.index) == tensorflow::DT_RESOURCE;
  }

  // Finds known properties of the outputs of step `i`. Returns true if the step is only added when
  // Find needs it.
  bool Foresee(int i) {
    const Step& step = plan_.steps[i];
    StepState& state = steps_[i];
    const bool is_pure = !step.op_def->is_stateful() && step.control_inputs.empty();
    if (!is_pure) return false;
    const std::string& op = step.node.op();
    state.is_of_shapes = op == "Shape" || op == "ShapeN" || op == "Size" || op == "Rank" ||
                         absl::c_all_of(step.inputs, [this](const Source& input) {
                           return input.kind == Source::kStep && steps_[input.index].is_of_shapes;
                         });
    const auto may_have_value = [](const Source& input) {
      return input.kind == Source::kStep || input.kind == Source::kInput;
    };
    // Most steps compute with tensors whose values are unknown.
    if (!NeedsShapes(op) && !absl::c_all_of(step.inputs, may_have_value)) {
      return state.is_of_shapes;
    }
    std::vector<Known> inputs;
    for (const Source& input : step.inputs) inputs.push_back(WhatIsKnown(input));
    if (const std::optional<int> equal = EqualInput(step, inputs)) {
      state.equal = step.inputs[*equal];
      return true;
    }
    state.outputs = KnownOutputs(step, inputs);
    return state.is_of_shapes || state.IsKnown();
  }

  // Follows steps that change nothing.
  Source Resolve(Source source) const {
    while (source.kind == Source::kStep && steps_[source.index].equal) {
      source = *steps_[source.index].equal;
    }
    return source;
  }

  Known WhatIsKnown(const Source& unresolved) {
    const Source source = Resolve(unresolved);
    Output tensor;
    switch (source.kind) {
      case Source::kStep: {
        const StepState& state = steps_[source.index];
        if (source.output < static_cast<int>(state.outputs.size())) {
          return state.outputs[source.output];
        }
        if (state.node == nullptr) return Known();
        tensor = Output(state.node, source.output);
        break;
      }
      case Source::kInput: {
        tensor = forward_.input(source.index);
        // Axes and the like. Inputs with a gradient are not replaced, because clients differentiate
        // by constants too, and more than once.
        if (!plan_.results[source.index] && tensorflow::DataTypeIsInteger(tensor.type())) {
          const auto value = SmallConstant(tensor.node()->def());
          if (value) return KnownValue(*value);
        }
        break;
      }
      case Source::kOutput:
        tensor = forward_.output(source.index);
        break;
      case Source::kUpstream:
        tensor = upstream_[source.index];
        // The zeros will have the output's shape.
        if (tensor.node() == nullptr) tensor = forward_.output(source.index);
        break;
    }
    Known known;
    known.shape = shapes_.Of(tensor);
    return known;
  }

  // The tensor of the client's graph for `unresolved`; adds the nodes that make it.
  absl::StatusOr<Output> Find(const Source& unresolved) {
    const Source source = Resolve(unresolved);
    switch (source.kind) {
      case Source::kInput:
        return forward_.input(source.index);
      case Source::kOutput:
        return forward_.output(source.index);
      case Source::kUpstream: {
        Output& tensor = upstream_[source.index];
        if (tensor.node() == nullptr) {  // missing: zeros, made once
          TF_ASSIGN_OR_RETURN(tensor, nodes_.ZerosLike(forward_.output(source.index)));
        }
        return tensor;
      }
      case Source::kStep:
        break;
    }
    const StepState& state = steps_[source.index];
    if (state.node == nullptr && IsBetterConstant(source)) {
      return nodes_.Constant(plan_.steps[source.index].node.name(),
                             *state.outputs[source.output].value);
    }
    TF_RETURN_IF_ERROR(AddStep(source.index));
    return Output(state.node, source.output);
  }

  // True if the value of a step's output is known and its other outputs are unused. Otherwise the
  // step itself needs fewer nodes.
  bool IsBetterConstant(const Source& source) const {
    const StepState& state = steps_[source.index];
    if (source.output >= static_cast<int>(state.outputs.size()) ||
        !state.outputs[source.output].value || !plan_.steps[source.index].node.device().empty()) {
      return false;
    }
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (steps_[i].equal || steps_[i].IsKnown()) continue;
      for (const Source& input : plan_.steps[i].inputs) {
        if (input.kind == Source::kStep && input.index == source.index &&
            input.output != source.output) {
          return false;
        }
      }
    }
    return true;
  }

  // True if gradient `i` of `gradients` is also an input of an added node, or if its node makes
  // another gradient too.
  bool IsUsedElsewhere(const std::vector<Output>& gradients, size_t i) const {
    const Output& gradient = gradients[i];
    for (size_t k = 0; k < gradients.size(); ++k) {
      if (k == i || gradients[k].node() != gradient.node()) continue;
      if (gradients[k].index() == gradient.index() || nodes_.Added(gradient.node())) {
        return true;
      }
    }
    return absl::c_any_of(gradient.node()->out_edges(), [&](const tensorflow::Edge* edge) {
      return edge->src_output() == gradient.index() && nodes_.Added(edge->dst());
    });
  }

  // Adds step `i` if it was not added yet.
  absl::Status AddStep(int i) {
    StepState& state = steps_[i];
    if (state.node != nullptr) return absl::OkStatus();
    const Step& step = plan_.steps[i];
    std::vector<NodeOut> inputs;
    for (const Source& input : step.inputs) {
      TF_ASSIGN_OR_RETURN(const Output tensor, Find(input));
      inputs.emplace_back(tensor.node(), tensor.index());
    }
    NodeBuilder builder = nodes_.New(step.node.name(), step.op_def);
    auto next = inputs.begin();
    for (int size : step.argument_sizes) {
      if (size < 0) {
        builder.Input(*next++);
      } else {
        builder.Input(std::vector<NodeOut>(next, next + size));
        next += size;
      }
    }
    for (const auto& [name, value] : step.node.attr()) {
      builder.Attr(name, value);
    }
    for (int control : step.control_inputs) {
      TF_ASSIGN_OR_RETURN(const Output before, Find({Source::kStep, control}));
      builder.ControlInput(before.node());
    }
    // The definition may request a device.
    TF_ASSIGN_OR_RETURN(state.node, nodes_.Add(builder, step.node.device()));
    return absl::OkStatus();
  }

  const Plan& plan_;
  const Scope& scope_;
  const Operation& forward_;
  std::vector<Output> upstream_;
  StaticShapes shapes_;
  GradientNodes nodes_;
  std::vector<StepState> steps_;
};

}  // namespace

absl::Status Expand(const Plan& plan, const Scope& scope, const Operation& forward,
                    const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  const int num_outputs = upstream.size();
  if (num_outputs != plan.num_outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("The gradient of node '", forward.node()->name(), "' of op ",
                     forward.node()->type_string(), " was given ", num_outputs,
                     " upstream gradients, but the op has ", plan.num_outputs, " outputs"));
  }
  return Expander(plan, scope, forward, upstream).Run(gradients);
}

}  // namespace tensorflow_ext
