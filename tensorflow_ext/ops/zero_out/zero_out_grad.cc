// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The op is linear. Integers have no gradient, and neither does the index.
void ZeroOutGradient(Gradient& g) {
  if (!IsFloating(g.Input(0))) return ReturnNone(g);
  g.Return({Call("TfExt>ZeroOut", {g.Upstream()})});
}
REGISTER_GRADIENT("TfExt>ZeroOut", ZeroOutGradient);
REGISTER_GRADIENT("TfExt>ZeroOutWithIndex", ZeroOutGradient);

}  // namespace
}  // namespace tensorflow_ext
