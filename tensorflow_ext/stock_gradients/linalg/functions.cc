// Functions of matrices. The gradient of f at A is the adjoint of its Frechet derivative, dA =
// L(A^H, dY), where L(A, E) is the derivative of f at A in the direction E, and
//   f([A, E; 0, A]) = [f(A), L(A, E); 0, f(A)]
// (N. Higham, "Functions of Matrices", 2008, (3.16) and section 3.2). This uses the op itself,
// which is therefore differentiable any number of times.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

namespace tensorflow_ext {
namespace {

// L is linear in E, so E is scaled to the size of A: the blocks then share rounding and, for an
// exponential, the number of squarings.
void FunctionGrad(Gradient& g) {
  const Value a = Adjoint(g.Input(0)), dy = g.Upstream();
  const auto or_one = [](Value x) { return Where(NotEqual(x, 0), x, 1); };
  const Value ratio = StopGradient(or_one(MatrixNorm(a)) / or_one(MatrixNorm(dy)));
  const Value blocks =
      g.Call(g.op(), {Stacked(SideBySide(a, dy * ratio), SideBySide(ZerosLike(a), a))});
  const Value n = NumRows(a);
  g.Return({Columns(Rows(blocks, Value(), n), n, Value()) / ratio});
}
REGISTER_GRADIENT("MatrixExponential", FunctionGrad);
REGISTER_GRADIENT("MatrixLogarithm", FunctionGrad);
REGISTER_GRADIENT("MatrixSquareRoot", FunctionGrad);

}  // namespace
}  // namespace tensorflow_ext
