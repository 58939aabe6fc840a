// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The gradient of Rrelu by x, and of RreluGrad, which is linear, by gradients.
Value RreluGrad(Gradient& g, Value x, Value seed) {
  return g.Call("TfExt>RreluGrad", {g.Upstream(), x, seed}, g.AttrsOfOp({"lower", "upper"}));
}

void RreluGradient(Gradient& g) { g.Return({RreluGrad(g, g.Input(0), g.Input(1)), Value()}); }
REGISTER_GRADIENT("TfExt>Rrelu", RreluGradient);

// The op is piecewise constant in x.
void RreluGradGradient(Gradient& g) {
  g.Return({RreluGrad(g, g.Input(1), g.Input(2)), Value(), Value()});
}
REGISTER_GRADIENT("TfExt>RreluGrad", RreluGradGradient);

}  // namespace
}  // namespace tensorflow_ext
