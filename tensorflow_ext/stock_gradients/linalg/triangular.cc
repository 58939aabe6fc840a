// Decompositions into triangular factors.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

namespace tensorflow_ext {
namespace {

// The lower triangle of x with half its diagonal. Phi is self-adjoint:
//   <a, Phi(b)> = <Phi(a), b>
Value Phi(Value x) { return MatrixSetDiag(MatrixBandPart(x, -1, 0), 0.5 * MatrixDiagPart(x)); }

// l^-H x l^-1
Value DividedOnBothSides(Value l, Value x) {
  const Value left = TriangularSolve(l, x, true, true);
  return Adjoint(TriangularSolve(l, Adjoint(left), true, true));
}

// A = L L^H: dA = (S + S^H) / 2, S = L^-H Phi(L^H dL) L^-1 (I. Murray, "Differentiation of the
// Cholesky decomposition", 2016, (8) to (10)).
void CholeskyGradient(Gradient& g) {
  const Value l = g.Output();
  const Value s = DividedOnBothSides(l, Phi(MatMul(l, g.Upstream(), true, false)));
  g.Return({0.5 * (s + Adjoint(s))});
}
REGISTER_GRADIENT("Cholesky", CholeskyGradient);
REGISTER_GRADIENT("BatchCholesky", CholeskyGradient);

// The op computes dA from the lower triangles of L and dL =: G, which are real. W is the upstream
// gradient and M = L^-1 (W + W^T) / 2 L^-T. The gradients of
//   <W, dA> = <M, Phi(L^T G)>
// are
//   for G:  tril(L Phi(M))
//   for L:  tril(G Phi(M)^T - L^-T (P + P^T) M),  P = Phi(L^T G).
void CholeskyGradGradient(Gradient& g) {
  const Value l = MatrixBandPart(g.Input(0), -1, 0);
  const Value gradient = MatrixBandPart(g.Input(1), -1, 0);
  const Value w = 0.5 * (g.Upstream() + Adjoint(g.Upstream()));
  const Value left = TriangularSolve(l, w, true, false);
  const Value m = TriangularSolve(l, Adjoint(left), true, false);
  const Value phi_m = Phi(m);
  const Value p = Phi(MatMul(l, gradient, true, false));
  const Value by_l = MatMul(gradient, phi_m, false, true) -
                     TriangularSolve(l, MatMul(p + Adjoint(p), m), true, true);
  g.Return({MatrixBandPart(by_l, -1, 0), MatrixBandPart(MatMul(l, phi_m), -1, 0)});
}
REGISTER_GRADIENT("CholeskyGrad", CholeskyGradGradient);
REGISTER_GRADIENT("BatchCholeskyGrad", CholeskyGradGradient);

// P A = L U, where row i of P A is row p_i of A and L has ones on its diagonal. d(PA) = dL U + L
// dU, so L^-1 d(PA) U^-1 = L^-1 dL + dU U^-1 is the sum of a strictly lower and an upper triangular
// matrix, and
//   dA = P^T L^-H (stril(L^H dL) + triu(dU U^H)) U^-H.
// The op's first output is L and U in one matrix.
void LuGrad(Gradient& g) {
  const Value u = g.Output(0), p = g.Output(1), du = g.Upstream(0);
  const Value l = MatrixSetDiag(u, OnesLike(MatrixDiagPart(u)));
  const auto lower_of = [&](Value matrix) {
    const Value triangle = MatrixBandPart(matrix, -1, 0);
    return MatrixSetDiag(triangle, ZerosLike(MatrixDiagPart(matrix)));
  };
  const auto upper_of = [](Value x) { return MatrixBandPart(x, 0, -1); };
  const Value lower = lower_of(MatMul(MatrixBandPart(l, -1, 0), lower_of(du), true, false));
  const Value upper = upper_of(MatMul(upper_of(du), upper_of(u), false, true));
  const Value left = TriangularSolve(l, lower + upper, true, true);
  const Value both = Adjoint(TriangularSolve(u, Adjoint(left), false, false));
  const Value rows = Range(g.Int(0), NumRows(u), g.Int(1));
  const Value permutation = Cast(Equal(NewAxis(p), Cast(rows, p.type())), u.type());
  g.Return({MatMul(permutation, both, true, false)});
}
REGISTER_GRADIENT("Lu", LuGrad);

}  // namespace
}  // namespace tensorflow_ext
