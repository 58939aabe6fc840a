// Matrix decompositions; those into triangular factors are in triangular.cc. Factors that are not
// unique (the phase of an eigenvector, the basis of a null space) have gradients for functions that
// do not depend on the choice.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/linalg/degenerate.h"
#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

namespace tensorflow_ext {
namespace {

// Returns `gradient`, or NaN if the gradient depends on the choice of the surplus columns q2, which
// complete the other columns to a basis. It does unless q2^H dq2 is self-adjoint. A single column
// can change only its sign or phase and is accepted.
Value IfIndependentOfChoice(Value gradient, Value q2, Value dq2) {
  const Value product = MatMul(q2, dq2, true, false);
  const Value skew_norm = ConstantNorm(product - Adjoint(product));
  const Value depends = LogicalAnd(Greater(skew_norm, ConstantNorm(product) * SqrtEpsilon(q2)),
                                   Greater(NumColumns(q2), q2.gradient()->Int(1)));
  return NanWhere(depends, gradient);
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

// The self-adjoint matrix that an op reads from one triangle of `a`.
Value OfTriangle(Value a, bool lower) {
  const Value triangle = MatrixBandPart(a, lower ? -1 : 0, lower ? 0 : -1);
  return MatrixSetDiag(triangle + Adjoint(triangle), RealPart(MatrixDiagPart(a)));
}

Value WithoutDiagonal(Value x) { return MatrixSetDiag(x, ZerosLike(MatrixDiagPart(x))); }

// x y - y x
Value Commutator(Value x, Value y) { return MatMul(x, y) - MatMul(y, x); }

// A = V D V^H, D = diag(e): dA = V (diag(de) + Z) V^H, where Z D - D Z = V^H dV off the diagonal
// (Giles 2008, 3.1). The self-adjoint part of dA counts, so only the skew part of V^H dV does. An
// op reads one triangle of A, which gets both triangles' gradient. `dv` is optional.
Value SelfAdjointGrad(Value a, Value e, Value v, Value de, Value dv, bool lower) {
  Value middle = MatrixDiag(de), unknown;
  if (dv.exists()) {
    const Value v_dv = MatMul(v, dv, true, false), size = ConstantNorm(dv);
    const Value skew = WithoutDiagonal(0.5 * (v_dv - Adjoint(v_dv)));
    const Spectrum d(e, MatMul(v, MatMul(OfTriangle(a, lower), v), true, false));
    const SafeQuotient z(skew, size, d.Differences(), d.size);
    middle = middle + z.Over(skew - Commutator(StopGradient(z.value()), d.change));
    const Value uses_basis =
        LogicalOr(Greater(Magnitude(v_dv + Adjoint(v_dv)), size * SqrtEpsilon(v)),
                  LogicalAnd(d.is_zero, Greater(size, 0)));  // f(D) may be 0 with D.
    unknown = IsUnknown(z.is_replaced(), de, uses_basis);
  }
  const Value da = MatMul(v, MatMul(middle, v, false, true));
  const Value triangle = MatrixBandPart(da + Adjoint(da), lower ? -1 : 0, lower ? 0 : -1);
  const Value gradient = MatrixSetDiag(triangle, 0.5 * MatrixDiagPart(triangle));
  return unknown.exists() ? NanWhere(unknown, gradient) : gradient;
}

void SelfAdjointEigV2Grad(Gradient& g) {
  const bool compute_v = g.Attr<bool>("compute_v");
  const Values ev = compute_v ? Values{g.Output(0), g.Output(1)}
                              : CallAll("SelfAdjointEigV2", {g.Input(0)}, {{"compute_v", true}});
  g.Return({SelfAdjointGrad(g.Input(0), ev[0], ev[1], g.Upstream(0),
                            compute_v ? g.Upstream(1) : Value(), true)});
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
  g.Return({SelfAdjointGrad(g.Input(0), eigenvalues(y), eigenvectors(y), eigenvalues(dy),
                            eigenvectors(dy), true)});
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
  g.Return({SelfAdjointGrad(g.Input(0), g.Output(0), g.Output(1), g.Upstream(0), g.Upstream(1),
                            g.Attr<bool>("lower"))});
}
REGISTER_GRADIENT("XlaSelfAdjointEig", XlaSelfAdjointEigGrad);

// A V = V D, D = diag(e), with columns of V of length 1:
//   dA = V^-H (diag(de) + Z) V^H,
//   Z D^H - D^H Z = V^H dV - V^H V diag(Re(V^H dV)) off the diagonal
// (C. Boeddeker et al., "On the computation of complex-valued gradients", 2017, arXiv:1701.00392,
// (4.77)).
void EigGrad(Gradient& g) {
  const bool compute_v = g.Attr<bool>("compute_v");
  const Value a = g.Input(0);
  const Values ev = compute_v ? Values{g.Output(0), g.Output(1)}
                              : CallAll("Eig", {a}, {{"compute_v", true}, {"Tout", OfOp{"Tout"}}});
  const Value e = ev[0], v = ev[1];
  Value middle = MatrixDiag(g.Upstream(0)), unknown;
  if (compute_v) {
    const Value v_dv = MatMul(v, g.Upstream(1), true, false), size = ConstantNorm(g.Upstream(1));
    const Value along =
        MatMul(MatMul(v, v, true, false), MatrixDiag(RealPart(MatrixDiagPart(v_dv))));
    const Value rest = WithoutDiagonal(v_dv - along);
    const Spectrum d(e, Call("MatrixSolve", {v, MatMul(Cast(a, v.type()), v)}));
    const SafeQuotient z(rest, size, Conj(d.Differences()), d.size);
    middle = middle + z.Over(rest - Commutator(StopGradient(z.value()), Adjoint(d.change)));
    unknown = IsUnknown(z.is_replaced(), g.Upstream(0), Greater(size, 0));
  }
  Value da = Call("MatrixSolve", {v, MatMul(middle, v, false, true)}, {{"adjoint", true}});
  if (unknown.exists()) da = NanWhere(unknown, da);
  g.Return({Cast(da, a.type())});  // the real part for a real matrix
}
REGISTER_GRADIENT("Eig", EigGrad);

// A = U S V^H, S = diag(s), with k = min(rows, columns) columns in U and V:
//   dA = U (diag(ds) + M) V^H + (I - U U^H) dU S^-1 V^H + U S^-1 dV^H (I - V V^H),
//   M_ij = (P_ij s_j + s_i Q_ij) / (s_j^2 - s_i^2) off the diagonal,
//   P = U^H dU - (its adjoint),  Q = V^H dV - (its adjoint)
// (J. Townsend, "Differentiating the singular value decomposition", 2016). In partial fractions, M
// = X + Y with
//   X S - S X = (P + Q) / 2,  Y S + S Y = (P - Q) / 2,
// so equal singular values make only X a quotient of zeros. P + Q is 0 there for functions that do
// not depend on the basis of their space. Complex U and V share a phase for each column, which
// LAPACK chooses. The diagonal of M is either of
//   i Im diag(U^H dU) S^-1 or -i Im diag(V^H dV) S^-1
// (Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for complex valued SVD", 2019,
// arXiv:1909.02659). Both are the same for functions that do not depend on the phase. The first is
// used for tall matrices, as in Python.
Value SingularGrad(Value a, Values suv, Value ds, Value du, Value dv, bool full) {
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
  const Value size = ConstantNorm(du) + ConstantNorm(dv);
  const Value p = u_du - Adjoint(u_du), q = v_dv - Adjoint(v_dv);
  Value phase = ZerosLike(s);
  if (IsComplex(a)) {
    phase = Where(Greater(rows, columns), ImaginaryPart(MatrixDiagPart(u_du)),
                  -ImaginaryPart(MatrixDiagPart(v_dv)));
  }
  const Value half_sum = WithoutDiagonal(0.5 * (p + q));
  const Value half_difference = MatrixSetDiag(0.5 * (p - q), 2 * phase);
  const Value left_rest = du - MatMul(u, u_du), right_rest = dv - MatMul(v, v_dv);

  const Spectrum d(s, MatMul(u, MatMul(a, v), true, false));
  const SafeQuotient x(half_sum, size, d.Differences(), d.size);
  const SafeQuotient y(half_difference, size, d.Sums(), d.size);
  const SafeQuotient left(left_rest, size, RowOf(d.values), d.size);
  const SafeQuotient right(right_rest, size, RowOf(d.values), d.size);
  const Value y_constant = StopGradient(y.value());
  const Value middle =
      MatrixDiag(ds) + x.Over(half_sum - Commutator(StopGradient(x.value()), d.change)) +
      y.Over(half_difference - (MatMul(y_constant, d.change) + MatMul(d.change, y_constant)));
  const auto with_change = [&](const SafeQuotient& quotient, Value rest) {
    return quotient.Over(rest - MatMul(StopGradient(quotient.value()), d.change));
  };
  Value da = MatMul(MatMul(u, middle) + with_change(left, left_rest), v, false, true) +
             MatMul(u, with_change(right, right_rest), false, true);

  // f(S) may be 0 with S.
  const Value may_be_zero = LogicalAnd(d.is_zero, Greater(size, 0));
  const Value symmetric = Magnitude(u_du + Adjoint(u_du)) + Magnitude(v_dv + Adjoint(v_dv));
  const Value uses_basis = LogicalOr(Greater(symmetric, size * SqrtEpsilon(s)), may_be_zero);
  // There a column of U and V turns alone, by a phase or into the space that the others leave.
  const Value slopes = NewAxis(Magnitude(ds));
  Value turns_alone = LogicalAnd(
      may_be_zero, Greater(slopes, Max(slopes, rows.gradient()->Int(-2), true) * SqrtEpsilon(s)));
  if (!IsComplex(a)) turns_alone = LogicalAnd(turns_alone, NotEqual(rows, columns));
  const Value unknown = IsUnknown(x.is_replaced(), ds, uses_basis);
  da = NanWhere(LogicalOr(unknown, AnyOfMatrix(turns_alone)), da);
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
