// Arithmetic of operands that broadcast. TensorFlow's client gradients are right, but sum and
// reshape even if shape inference knows that the operands have the same shape. Like them, these
// accept integers too.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// Returns the sums of `dx` and `dy`, which have the result's shape, in the shapes of the operands.
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
  // Division of integers rounds, as in TensorFlow.
  ReturnSums(g, dz / y, dz * ((-x / y) / y));
}
REGISTER_STAND_IN("Div", DivGrad);

// Where the operands are equal, x gets the gradient.
void ReturnChosen(Gradient& g, Value is_x) {
  const Value dz = g.Upstream();
  ReturnSums(g, Where(is_x, dz, 0.0), Where(is_x, 0.0, dz));
}

void MaximumGrad(Gradient& g) { ReturnChosen(g, Call("GreaterEqual", {g.Input(0), g.Input(1)})); }
REGISTER_STAND_IN("Maximum", MaximumGrad);

void MinimumGrad(Gradient& g) { ReturnChosen(g, Call("LessEqual", {g.Input(0), g.Input(1)})); }
REGISTER_STAND_IN("Minimum", MinimumGrad);

// ---- Three operands.

// The sum of `dx` in the shape of input `i`.
Value SumToInput(Gradient& g, int i, Value dx) { return SumTo(g.Input(i), dx, Shape(dx)); }

// SelectV2(condition, x, y)
void SelectV2Grad(Gradient& g) {
  const Value condition = g.Input(0), dz = g.Upstream();
  if (!IsInexact(dz)) {
    if (!IsDifferentiable(dz)) return ReturnNone(g);
    return g.Unimplemented("resources and variants are not supported");
  }
  g.Return({Value(), SumToInput(g, 1, Where(condition, dz, 0.0)),
            SumToInput(g, 2, Where(condition, 0.0, dz))});
}
REGISTER_GRADIENT("SelectV2", SelectV2Grad);

// The bound that clips x gets the gradient, or else x (like _ClipByValueGrad).
void ClipByValueGrad(Gradient& g) {
  const Value x = g.Input(0), low = g.Input(1), high = g.Input(2);
  const Value dz = g.Upstream();
  if (IsComplex(x)) {
    return g.Unimplemented("complex T is not supported: complex numbers have no order");
  }
  if (!IsFloating(x)) return ReturnNone(g);
  const Value is_low = Call("Less", {x, low});
  const Value is_high = Call("Greater", {x, high});
  g.Return({SumToInput(g, 0, Where(LogicalOr(is_low, is_high), 0.0, dz)),
            SumToInput(g, 1, Where(is_low, dz, 0.0)), SumToInput(g, 2, Where(is_high, dz, 0.0))});
}
REGISTER_GRADIENT("ClipByValue", ClipByValueGrad);

// z = x y, but 0 where y is 0, for any x.
void MulNoNanGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  const auto [dx, dy] = Unbroadcast(x, MulNoNan(dz, Conj(y)), y, MulNoNan(Conj(x), dz));
  g.Return({dx, dy});
}
REGISTER_GRADIENT("MulNoNan", MulNoNanGrad);

}  // namespace
}  // namespace tensorflow_ext
