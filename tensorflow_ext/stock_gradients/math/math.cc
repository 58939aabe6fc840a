// Gradients of rounding, division, complex numbers, products and norms, and of ops that are
// themselves gradients of elementwise functions.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// ---- Piecewise constant: the derivative is zero wherever it exists.

REGISTER_GRADIENT("ArgMax", ReturnNone);
REGISTER_GRADIENT("ArgMin", ReturnNone);
REGISTER_GRADIENT("Ceil", ReturnNone);
REGISTER_GRADIENT("FloorDiv", ReturnNone);
REGISTER_GRADIENT("Rint", ReturnNone);
REGISTER_GRADIENT("Round", ReturnNone);
REGISTER_GRADIENT("TruncateDiv", ReturnNone);

// ---- Elementwise.

// x mod y = x - y floor(x / y), where floor is piecewise constant.
void FloorModGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  if (!IsFloating(x)) return ReturnNone(g);
  const auto [dx, dy] = Unbroadcast(x, dz, y, dz * -FloorDiv(x, y));
  g.Return({dx, dy});
}
REGISTER_GRADIENT("FloorMod", FloorModGrad);

// The same with the sign of x: z = x - y trunc(x / y). Uses the op's exact quotient, not one that
// was rounded before.
void TruncateModGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  if (!IsFloating(x)) return ReturnNone(g);
  const Value quotient = Call("Rint", {(x - g.Output()) / y});
  const auto [dx, dy] = Unbroadcast(x, dz, y, dz * -quotient);
  g.Return({dx, dy});
}
REGISTER_GRADIENT("Mod", TruncateModGrad);
REGISTER_GRADIENT("TruncateMod", TruncateModGrad);

// The float next to x1 is x1 up to rounding; x2 gives only the direction.
void NextAfterGrad(Gradient& g) {
  const Value x1 = g.Input(0), x2 = g.Input(1), dy = g.Upstream();
  g.Return({SumTo(x1, dy, Shape(dy)), ZerosLike(x2)});
}
REGISTER_GRADIENT("NextAfter", NextAfterGrad);

// d/dx of an op x f(y) that is 0 at x = 0 for any y: `op` of 1 and y. At x = 0 it is 0 where f(y)
// is not defined.
Value SlopeAtAny(Value (*op)(const Operand& x, const Operand& y), Value x, Value y,
                 Value is_defined) {
  const Value counts = LogicalOr(NotEqual(x, 0), is_defined);
  return op(Cast(counts, x.type()), y);
}

// The logarithm is defined: y > 0, or y != 0 for a complex y.
Value HasLog(Value y) { return IsComplex(y) ? NotEqual(y, 0) : Greater(y, 0); }

// z = x log(y), 0 at x = 0: dz/dx = log(y), dz/dy = x / y. TensorFlow's own gradients of this op
// and the next two, in Python and as functions, do not conjugate the complex derivatives, and take
// dz/dx for 0 at x = 0.
void XlogyGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  const auto [dx, dy] =
      Unbroadcast(x, dz * Conj(SlopeAtAny(Xlogy, x, y, HasLog(y))), y, dz * Conj(Xdivy(x, y)));
  g.Return({dx, dy});
}
REGISTER_GRADIENT("Xlogy", XlogyGrad);

// z = x log(1 + y), 0 at x = 0.
void Xlog1pyGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  const auto [dx, dy] = Unbroadcast(x, dz * Conj(SlopeAtAny(Xlog1py, x, y, HasLog(1 + y))), y,
                                    dz * Conj(Xdivy(x, 1 + y)));
  g.Return({dx, dy});
}
REGISTER_GRADIENT("Xlog1py", Xlog1pyGrad);

// z = x / y, 0 at x = 0: dz/dx = 1 / y, dz/dy = -z / y.
void XdivyGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  const auto [dx, dy] = Unbroadcast(x, dz * Conj(SlopeAtAny(Xdivy, x, y, NotEqual(y, 0))), y,
                                    dz * Conj(Xdivy(-g.Output(), y)));
  g.Return({dx, dy});
}
REGISTER_GRADIENT("Xdivy", XdivyGrad);

