// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

void PruneByMagnitudeGradient(Gradient& g) {
  const Value weights = g.Input(0), threshold = g.Input(1);
  const Value dy = g.Upstream();
  const bool is_masked = g.Attr<std::string>("gradient") == "masked";
  g.Return({is_masked ? Call("TfExt>PruneByMagnitudeGrad", {dy, weights, threshold})
                      : Call("Identity", {dy}),
            Value()});
}
REGISTER_GRADIENT("TfExt>PruneByMagnitude", PruneByMagnitudeGradient);

// The op is linear in the gradients and piecewise constant in the weights.
void PruneByMagnitudeGradGradient(Gradient& g) {
  const Value weights = g.Input(1), threshold = g.Input(2);
  g.Return(
      {Call("TfExt>PruneByMagnitudeGrad", {g.Upstream(), weights, threshold}), Value(), Value()});
}
REGISTER_GRADIENT("TfExt>PruneByMagnitudeGrad", PruneByMagnitudeGradGradient);

}  // namespace
}  // namespace tensorflow_ext
