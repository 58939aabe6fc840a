// Elementary functions. For a holomorphic y = f(x) the gradient is dy conj(f'(x)). TensorFlow's
// function gradients do not conjugate, and those of Acosh and Asinh multiply where they must
// divide. Its client gradients of unary functions are right except for Acos and Atan, but have more
// nodes.

#include <cmath>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// ---- One operand.

// f' = 1 / sinh(y)
void AcoshGrad(Gradient& g) { g.Return({g.Upstream() / Conj(Call("Sinh", {g.Output()}))}); }
REGISTER_STAND_IN("Acosh", AcoshGrad);

// f' = 1 / cosh(y)
void AsinhGrad(Gradient& g) { g.Return({g.Upstream() / Conj(Call("Cosh", {g.Output()}))}); }
REGISTER_STAND_IN("Asinh", AsinhGrad);

void AtanhGrad(Gradient& g) { g.Return({g.Upstream() / Conj(1 - Square(g.Input(0)))}); }
REGISTER_STAND_IN("Atanh", AtanhGrad);

void AsinGrad(Gradient& g) { g.Return({g.Upstream() * Conj(Rsqrt(1 - Square(g.Input(0))))}); }
REGISTER_STAND_IN("Asin", AsinGrad);

void CosGrad(Gradient& g) { g.Return({-g.Upstream() * Conj(Sin(g.Input(0)))}); }
REGISTER_STAND_IN("Cos", CosGrad);

void SinGrad(Gradient& g) { g.Return({g.Upstream() * Conj(Cos(g.Input(0)))}); }
REGISTER_STAND_IN("Sin", SinGrad);

void TanGrad(Gradient& g) { g.Return({g.Upstream() * Conj(1 + Square(g.Output()))}); }
REGISTER_STAND_IN("Tan", TanGrad);

void CoshGrad(Gradient& g) { g.Return({g.Upstream() * Conj(Call("Sinh", {g.Input(0)}))}); }
REGISTER_STAND_IN("Cosh", CoshGrad);

void SinhGrad(Gradient& g) { g.Return({g.Upstream() * Conj(Call("Cosh", {g.Input(0)}))}); }
REGISTER_STAND_IN("Sinh", SinhGrad);

void ExpGrad(Gradient& g) { g.Return({g.Upstream() * Conj(g.Output())}); }
REGISTER_STAND_IN("Exp", ExpGrad);

void Expm1Grad(Gradient& g) { g.Return({g.Upstream() * Conj(Exp(g.Input(0)))}); }
REGISTER_STAND_IN("Expm1", Expm1Grad);

void LogGrad(Gradient& g) { g.Return({g.Upstream() / Conj(g.Input(0))}); }
REGISTER_STAND_IN("Log", LogGrad);

void Log1pGrad(Gradient& g) { g.Return({g.Upstream() / Conj(1 + g.Input(0))}); }
REGISTER_STAND_IN("Log1p", Log1pGrad);

void SquareGrad(Gradient& g) { g.Return({g.Upstream() * (2 * Conj(g.Input(0)))}); }
REGISTER_STAND_IN("Square", SquareGrad);

// TensorFlow ops that take y and dy; the first three conjugate y.
void ReciprocalGrad(Gradient& g) { g.Return({Call("ReciprocalGrad", {g.Output(), g.Upstream()})}); }
REGISTER_STAND_IN("Inv", ReciprocalGrad);
REGISTER_STAND_IN("Reciprocal", ReciprocalGrad);

void RsqrtGrad(Gradient& g) { g.Return({Call("RsqrtGrad", {g.Output(), g.Upstream()})}); }
REGISTER_STAND_IN("Rsqrt", RsqrtGrad);

void SqrtGrad(Gradient& g) { g.Return({Call("SqrtGrad", {g.Output(), g.Upstream()})}); }
REGISTER_STAND_IN("Sqrt", SqrtGrad);

void SigmoidGrad(Gradient& g) { g.Return({Call("SigmoidGrad", {Conj(g.Output()), g.Upstream()})}); }
REGISTER_STAND_IN("Sigmoid", SigmoidGrad);

void TanhGrad(Gradient& g) { g.Return({Call("TanhGrad", {Conj(g.Output()), g.Upstream()})}); }
REGISTER_STAND_IN("Tanh", TanhGrad);

// ---- TensorFlow's client gradients of these are wrong too.

// f' = -1 / sqrt(1 - x^2)    (DLMF 4.24.8)
void AcosGrad(Gradient& g) { g.Return({-g.Upstream() * Conj(Rsqrt(1 - Square(g.Input(0))))}); }
REGISTER_STAND_IN("Acos", AcosGrad);

// f' = 1 / (1 + x^2)    (DLMF 4.24.9)
void AtanGrad(Gradient& g) { g.Return({g.Upstream() / Conj(1 + Square(g.Input(0)))}); }
REGISTER_STAND_IN("Atan", AtanGrad);

// The angle of the point (x, y). The derivatives are x / (x^2 + y^2) for y and
// -y / (x^2 + y^2) for x. TensorFlow's does not sum over broadcast axes. The point is scaled,
// because squares overflow, in half precision above 256, and underflow.
void Atan2Grad(Gradient& g) {
  const Value y = g.Input(0), x = g.Input(1);
  const Value size = StopGradient(Maximum(Abs(x), Abs(y)));
  const Value is_scaled = LogicalAnd(Greater(size, 0), Less(size, INFINITY));
  const Value scale = Where(is_scaled, size, 1);
  const Value u = x / scale, v = y / scale;
  const Value quotient = g.Upstream() / scale / (Square(u) + Square(v));
  const auto [dy, dx] = Unbroadcast(y, quotient * u, x, quotient * -v);
  g.Return({dy, dx});
}
REGISTER_STAND_IN("Atan2", Atan2Grad);

// z = |x - y|^2 is real, so only the real part of a complex upstream gradient counts. TensorFlow's
// conjugates the difference, and Python's uses all of dz.
void SquaredDifferenceGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1);
  Value dz = g.Upstream();
  if (IsComplex(dz)) dz = Cast(Real(dz), dz.type());
  const Value product = 2 * dz * (x - y);
  const auto [dx, dy] = Unbroadcast(x, product, y, -product);
  g.Return({dx, dy});
}
REGISTER_STAND_IN("SquaredDifference", SquaredDifferenceGrad);

// z = x^y. The derivative for x is y x^(y - 1), which is 0 where dz or y is; for y it is z log(x),
// which counts as 0 where there is no real log(x). The logarithm is taken of 1 there, so its own
// gradient is finite.
void PowGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  const Value has_log = IsComplex(x) ? NotEqual(x, 0) : Greater(x, 0);
  const Value log = Log(Where(has_log, x, 1));
  const auto [dx, dy] = Unbroadcast(x, MulNoNan(Conj(MulNoNan(Pow(x, y - 1), y)), dz), y,
                                    dz * Conj(MulNoNan(g.Output(), log)));
  g.Return({dx, dy});
}
REGISTER_STAND_IN("Pow", PowGrad);

}  // namespace
}  // namespace tensorflow_ext
