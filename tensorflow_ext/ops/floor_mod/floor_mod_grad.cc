// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"

namespace tensorflow_ext {
namespace {

// dz and -floor(x / y) dz. Integers have no gradient.
void FloorModGradient(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  if (!IsFloating(x)) return ReturnNone(g);
  const auto [dx, dy] = UnbroadcastInFloat(x, dz, y, g.Call("TfExt>FloorModGrad", {dz, x, y}));
  g.Return({dx, dy});
}
REGISTER_GRADIENT("TfExt>FloorMod", FloorModGradient);

// Linear in the upstream gradient; floor(x / y) is piecewise constant.
void FloorModGradGradient(Gradient& g) {
  const Value dgradients = g.Call("TfExt>FloorModGrad", {g.Upstream(), g.Input(1), g.Input(2)});
  g.Return({dgradients, Value(), Value()});
}
REGISTER_GRADIENT("TfExt>FloorModGrad", FloorModGradGradient);

}  // namespace
}  // namespace tensorflow_ext