// The gradient of |z| is z / |z|, and 0 at 0, as in Python.
void ComplexAbsGrad(Gradient& g) {
  const Value z = g.Input(0), dy = g.Upstream();
  g.Return({DivNoNan(Cast(dy, z.type()) * z, Cast(g.Output(), z.type()))});
}
REGISTER_GRADIENT("ComplexAbs", ComplexAbsGrad);

// ---- Gradients of gradients, of an op f(y, dy) that is conjugate-linear in
// y's conjugate or holomorphic in y. For complex z = f(a, b) with upstream
// gradient dz, da = conj(dz) df/dconj(a) + dz conj(df/da), db = dz conj(df/db).

// z = -conj(a)^2 b
void ReciprocalGradGrad(Gradient& g) {
  const Value a = g.Input(0), b = g.Input(1), dz = g.Upstream();
  g.Return({Conj(dz) * -2 * b * Conj(a), Call("ReciprocalGrad", {Conj(a), dz})});
}
REGISTER_GRADIENT("ReciprocalGrad", ReciprocalGradGrad);
REGISTER_GRADIENT("InvGrad", ReciprocalGradGrad);

// z = b / (2 conj(a))
void SqrtGradGrad(Gradient& g) {
  const Value a = g.Input(0), dz = g.Upstream();
  const Value quotient = dz / a;
  g.Return({-Conj(quotient) * g.Output(), 0.5 * quotient});
}
REGISTER_GRADIENT("SqrtGrad", SqrtGradGrad);

// z = -b conj(a)^3 / 2
void RsqrtGradGrad(Gradient& g) {
  const Value a = g.Input(0), b = g.Input(1), dz = g.Upstream();
  g.Return({Conj(dz) * -1.5 * b * Square(Conj(a)), Call("RsqrtGrad", {Conj(a), dz})});
}
REGISTER_GRADIENT("RsqrtGrad", RsqrtGradGrad);

// z = b a (1 - a)
void SigmoidGradGrad(Gradient& g) {
  const Value a = Conj(g.Input(0)), b = Conj(g.Input(1)), dz = g.Upstream();
  g.Return({dz * b * (1 - 2 * a), Call("SigmoidGrad", {a, dz})});
}
REGISTER_GRADIENT("SigmoidGrad", SigmoidGradGrad);

// z = b (1 - a^2)
void TanhGradGrad(Gradient& g) {
  const Value a = Conj(g.Input(0)), b = Conj(g.Input(1)), dz = g.Upstream();
  g.Return({dz * -2 * b * a, Call("TanhGrad", {a, dz})});
}
REGISTER_GRADIENT("TanhGrad", TanhGradGrad);

// ---- Sums, norms and products.

void SumOfListGrad(Gradient& g) { g.Return(Values(g.num_inputs(), g.Upstream())); }
REGISTER_GRADIENT("AccumulateNV2", SumOfListGrad);
REGISTER_GRADIENT("AddN", SumOfListGrad);

// y = sum(x^2) / 2
void L2LossGrad(Gradient& g) { g.Return({g.Upstream() * g.Input(0)}); }
REGISTER_GRADIENT("L2Loss", L2LossGrad);

// The gradient of |x| is x / |x|, and 0 where the norm is 0, its smallest subgradient. The norm is
// real, so only the real part of dy counts.
void EuclideanNormGrad(Gradient& g) {
  const Value x = g.Input(0), axes = g.Input(1);
  Value norm = g.Output(), dy = g.Upstream();
  if (IsComplex(x)) dy = Cast(Real(dy), x.type());
  if (!g.Attr<bool>("keep_dims")) {
    const Value shape = ReducedShape(Shape(x), axes);
    norm = Reshape(norm, shape);
    dy = Reshape(dy, shape);
  }
  g.Return({DivNoNan(x, norm) * dy, Value()});
}
REGISTER_GRADIENT("EuclideanNorm", EuclideanNormGrad);

// dy . (da x b) = da . (b x dy)
void CrossGrad(Gradient& g) {
  const Value a = g.Input(0), b = g.Input(1), dy = g.Upstream();
  g.Return({Call("Cross", {b, dy}), Call("Cross", {dy, a})});
}
REGISTER_GRADIENT("Cross", CrossGrad);

