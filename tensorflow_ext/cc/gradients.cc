#include "tensorflow_ext/cc/gradients.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/gradient/graph/leading_to.h"
#include "tensorflow_ext/gradient/graph/loops.h"

namespace tensorflow_ext {

using tensorflow::Node;
using tensorflow::Output;
using tensorflow::OutputTensor;
using tensorflow::Scope;

namespace {

using Outputs = std::vector<Output>;

bool IsNoGradient(const Output& tensor) { return tensor == tensorflow::NoGradient(); }

// Checks what AddSymbolicGradients assumes about a tensor.
absl::Status CheckTensor(const Scope& scope, const char* argument, size_t k, const Output& tensor) {
  const Node* node = tensor.node();
  const auto error = [&](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(argument, "[", k, "] ", what...));
  };
  if (node == nullptr) {
    return error("is not a tensor, but an Output() that was never assigned");
  }
  if (!scope.graph()->IsValidNode(node).ok()) {
    return error("is node '", node->name(),
                 "' of another graph; expected one of this scope's graph");
  }
  if (tensor.index() < 0 || tensor.index() >= node->num_outputs()) {
    return error("is output ", tensor.index(), " of node '", node->name(), "' of op ",
                 node->type_string(), ", which has ", node->num_outputs(), " outputs");
  }
  return absl::OkStatus();
}

// The tensor behind its own Identity.
absl::StatusOr<Output> Apart(const Scope& scope, const Output& tensor) {
  const std::string name = absl::StrCat(tensor.node()->name(), "_gradient/y");
  const Output identity = tensorflow::ops::Identity(
      scope.WithOpName(name).WithDevice(tensor.node()->requested_device()), tensor);
  TF_RETURN_IF_ERROR(scope.status());
  return identity;
}

// `upstream`: null for ones.
absl::Status AddGradients(const Scope& scope, const Outputs& outputs, const Outputs& inputs,
                          const Outputs* upstream, Outputs* gradients) {
  TF_RETURN_IF_ERROR(scope.status());
  if (outputs.empty() || (upstream != nullptr && upstream->size() != outputs.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at least one output and an upstream gradient for each, got ",
                     outputs.size(), " and ", upstream == nullptr ? 0 : upstream->size()));
  }
  Outputs ys, dys, xs;
  std::vector<const Node*> ends;
  for (size_t k = 0; k < outputs.size(); ++k) {
    TF_RETURN_IF_ERROR(CheckTensor(scope, "outputs", k, outputs[k]));
    if (upstream != nullptr) {
      const Output& dy = (*upstream)[k];
      if (IsNoGradient(dy)) continue;
      TF_RETURN_IF_ERROR(CheckTensor(scope, "grad_inputs", k, dy));
      dys.push_back(dy);
    }
    ys.push_back(outputs[k]);
    ends.push_back(outputs[k].node());
  }
  const NodeSet leading = LeadingTo(ends, /*follow_controls=*/false);
  std::vector<OutputTensor> tensors;
  for (size_t k = 0; k < inputs.size(); ++k) {
    TF_RETURN_IF_ERROR(CheckTensor(scope, "inputs", k, inputs[k]));
    tensors.emplace_back(inputs[k].node(), inputs[k].index());
  }
  const ConnectedTensors connected(tensors, leading);
  Outputs found;
  if (!connected.tensors().empty()) {
    TF_RETURN_IF_ERROR(CheckLoops(connected.nodes(), leading, ends));
    for (const OutputTensor& x : connected.tensors()) {
      xs.push_back(Output(x.node, x.index));
    }
    if (ys.size() > 1) {  // Separate nodes: no y leads to another.
      for (Output& y : ys) {
        TF_ASSIGN_OR_RETURN(y, Apart(scope, y));
      }
    }
    TF_RETURN_IF_ERROR(upstream == nullptr
                           ? tensorflow::AddSymbolicGradients(scope, ys, xs, &found)
                           : tensorflow::AddSymbolicGradients(scope, ys, xs, dys, &found));
  }
  *gradients = connected.OfEach(found, tensorflow::NoGradient());
  return absl::OkStatus();
}

}  // namespace

absl::Status AddSymbolicGradients(const Scope& scope, const Outputs& outputs, const Outputs& inputs,
                                  const Outputs& grad_inputs, Outputs* grad_outputs) {
  return AddGradients(scope, outputs, inputs, &grad_inputs, grad_outputs);
}

absl::Status AddSymbolicGradients(const Scope& scope, const Outputs& outputs, const Outputs& inputs,
                                  Outputs* grad_outputs) {
  return AddGradients(scope, outputs, inputs, nullptr, grad_outputs);
}

}  // namespace tensorflow_ext
