// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/stock_gradients/linalg.h"

namespace tensorflow_ext {
namespace {

// X = P B with P = C^-1 A^H, C = A^H A + l I, where A is tall, and
// P = A^H C^-1, C = A A^H + l I, where it is wide. With dB = P^H dX,
//   tall:  dA = (B - A X) dX^H C^-1 - dB X^H
//   wide:  dA = C^-1 B (dX - A^H dB)^H - dB X^H
// (Giles 2008 applied to the normal equations of first and second kind; as
// Python's _MatrixSolveLsGrad). Which one it is shows only when the graph runs:
// `tall` turns wide matrices round so that C^-1 stands on the right.
void MatrixSolveLsGrad(Gradient& g) {
  if (!g.Attr<bool>("fast")) {
    return g.Unimplemented(
        "fast=False is not supported: the complete orthogonal decomposition "
        "has no gradient; fast=True has one");
  }
  const Value a = g.Input(0), b = g.Input(1), x = g.Output(), dx = g.Upstream();
  const Value is_tall = GreaterEqual(NumRows(a), NumColumns(a));
  const Value rank = Rank(a), last = rank - 1, before_last = rank - 2;
  const Value permutation = Concat(
      {Range(g.Int(0), before_last, g.Int(1)),
       Where(is_tall, Pack({before_last, last}), Pack({last, before_last}))},
      g.Int(0));
  const auto tall = [&](Value matrix) {
    return Transpose(
        IsComplex(a) ? Where(is_tall, matrix, Conj(matrix)) : matrix,
        permutation);
  };

  const Value tall_a = tall(a);
  const Value gramian = MatMul(tall_a, tall_a, true, false);
  const Value l = Call(
      "Cholesky", {MatrixSetDiag(gramian, MatrixDiagPart(gramian) +
                                              Cast(g.Input(2), a.type()))});
  // tall_matrix C^-1
  const auto divide = [&](Value tall_matrix) {
    const Value half = TriangularSolve(l, Adjoint(tall_matrix), true, false);
    return Adjoint(TriangularSolve(l, half, true, true));
  };

  const Value db = MatMul(tall(divide(tall_a)), dx);
  const Value tall_case = MatMul(b - MatMul(a, x), dx, false, true);
  const Value wide_case =
      MatMul(b, dx - MatMul(a, db, true, false), false, true);
  const Value da = tall(divide(tall(Where(is_tall, tall_case, wide_case)))) -
                   MatMul(db, x, false, true);
  g.Return({da, db, Value()});
}
REGISTER_GRADIENT("MatrixSolveLs", MatrixSolveLsGrad);

}  // namespace
}  // namespace tensorflow_ext
