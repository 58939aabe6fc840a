// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"

namespace tensorflow_ext {
namespace {

// The gradient is MultiplyLeft too, so its own gradient flows only to dz.
void MultiplyLeftGradient(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1);
  const Value product = g.Call("TfExt>MultiplyLeft", {g.Upstream(), y});
  const Value none;
  g.Return({UnbroadcastInFloat(x, product, y, none).first, none});
}
REGISTER_GRADIENT("TfExt>MultiplyLeft", MultiplyLeftGradient);

}  // namespace
}  // namespace tensorflow_ext
