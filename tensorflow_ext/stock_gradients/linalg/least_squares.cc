#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

namespace tensorflow_ext {
namespace {

// X = P B, where
//   tall:  P = C^-1 A^H,  C = A^H A + l I
//   wide:  P = A^H C^-1,  C = A A^H + l I
// With dB = P^H dX,
//   tall:  dA = (B - A X) dX^H C^-1 - dB X^H
//   wide:  dA = C^-1 B (dX - A^H dB)^H - dB X^H
// (Giles 2008 applied to the normal equations of the first and second kind, like Python's
// _MatrixSolveLsGrad). The case is known only when the graph runs: `tall` transposes wide matrices
// so that C^-1 is on the right.
void FastGrad(Gradient& g) {
  const Value a = g.Input(0), b = g.Input(1), x = g.Output(), dx = g.Upstream();
  const Value is_tall = GreaterEqual(NumRows(a), NumColumns(a));
  const Value rank = Rank(a), last = rank - 1, before_last = rank - 2;
  const Value permutation =
      Concat({Range(g.Int(0), before_last, g.Int(1)),
              Where(is_tall, Pack({before_last, last}), Pack({last, before_last}))},
             g.Int(0));
  const auto tall = [&](Value matrix) {
    return Transpose(IsComplex(a) ? Where(is_tall, matrix, Conj(matrix)) : matrix, permutation);
  };

  const Value tall_a = tall(a);
  const Value gramian = MatMul(tall_a, tall_a, true, false);
  const Value l = Call(
      "Cholesky", {MatrixSetDiag(gramian, MatrixDiagPart(gramian) + Cast(g.Input(2), a.type()))});
  // tall_matrix C^-1
  const auto divide = [&](Value tall_matrix) {
    const Value half = TriangularSolve(l, Adjoint(tall_matrix), true, false);
    return Adjoint(TriangularSolve(l, half, true, true));
  };

  const Value db = MatMul(tall(divide(tall_a)), dx);
  const Value tall_case = MatMul(b - MatMul(a, x), dx, false, true);
  const Value wide_case = MatMul(b, dx - MatMul(a, db, true, false), false, true);
  const Value da =
      tall(divide(tall(Where(is_tall, tall_case, wide_case)))) - MatMul(db, x, false, true);
  g.Return({da, db, Value()});
}

// X = P B, where P is the pseudoinverse of A, of any rank, and does not depend on the regularizer.
// While the rank is constant,
//   dB = P^H dX,
//   dA = (B - A X) dX^H P P^H + P^H X (dX - A^H dB)^H - dB X^H
// (G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
// problems whose variables separate", 1973, (4.12)).
void PseudoinverseGrad(Gradient& g) {
  const Value a = g.Input(0), b = g.Input(1), x = g.Output(), dx = g.Upstream();
  const Value eye = MatrixDiag(OnesLike(Sum(a, g.Int(-1))));
  const Value p = Call("MatrixSolveLs", {a, eye, g.Input(2)}, {{"fast", false}});
  const Value db = MatMul(p, dx, true, false);
  const Value residual = b - MatMul(a, x);
  const Value by_residual = MatMul(MatMul(residual, db, false, true), p, false, true);
  const Value by_null_space =
      MatMul(MatMul(p, x, true, false), dx - MatMul(a, db, true, false), false, true);
  g.Return({by_residual + by_null_space - MatMul(db, x, false, true), db, Value()});
}

void MatrixSolveLsGrad(Gradient& g) { g.Attr<bool>("fast") ? FastGrad(g) : PseudoinverseGrad(g); }
REGISTER_GRADIENT("MatrixSolveLs", MatrixSolveLsGrad);
REGISTER_GRADIENT("BatchMatrixSolveLs", MatrixSolveLsGrad);

}  // namespace
}  // namespace tensorflow_ext
