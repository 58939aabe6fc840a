#include "tensorflow_ext/gradient/plan/plan.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow_ext/gradient/define/definition.h"
#include "tensorflow_ext/gradient/define/node_attributes.h"
#include "tensorflow_ext/gradient/graph/loops.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::OpDef;

namespace {

constexpr char kNoGradientOp[] = "TfExt>NoGradient";

// Builds one plan. Walks the body from its results to its arguments, so it visits only nodes that a
// wanted gradient needs.
class Planner {
 public:
  Planner(const Definition& definition, const Wanted& wanted)
      : definition_(definition), wanted_(wanted) {
    plan_.num_inputs = definition.forward.input_types.size();
    plan_.num_outputs = definition.forward.output_types.size();
  }

  absl::StatusOr<Plan> Build() {
    for (const NodeDef& node : definition_.body) {
      nodes_[node.name()].node = &node;
    }
    plan_.results.resize(plan_.num_inputs);
    for (const NodeDef& node : definition_.body) {
      if (node.op() != "_Retval") continue;
      TF_RETURN_IF_ERROR(AddResult(node));
    }
    return std::move(plan_);
  }

 private:
  enum class State { kNew, kVisiting, kDone };
  struct BodyNode {
    const NodeDef* node = nullptr;
    State state = State::kNew;
    // The sources of its outputs, once done: one for each, or only the first if they are
    // consecutive outputs of a step or of the forward op.
    std::vector<Source> outputs;
  };

  absl::Status AddResult(const NodeDef& retval) {
    int index = retval.attr().at("index").i();
    if (!IsWanted(definition_.forward, wanted_, index)) return absl::OkStatus();
    const std::string producer(tensorflow::ParseTensorName(retval.input(0)).node());
    auto found = nodes_.find(producer);
    if (found != nodes_.end() && found->second.node->op() == kNoGradientOp) {
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(plan_.results[index], Resolve(retval.input(0)));
    return absl::OkStatus();
  }

  absl::Status Error(absl::string_view what) const {
    return absl::FailedPreconditionError(
        absl::StrCat("In the gradient of ", definition_.forward.node.op(), ": ", what));
  }

  // The source of the body's tensor `name` ("node", "node:1" or "^node"); adds the steps that make
  // it.
  absl::StatusOr<Source> Resolve(const std::string& name) {
    const tensorflow::TensorId id = tensorflow::ParseTensorName(name);
    auto found = nodes_.find(std::string(id.node()));
    if (found == nodes_.end()) {
      return Error(absl::StrCat("there is no node '", id.node(), "'"));
    }
    BodyNode& body_node = found->second;
    if (body_node.state == State::kVisiting) {
      return Error(absl::StrCat("node '", body_node.node->name(), "' depends on itself: a cycle"));
    }
    if (body_node.state == State::kNew) {
      body_node.state = State::kVisiting;
      TF_ASSIGN_OR_RETURN(body_node.outputs, Visit(*body_node.node));
      body_node.state = State::kDone;
    }
    const int output = std::max(id.index(), 0);
    if (output < static_cast<int>(body_node.outputs.size())) {
      return body_node.outputs[output];
    }
    Source source = body_node.outputs[0];
    if (source.kind == Source::kStep) {
      source.output += output;
    } else {
      source.index += output;
    }
    return source;
  }

  // Adds the steps that make the outputs of `node`. Returns their sources in the form of
  // BodyNode::outputs.
  absl::StatusOr<std::vector<Source>> Visit(const NodeDef& node) {
    if (node.op() == "_Arg") {
      const int index = node.attr().at("index").i();
      const bool is_input = index < plan_.num_inputs;
      if (is_input) return std::vector<Source>{{Source::kInput, index}};
      return std::vector<Source>{{Source::kUpstream, index - plan_.num_inputs}};
    }
    Step step;
    std::vector<int> controls;
    bool same_inputs =
        node.op() == definition_.forward.node.op() && node.input_size() == plan_.num_inputs;
    for (const std::string& input : node.input()) {
      TF_ASSIGN_OR_RETURN(Source source, Resolve(input));
      if (tensorflow::ParseTensorName(input).index() < 0) {
        if (source.kind == Source::kStep) controls.push_back(source.index);
        continue;
      }
      const int position = step.inputs.size();
      same_inputs = same_inputs && source.kind == Source::kInput && source.index == position;
      step.inputs.push_back(source);
    }
    if (same_inputs && SameAttributes(node, definition_.forward.node)) {
      return std::vector<Source>{{Source::kOutput, 0}};
    }
    // Ops of TensorFlow's runtime that pass on their inputs one by one. They have no gradient that
    // a client could call.
    if (node.op() == "_ListToArray" || node.op() == "_ArrayToList") {
      return std::move(step.inputs);
    }
    step.node = node;
    step.node.clear_input();
    step.node.clear_experimental_debug_info();
    step.control_inputs = std::move(controls);
    TF_RETURN_IF_ERROR(tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &step.op_def));
    for (const OpDef::ArgDef& argument : step.op_def->input_arg()) {
      step.argument_sizes.push_back(IsList(argument) ? SizeOf(argument, node) : -1);
    }
    plan_.steps.push_back(std::move(step));
    return std::vector<Source>{{Source::kStep, static_cast<int>(plan_.steps.size()) - 1}};
  }

  const Definition& definition_;
  const Wanted& wanted_;
  absl::flat_hash_map<std::string, BodyNode> nodes_;
  Plan plan_;
};

}  // namespace

bool IsDifferentiable(DataType type) { return CarriesGradient(type); }

bool IsWanted(const Forward& forward, const Wanted& wanted, int i) {
  if (!wanted.inputs.empty() && wanted.inputs[i] == 0) return false;
  return wanted.of_any_type || IsDifferentiable(forward.input_types[i]);
}

absl::StatusOr<Plan> MakePlan(const Definition& definition, const Wanted& wanted) {
  return Planner(definition, wanted).Build();
}

GraphDef PlanToGraphDef(const Plan& plan) {
  GraphDef graph;
  std::vector<bool> seen(plan.num_inputs + 2 * plan.num_outputs, false);
  const auto tensor_name = [&](const Source& source) -> std::string {
    if (source.kind == Source::kStep) {
      return absl::StrCat(plan.steps[source.index].node.name(), ":", source.output);
    }
    int index = source.index;
    if (source.kind != Source::kInput) index += plan.num_inputs;
    if (source.kind == Source::kOutput) index += plan.num_outputs;
    // No name of a definition's node can begin with '_'.
    const std::string name = absl::StrCat("_Arg_", index);
    if (!seen[index]) {
      seen[index] = true;
      NodeDef* arg = graph.add_node();
      arg->set_name(name);
      arg->set_op("_Arg");
      (*arg->mutable_attr())["index"].set_i(index);
    }
    return absl::StrCat(name, ":0");
  };
  for (const Step& step : plan.steps) {
    NodeDef node = step.node;
    for (const Source& input : step.inputs) node.add_input(tensor_name(input));
    for (int control : step.control_inputs) {
      node.add_input(absl::StrCat("^", plan.steps[control].node.name()));
    }
    *graph.add_node() = std::move(node);
  }
  for (int i = 0; i < plan.num_inputs; ++i) {
    if (!plan.results[i]) continue;
    const std::string input = tensor_name(*plan.results[i]);
    NodeDef* retval = graph.add_node();
    retval->set_name(absl::StrCat("_Retval_", i));
    retval->set_op("_Retval");
    retval->add_input(input);
    (*retval->mutable_attr())["index"].set_i(i);
  }
  return graph;
}

}  // namespace tensorflow_ext
