// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/expand.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/gradient_nodes.h"

namespace tensorflow_ext {

using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;

namespace {

class Expander {
 public:
  Expander(const Plan& plan, const Scope& scope, const Operation& forward,
           const std::vector<Output>& upstream)
      : plan_(plan),
        forward_(forward),
        upstream_(upstream),
        nodes_(scope, forward) {
    steps_.reserve(plan.steps.size());
  }

  absl::Status Run(std::vector<Output>* gradients) {
    return nodes_.Finish(AddAll(gradients));
  }

 private:
  absl::Status AddAll(std::vector<Output>* gradients) {
    for (const Step& step : plan_.steps) {
      TF_RETURN_IF_ERROR(AddStep(step));
    }
    gradients->assign(plan_.results.size(), tensorflow::NoGradient());
    for (size_t i = 0; i < plan_.results.size(); ++i) {
      if (!plan_.results[i] || IsOfMissingResource(*plan_.results[i])) continue;
      Output* gradient = &(*gradients)[i];
      TF_RETURN_IF_ERROR(Find(*plan_.results[i], gradient));
      if (IsUsedElsewhere(i)) {
        TF_ASSIGN_OR_RETURN(*gradient, nodes_.WrapInIdentity(*gradient));
      }
    }
    return absl::OkStatus();
  }

  // Whether `source` is the upstream gradient, which is missing, of a resource:
  // there are no zeros of these.
  bool IsOfMissingResource(const Source& source) const {
    return source.kind == Source::kUpstream &&
           upstream_[source.index].node() == nullptr &&
           forward_.output_type(source.index) == tensorflow::DT_RESOURCE;
  }

  // The tensor of the client's graph behind `source`.
  absl::Status Find(const Source& source, Output* tensor) {
    switch (source.kind) {
      case Source::kInput:
        *tensor = forward_.input(source.index);
        break;
      case Source::kOutput:
        *tensor = forward_.output(source.index);
        break;
      case Source::kStep:
        *tensor = Output(steps_[source.index], source.output);
        break;
      case Source::kUpstream:
        *tensor = upstream_[source.index];
        if (tensor->node() == nullptr) {  // missing: zeros, made once
          TF_ASSIGN_OR_RETURN(*tensor,
                              nodes_.ZerosLike(forward_.output(source.index)));
          upstream_[source.index] = *tensor;
        }
        break;
    }
    return absl::OkStatus();
  }

  // Whether the tensor of gradient `i` is the input of a step too, or its step
  // makes another gradient.
  bool IsUsedElsewhere(size_t i) const {
    const Source& result = *plan_.results[i];
    for (size_t k = 0; k < plan_.results.size(); ++k) {
      if (k != i && plan_.results[k] && result.kind == Source::kStep &&
          plan_.results[k]->kind == Source::kStep &&
          plan_.results[k]->index == result.index) {
        return true;
      }
    }
    for (const Step& step : plan_.steps) {
      for (const Source& input : step.inputs) {
        if (input.kind == result.kind && input.index == result.index &&
            input.output == result.output) {
          return true;
        }
      }
    }
    return false;
  }

  absl::Status AddStep(const Step& step) {
    NodeBuilder builder = nodes_.New(step.node.name(), step.op_def);
    std::vector<NodeBuilder::NodeOut> list;
    size_t next = 0;
    for (int size : step.argument_sizes) {
      list.clear();
      for (int i = 0; i < (size < 0 ? 1 : size); ++i) {
        Output tensor;
        TF_RETURN_IF_ERROR(Find(step.inputs[next++], &tensor));
        list.emplace_back(tensor.node(), tensor.index());
      }
      if (size < 0) {
        builder.Input(list[0]);
      } else {
        builder.Input(list);
      }
    }
    for (const auto& [name, value] : step.node.attr()) {
      builder.Attr(name, value);
    }
    for (int control : step.control_inputs) {
      builder.ControlInput(steps_[control]);
    }
    // The definition may ask for a device.
    TF_ASSIGN_OR_RETURN(Node * node, nodes_.Add(builder, step.node.device()));
    steps_.push_back(node);
    return absl::OkStatus();
  }

  const Plan& plan_;
  const Operation& forward_;
  std::vector<Output> upstream_;
  GradientNodes nodes_;
  std::vector<Node*> steps_;  // the node of each step
};

}  // namespace

absl::Status Expand(const Plan& plan, const Scope& scope,
                    const Operation& forward,
                    const std::vector<Output>& upstream,
                    std::vector<Output>* gradients) {
  const int num_outputs = upstream.size();
  if (num_outputs != plan.num_outputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The gradient of node '", forward.node()->name(), "' of op ",
        forward.node()->type_string(), " was given ", num_outputs,
        " upstream gradients, but the op has ", plan.num_outputs, " outputs"));
  }
  return Expander(plan, scope, forward, upstream).Run(gradients);
}

}  // namespace tensorflow_ext
