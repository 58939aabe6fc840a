// SPDX-License-Identifier: Apache-2.0
//
// Matrix decompositions; those into triangular factors are in triangular.cc. Factors that are not
// unique (the phase of an eigenvector, the basis of a null space) have gradients for functions that
// do not depend on the choice.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

namespace tensorflow_ext {
namespace {

// Returns `gradient`, or NaN if the gradient depends on the choice of the surplus columns q2, which
// complete the other columns to a basis. It does unless q2^H dq2 is self-adjoint. A single column
// can change only its sign or phase and is accepted.
Value IfIndependentOfChoice(Value gradient, Value q2, Value dq2) {
  Gradient* g = q2.gradient();
  const Value product = MatMul(q2, dq2, true, false);
  const Value skew = product - Adjoint(product);
  Value skew_norm = MatrixNorm(skew), norm = MatrixNorm(product);
  skew_norm = Cast(skew_norm, RealType(skew_norm));
  norm = Cast(norm, RealType(norm));
  const Value depends =
      LogicalAnd(Greater(skew_norm, norm * SqrtEpsilon(q2)), Greater(NumColumns(q2), g->Int(1)));
  const Value zero = g->Scalar(0, gradient.type());
  return gradient + StopGradient(zero / Where(depends, zero, 1));
}

// The contribution of the surplus columns' gradient to that of the columns q1: dQ2 = -Q1 dQ1^H Q2
// keeps them orthogonal.
Value FromSurplus(Value q1, Value q2, Value dq2) {
  return -MatMul(q2, MatMul(dq2, q1, true, false));
}

// A = Q R, where A has at least as many rows as columns:
//   dA = Q dR + (dQ + Q (tril(W) - Q^H dQ)) R^-H,
//   W = Q^H dQ + R dR^H - (its adjoint),
// for complex A with -i Im diag(Q^H dQ + R dR^H) added to tril(W)
// (D. Roberts and L. Roberts, "QR and LQ decomposition matrix backpropagation
// algorithms", 2020, arXiv:2009.10071).
Value TallQrGrad(Value q, Value r, Value dq, Value dr) {
  const Value q_dq = MatMul(q, dq, true, false);
  const Value sum = q_dq + MatMul(r, dr, false, true);
  // R dR^H - (R dR^H)^H + Q^H dQ - (Q^H dQ)^H
  Value tril = MatrixBandPart(sum - Adjoint(sum), -1, 0);
  if (IsComplex(q)) {
    tril = tril - MatrixDiag(ImaginaryPart(MatrixDiagPart(sum)));
  }
  const Value right = Adjoint(dq + MatMul(q, tril - q_dq));
  return MatMul(q, dr) + Adjoint(TriangularSolve(r, right, false, false));
}

// A wide matrix is [X, Y] = Q [U, V] with X = Q U and V = Q^H Y. For a tall matrix the slices after
// the first k = min(rows, columns) columns are empty. Q has more than k columns only with
// full_matrices.
void QrGrad(Gradient& g) {
  const Value a = g.Input(0);
  Value q = g.Output(0), r = g.Output(1);
  Value dq = g.Upstream(0), dr = g.Upstream(1);
  const Value k = Minimum(NumRows(a), NumColumns(a));
  Value surplus, d_surplus;
  if (g.Attr<bool>("full_matrices")) {
    surplus = Columns(q, k, Value());
    d_surplus = Columns(dq, k, Value());
    q = Columns(q, Value(), k);
    dq = Columns(dq, Value(), k) + FromSurplus(q, surplus, d_surplus);
    r = Rows(r, Value(), k);
    dr = Rows(dr, Value(), k);
  }
  const Value y = Columns(a, k, Value()), dv = Columns(dr, k, Value());
  const Value dx = TallQrGrad(q, Columns(r, Value(), k), dq + MatMul(y, dv, false, true),
                              Columns(dr, Value(), k));
  Value da = SideBySide(dx, MatMul(q, dv));
  if (surplus.exists()) da = IfIndependentOfChoice(da, surplus, d_surplus);
  g.Return({da});
}
REGISTER_GRADIENT("Qr", QrGrad);

// F_ij = 1 / (x_j - x_i), 0 on the diagonal (and where values coincide).
Value ReciprocalDifferences(Value x) {
  const Value differences = ExpandDims(x, x.gradient()->Int(-2)) - NewAxis(x);
  return MatrixSetDiag(SafeReciprocal(differences), ZerosLike(x));
}

// A = V diag(e) V^H: dA = V (diag(de) + F * (V^H dV)) V^H (Giles 2008, 3.1). An op reads one
// triangle of A, which gets both triangles' gradient. `dv` is optional.
Value SelfAdjointGrad(Value e, Value v, Value de, Value dv, bool lower) {
  Value middle = MatrixDiag(de);
  if (dv.exists()) {
    middle = middle + ReciprocalDifferences(e) * MatMul(v, dv, true, false);
  }
  const Value da = MatMul(v, MatMul(middle, v, false, true));
  const Value triangle = MatrixBandPart(da + Adjoint(da), lower ? -1 : 0, lower ? 0 : -1);
  return MatrixSetDiag(triangle, 0.5 * MatrixDiagPart(triangle));
}

void SelfAdjointEigV2Grad(Gradient& g) {
  const bool compute_v = g.Attr<bool>("compute_v");
  const Values ev = compute_v ? Values{g.Output(0), g.Output(1)}
                              : CallAll("SelfAdjointEigV2", {g.Input(0)}, {{"compute_v", true}});
  g.Return(
      {SelfAdjointGrad(ev[0], ev[1], g.Upstream(0), compute_v ? g.Upstream(1) : Value(), true)});
}
REGISTER_GRADIENT("SelfAdjointEigV2", SelfAdjointEigV2Grad);
REGISTER_GRADIENT("BatchSelfAdjointEigV2", SelfAdjointEigV2Grad);

// [e; V] in one output, with the eigenvalues in its first row.
void SelfAdjointEigGrad(Gradient& g) {
  const Value one = g.Int(1);
  const auto eigenvalues = [&](Value packed) {
    return Call("Squeeze", {Rows(packed, Value(), one)},
                {{"squeeze_dims", std::vector<int64_t>{-2}}});
  };
  const auto eigenvectors = [&](Value packed) { return Rows(packed, one, Value()); };
  const Value y = g.Output(), dy = g.Upstream();
  g.Return(
      {SelfAdjointGrad(eigenvalues(y), eigenvectors(y), eigenvalues(dy), eigenvectors(dy), true)});
}
REGISTER_GRADIENT("SelfAdjointEig", SelfAdjointEigGrad);
REGISTER_GRADIENT("BatchSelfAdjointEig", SelfAdjointEigGrad);

void XlaSelfAdjointEigGrad(Gradient& g) {
  if (!IsInexact(g.Input(0))) return ReturnNone(g);
  if (IsComplex(g.Input(0))) {
    return g.Unimplemented(
        "complex matrices are not supported: the op returns the memory of real "
        "eigenvalues as complex ones");
  }
  g.Return({SelfAdjointGrad(g.Output(0), g.Output(1), g.Upstream(0), g.Upstream(1),
                            g.Attr<bool>("lower"))});
}
REGISTER_GRADIENT("XlaSelfAdjointEig", XlaSelfAdjointEigGrad);

// A V = V diag(e), with columns of V of length 1:
//   dA = V^-H (diag(de) + conj(F) * (V^H dV - V^H V diag(Re(V^H dV)))) V^H
// (C. Boeddeker et al., "On the computation of complex-valued gradients", 2017, arXiv:1701.00392,
// (4.77)).
void EigGrad(Gradient& g) {
  const bool compute_v = g.Attr<bool>("compute_v");
  const Value a = g.Input(0);
  const Values ev = compute_v ? Values{g.Output(0), g.Output(1)}
                              : CallAll("Eig", {a}, {{"compute_v", true}, {"Tout", OfOp{"Tout"}}});
  const Value e = ev[0], v = ev[1];
  Value middle = MatrixDiag(g.Upstream(0));
  if (compute_v) {
    const Value v_dv = MatMul(v, g.Upstream(1), true, false);
    const Value along =
        MatMul(MatMul(v, v, true, false), MatrixDiag(RealPart(MatrixDiagPart(v_dv))));
    middle = middle + Conj(ReciprocalDifferences(e)) * (v_dv - along);
  }
  const Value da = Call("MatrixSolve", {v, MatMul(middle, v, false, true)}, {{"adjoint", true}});
  g.Return({Cast(da, a.type())});  // the real part for a real matrix
}
REGISTER_GRADIENT("Eig", EigGrad);

// A = U diag(s) V^H with k = min(rows, columns) columns in U and V:
//   dA = U (diag(ds) + (Fu + Fu^H) S + S (Fv + Fv^H) + D) V^H
//        + (I - U U^H) dU S^-1 V^H + U S^-1 dV^H (I - V V^H),
//   Fu = F * (U^H dU), Fv = F * (V^H dV), F_ij = 1 / (s_j^2 - s_i^2)
// (J. Townsend, "Differentiating the singular value decomposition", 2016). Complex U and V share a
// phase for each column, which LAPACK chooses. D is either of
//   D = i Im diag(U^H dU) S^-1 or -i Im diag(V^H dV) S^-1
// (Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for complex valued SVD", 2019,
// arXiv:1909.02659). Both are the same for functions that do not depend on the phase. The first is
// used for tall matrices, as in Python.
Value SingularGrad(Value a, Values suv, Value ds, Value du, Value dv, bool full) {
  Gradient* g = a.gradient();
  const Value s = suv[0];
  Value u = suv[1], v = suv[2];
  Value u2, v2, du2, dv2;
  const Value rows = NumRows(a), columns = NumColumns(a);
  if (full) {
    const Value k = Minimum(rows, columns);
    u2 = Columns(u, k, Value()), du2 = Columns(du, k, Value());
    v2 = Columns(v, k, Value()), dv2 = Columns(dv, k, Value());
    u = Columns(u, Value(), k), v = Columns(v, Value(), k);
    du = Columns(du, Value(), k) + FromSurplus(u, u2, du2);
    dv = Columns(dv, Value(), k) + FromSurplus(v, v2, dv2);
  }
  const Value u_du = MatMul(u, du, true, false);
  const Value v_dv = MatMul(v, dv, true, false);
  const Value f = ReciprocalDifferences(Square(s));
  const Value fu = f * u_du, fv = f * v_dv;
  const Value s_row = ExpandDims(s, g->Int(-2)), s_column = NewAxis(s);
  Value diagonal = ds;
  if (IsComplex(a)) {
    const Value phase = Where(Greater(rows, columns), ImaginaryPart(MatrixDiagPart(u_du)),
                              -ImaginaryPart(MatrixDiagPart(v_dv)));
    diagonal = diagonal + phase * SafeReciprocal(s);
  }
  const Value middle =
      MatrixDiag(diagonal) + (fu + Adjoint(fu)) * s_row + s_column * (fv + Adjoint(fv));
  const Value s_inverse = SafeReciprocal(s_row);
  const Value left = (du - MatMul(u, u_du)) * s_inverse;
  const Value right = (dv - MatMul(v, v_dv)) * s_inverse;
  Value da = MatMul(MatMul(u, middle) + left, v, false, true) + MatMul(u, right, false, true);
  if (full) {
    da = IfIndependentOfChoice(da, u2, du2);
    da = IfIndependentOfChoice(da, v2, dv2);
  }
  return da;
}

void SvdGrad(Gradient& g) {
  const Value a = g.Input(0);
  const bool compute_uv = g.Attr<bool>("compute_uv");
  const Values suv = compute_uv
                         ? Values{g.Output(0), g.Output(1), g.Output(2)}
                         : CallAll("Svd", {a}, {{"compute_uv", true}, {"full_matrices", false}});
  // Singular values are real, whatever their type.
  const Value ds = RealPart(g.Upstream(0));
  if (!compute_uv) {
    return g.Return({MatMul(suv[1], MatMul(MatrixDiag(ds), suv[2], false, true))});
  }
  g.Return({SingularGrad(a, suv, ds, g.Upstream(1), g.Upstream(2), g.Attr<bool>("full_matrices"))});
}
REGISTER_GRADIENT("Svd", SvdGrad);
REGISTER_GRADIENT("BatchSvd", SvdGrad);

void XlaSvdGrad(Gradient& g) {
  const Value a = g.Input(0);
  if (!IsInexact(a)) return ReturnNone(g);
  const Value ds = RealPart(g.Upstream(0));
  g.Return({SingularGrad(a, {g.Output(0), g.Output(1), g.Output(2)}, ds, g.Upstream(1),
                         g.Upstream(2), true)});
}
REGISTER_GRADIENT("XlaSvd", XlaSvdGrad);

}  // namespace
}  // namespace tensorflow_ext
