// Tridiagonal matrices, given by superdiagonal, main diagonal and subdiagonal, each of length M.
// The superdiagonal's last and the subdiagonal's first element do not count.
//   (T x)_i = super_i x_{i+1} + main_i x_i + sub_i x_{i-1}

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

namespace tensorflow_ext {
namespace {

// Row i of the result is row i + 1, or i - 1, of x, or zeros if there is none.
Value NextRow(Value x) {
  const Value one = x.gradient()->Int(1);
  return Stacked(Rows(x, one, Value()), ZerosLike(Rows(x, Value(), one)));
}
Value PreviousRow(Value x) {
  const Value one = x.gradient()->Int(1), minus_one = x.gradient()->Int(-1);
  return Stacked(ZerosLike(Rows(x, Value(), one)), Rows(x, Value(), minus_one));
}

// The diagonals (super, main, sub) of dy x^H, vectors.
Values DiagonalsOfProduct(Value dy, Value x) {
  const Value conj_x = Conj(x), columns = x.gradient()->Int(-1);
  return {Sum(dy * NextRow(conj_x), columns), Sum(dy * conj_x, columns),
          Sum(dy * PreviousRow(conj_x), columns)};
}

// Like Python's _TridiagonalMatMulGrad.
void TridiagonalMatMulGrad(Gradient& g) {
  const Value x = g.Input(3), dy = g.Upstream();
  const Value row = g.Int(-2);
  // The diagonals are rows; here they scale the rows of dy.
  const Value super = Adjoint(g.Input(0)), main = Adjoint(g.Input(1)), sub = Adjoint(g.Input(2));
  const Values diagonals = DiagonalsOfProduct(dy, x);
  g.Return({ExpandDims(diagonals[0], row), ExpandDims(diagonals[1], row),
            ExpandDims(diagonals[2], row),
            PreviousRow(super * dy) + main * dy + NextRow(sub * dy)});
}
REGISTER_GRADIENT("TridiagonalMatMul", TridiagonalMatMulGrad);

// T x = b: db = T^-H dx, dT = -db x^H (Giles 2008, 2.2.3). The superdiagonal of T^H is the
// conjugated subdiagonal, shifted by one.
void TridiagonalSolveGrad(Gradient& g) {
  const Value diagonals = Conj(g.Input(0)), x = g.Output();
  const Value one = g.Int(1), two = g.Int(2);
  const Value super = MatrixTranspose(Rows(diagonals, Value(), one));
  const Value main = Rows(diagonals, one, two);
  const Value sub = MatrixTranspose(Rows(diagonals, two, Value()));
  const Value adjoint =
      Concat({MatrixTranspose(NextRow(sub)), main, MatrixTranspose(PreviousRow(super))}, g.Int(-2));
  const Value db = Call("TridiagonalSolve", {adjoint, g.Upstream()},
                        g.AttrsOfOp({"partial_pivoting", "perturb_singular"}));
  g.Return({-Pack(DiagonalsOfProduct(db, x), -2), db});
}
REGISTER_GRADIENT("TridiagonalSolve", TridiagonalSolveGrad);

}  // namespace
}  // namespace tensorflow_ext
