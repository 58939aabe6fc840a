// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of two operands that broadcast. TensorFlow's client gradients are
// right, but sum and reshape even where shape inference knows that the operands
// have the same shape. Like those these take integers too.

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The sums of `dx` and `dy`, which have the shape of the result, that have the
// shapes of the operands.
void ReturnSums(Gradient& g, Value dx, Value dy) {
  const auto [x_sum, y_sum] = Unbroadcast(g.Input(0), dx, g.Input(1), dy);
  g.Return({x_sum, y_sum});
}

void AddGrad(Gradient& g) { ReturnSums(g, g.Upstream(), g.Upstream()); }
REGISTER_STAND_IN("Add", AddGrad);
REGISTER_STAND_IN("AddV2", AddGrad);

void SubGrad(Gradient& g) { ReturnSums(g, g.Upstream(), -g.Upstream()); }
REGISTER_STAND_IN("Sub", SubGrad);

void MulGrad(Gradient& g) {
  const Value dz = g.Upstream();
  ReturnSums(g, dz * Conj(g.Input(1)), Conj(g.Input(0)) * dz);
}
REGISTER_STAND_IN("Mul", MulGrad);

// z = x / y: dz/dx = 1 / y, dz/dy = -z / y.
void QuotientGrad(Gradient& g) {
  const Value dx = g.Call(g.op(), {g.Upstream(), Conj(g.Input(1))});
  ReturnSums(g, dx, -(dx * Conj(g.Output())));
}
REGISTER_STAND_IN("RealDiv", QuotientGrad);
REGISTER_STAND_IN("DivNoNan", QuotientGrad);

void DivGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  if (IsInexact(x)) return QuotientGrad(g);
  // Division of integers rounds: as TensorFlow has it.
  ReturnSums(g, dz / y, dz * ((-x / y) / y));
}
REGISTER_STAND_IN("Div", DivGrad);

// Where the operands are equal, the gradient is that of x.
void ReturnChosen(Gradient& g, Value is_x) {
  const Value dz = g.Upstream();
  ReturnSums(g, Where(is_x, dz, 0.0), Where(is_x, 0.0, dz));
}

void MaximumGrad(Gradient& g) {
  ReturnChosen(g, Call("GreaterEqual", {g.Input(0), g.Input(1)}));
}
REGISTER_STAND_IN("Maximum", MaximumGrad);

void MinimumGrad(Gradient& g) {
  ReturnChosen(g, Call("LessEqual", {g.Input(0), g.Input(1)}));
}
REGISTER_STAND_IN("Minimum", MinimumGrad);

}  // namespace
}  // namespace tensorflow_ext
