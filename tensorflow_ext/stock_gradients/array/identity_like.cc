// Ops whose gradient is the upstream gradient itself, as in Python. TensorFlow's client gradients
// add an Identity: one for each read of a variable, which still runs when its gradient is fetched,
// and one for each Identity that inlining a function leaves for its arguments and results. These
// ops have no definitions, because the differentiated input may be a variable's handle, of another
// type.
//
// An upstream gradient that the client passed still gets an Identity: a tensor that is fed cannot
// be fetched.

#include <vector>

#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/expand/upstream.h"
#include "tensorflow_ext/gradient/functions/custom_gradients.h"

namespace tensorflow_ext {

using tensorflow::Output;

namespace {

absl::Status PassOn(const tensorflow::Scope& scope, const tensorflow::Operation& op,
                    const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  TF_RETURN_IF_ERROR(CheckNamedGradient(*op.node()));
  const Output& dy = upstream[0];
  if (dy.node() == nullptr || IsMadeByThisCall(scope, dy.node()->name())) {
    *gradients = {dy};
    return absl::OkStatus();
  }
  GradientNodes nodes(scope, op);
  const auto identity = nodes.WrapInIdentity(dy);
  if (identity.ok()) *gradients = {*identity};
  return nodes.Finish(identity.status());
}

[[maybe_unused]] const bool registered_passed_on[] = {
    StandIn("Identity", PassOn),
    StandIn("ReadVariableOp", PassOn),
};

}  // namespace
}  // namespace tensorflow_ext
