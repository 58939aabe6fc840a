// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"

namespace tensorflow_ext {
namespace {

void SparsemaxGradient(Gradient& g) {
  g.Return({g.Call("TfExt>SparsemaxGrad", {g.Upstream(), g.Output()})});
}
REGISTER_GRADIENT("TfExt>Sparsemax", SparsemaxGradient);

// The gradient is linear in dy, and its matrix is symmetric, because it is a projection. y only
// determines the elements in the support.
void SparsemaxGradGradient(Gradient& g) {
  g.ReturnFirst(g.Call("TfExt>SparsemaxGrad", {g.Upstream(), g.Input(1)}));
}
REGISTER_GRADIENT("TfExt>SparsemaxGrad", SparsemaxGradGradient);

}  // namespace
}  // namespace tensorflow_ext
