// Determinants: d det A = tr(adj(A) dA), so dA = dy adj(A)^H. The adjugate adj(A) = det(A) A^-1 is
// a polynomial of A's elements and also exists where A has no inverse (R. Horn and C. Johnson,
// "Matrix Analysis", 0.8.10).

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

namespace tensorflow_ext {
namespace {

// With fixed U and V of the singular value decomposition A = U M V^H,
//   adj(A)^H = conj(det U) det V  U adj(M)^H V^H,
// and for M = diag(d) + (off-diagonal elements, 0 here but not their changes)
//   adj(M)_ii = prod_{l != i} d_l,  adj(M)_ij = -M_ij prod_{l != i, j} d_l
// up to second order. There is no division, so this and its derivative are right for any rank; a
// third derivative of det is not.
Value AdjugateBySvd(Value a) {
  const Values svd = CallAll("Svd", {a}, {{"compute_uv", true}, {"full_matrices", false}});
  const Value u = StopGradient(svd[1]), v = StopGradient(svd[2]);
  Gradient* g = a.gradient();
  const Value m = MatMul(u, MatMul(a, v), true, false);
  const Value d = MatrixDiagPart(m);
  const Value eye = MatrixBandPart(OnesLike(m), 0, 0);
  // left_out[..., i, j, l] = (l == i or l == j)
  const Value left_out = NotEqual(ExpandDims(eye, g->Int(-2)) + ExpandDims(eye, g->Int(-3)), 0);
  const Value factors = ExpandDims(ExpandDims(Conj(d), g->Int(-2)), g->Int(-2));
  const Value products = Prod(Where(left_out, 1, factors), g->Int(-1));
  const Value adjugate_h = products * MatrixSetDiag(-Adjoint(m), OnesLike(d));
  const Value phase = Conj(Call("MatrixDeterminant", {u})) * Call("MatrixDeterminant", {v});
  return NewAxis(NewAxis(phase)) * MatMul(u, MatMul(adjugate_h, v, false, true));
}

// Well-conditioned matrices use the inverse. The others, mostly none, are selected by the diagonal
// of R in A = Q R.
void MatrixDeterminantGrad(Gradient& g) {
  const Value a = g.Input(0), det = g.Output();
  const Value shape = Shape(a), count = Size(det);
  const Value matrices =
      Reshape(a, Concat({Pack({count}), SliceVector(shape, -2, kToTheEnd)}, g.Int(0)));
  const Value scalars_shape = Pack({count, g.Int(1), g.Int(1)});

  const Value r = MatrixDiagPart(CallAll("Qr", {matrices}, {{"full_matrices", false}})[1]);
  const Value sizes = IsComplex(r) ? Call("ComplexAbs", {r}, {{"Tout", RealType(r)}}) : Abs(r);
  const Value last = g.Int(-1);
  const Value ill_conditioned =
      LessEqual(Call("Min", {sizes, last}), Call("Max", {sizes, last}) * SqrtEpsilon(a));
  const Value regular = Where(Reshape(ill_conditioned, scalars_shape),
                              MatrixBandPart(OnesLike(matrices), 0, 0), matrices);
  const Value inverse_h = Call("MatrixInverse", {regular}, {{"adjoint", true}});
  const Value picked = Call("Where", {ill_conditioned});
  const Value adjugate_h =
      Call("TensorScatterUpdate", {Conj(Reshape(det, scalars_shape)) * inverse_h, picked,
                                   AdjugateBySvd(GatherNd(matrices, picked))});
  g.Return({Reshape(Reshape(g.Upstream(), scalars_shape) * adjugate_h, shape)});
}
REGISTER_GRADIENT("MatrixDeterminant", MatrixDeterminantGrad);
REGISTER_GRADIENT("BatchMatrixDeterminant", MatrixDeterminantGrad);

// log det A = log |det A| + log sign, d log det A = tr(A^-1 dA). The real part is the change of log
// |det A|. The imaginary part is that of the angle of sign, which only complex matrices have.
void LogMatrixDeterminantGrad(Gradient& g) {
  const Value a = g.Input(0);
  Value factor = g.Upstream(1);
  if (IsComplex(a)) {
    factor = RealPart(factor) + ImaginaryPart(g.Upstream(0) * Conj(g.Output(0)));
  }
  const Value inverse_h = Call("MatrixInverse", {a}, {{"adjoint", true}});
  g.Return({NewAxis(NewAxis(factor)) * inverse_h});
}
REGISTER_GRADIENT("LogMatrixDeterminant", LogMatrixDeterminantGrad);

}  // namespace
}  // namespace tensorflow_ext