// C = op(A) op(B): d op(A) = dC op(B)^T and d op(B) = op(A)^T dC. Each product keeps the hint that
// tells which operand is sparse.
void SparseMatMulGrad(Gradient& g) {
  struct Operand {
    Value value;
    bool transposed, is_sparse;
  };
  const Operand a = {g.Input(0), g.Attr<bool>("transpose_a"), g.Attr<bool>("a_is_sparse")};
  const Operand b = {g.Input(1), g.Attr<bool>("transpose_b"), g.Attr<bool>("b_is_sparse")};
  const Operand dc = {g.Upstream(), false, false};
  const auto product = [](const Operand& x, bool transpose_x, const Operand& y, bool transpose_y,
                          DataType type) {
    return Cast(Call("SparseMatMul", {x.value, y.value},
                     {{"transpose_a", transpose_x},
                      {"transpose_b", transpose_y},
                      {"a_is_sparse", x.is_sparse},
                      {"b_is_sparse", y.is_sparse}}),
                type);
  };
  const DataType type_a = a.value.type(), type_b = b.value.type();
  g.Return({a.transposed ? product(b, b.transposed, dc, true, type_a)
                         : product(dc, false, b, !b.transposed, type_a),
            b.transposed ? product(dc, true, a, a.transposed, type_b)
                         : product(a, !a.transposed, dc, false, type_b)});
}
REGISTER_GRADIENT("SparseMatMul", SparseMatMulGrad);

// C = X' Y', where X' is X or its adjoint, and Y' likewise: dX' = dC Y'^H and dY' = X'^H dC. The
// operands and the product each have their own type. All axes but the last two broadcast, except in
// the op's first version.
void BatchMatMulGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dc = g.Upstream();
  const bool adjoint_x = g.Attr<bool>("adj_x"), adjoint_y = g.Attr<bool>("adj_y");
  const auto product = [&](Value operand, Value a, bool adjoint_a, Value b, bool adjoint_b) {
    if (!IsInexact(operand) || !IsInexact(dc)) return Value();
    const DataType type = dc.type();
    return Cast(MatMul(Cast(a, type), Cast(b, type), adjoint_a, adjoint_b), operand.type());
  };
  const Value dx =
      adjoint_x ? product(x, y, adjoint_y, dc, true) : product(x, dc, false, y, !adjoint_y);
  const Value dy =
      adjoint_y ? product(y, dc, true, x, adjoint_x) : product(y, x, !adjoint_x, dc, false);
  if (g.op() == "BatchMatMul") return g.Return({dx, dy});
  const Value x_shape = Shape(x), y_shape = Shape(y);
  const Values axes =
      CallAll("BroadcastGradientArgs", {SliceVector(x_shape, 0, -2), SliceVector(y_shape, 0, -2)});
  const auto sum = [](Value gradient, Value axes, Value shape) {
    return gradient.exists() ? Reshape(Sum(gradient, axes), shape) : gradient;
  };
  g.Return({sum(dx, axes[0], x_shape), sum(dy, axes[1], y_shape)});
}
REGISTER_GRADIENT("BatchMatMul", BatchMatMulGrad);
// TensorFlow's client gradients are right, but sum and reshape even if shape inference knows the
// batches.
REGISTER_STAND_IN("BatchMatMulV2", BatchMatMulGrad);
REGISTER_STAND_IN("BatchMatMulV3", BatchMatMulGrad);

// C = A' B', where A' is A or its transpose, and B' likewise.
void MatMulGrad(Gradient& g) {
  const Value a = Conj(g.Input(0)), b = Conj(g.Input(1)), dc = g.Upstream();
  const bool transpose_a = g.Attr<bool>("transpose_a"), transpose_b = g.Attr<bool>("transpose_b");
  const auto product = [](Value x, bool transpose_x, Value y, bool transpose_y) {
    return Call("MatMul", {x, y}, {{"transpose_a", transpose_x}, {"transpose_b", transpose_y}});
  };
  g.Return({transpose_a ? product(b, transpose_b, dc, true) : product(dc, false, b, !transpose_b),
            transpose_b ? product(dc, true, a, transpose_a) : product(a, !transpose_a, dc, false)});
}
REGISTER_GRADIENT("MatMul", MatMulGrad);

}  // namespace
}  // namespace tensorflow_ext
