// Inverses and linear systems. For Y = A^-1 B,
//   dB = A^-H dY,  dA = -dB Y^H     (M. Giles, "Collected matrix derivative
// results for forward and reverse mode algorithmic differentiation", 2008, 2.2.3), and the same
// with A^H for A in the adjoint variants.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

namespace tensorflow_ext {
namespace {

// dA from dB and Y.
Value SystemGrad(Value db, Value y, bool adjoint) {
  return adjoint ? -MatMul(y, db, false, true) : -MatMul(db, y, false, true);
}

// Y = A^-1 or A^-H: dA = -Y^H dY Y^H or -Y dY^H Y.
void MatrixInverseGrad(Gradient& g) {
  const bool adjoint = g.Attr<bool>("adjoint");
  const Value y = g.Output();
  const Value right = MatMul(g.Upstream(), y, adjoint, !adjoint);
  g.Return({-MatMul(y, right, !adjoint, false)});
}
REGISTER_GRADIENT("MatrixInverse", MatrixInverseGrad);
REGISTER_GRADIENT("BatchMatrixInverse", MatrixInverseGrad);

void MatrixSolveGrad(Gradient& g) {
  const bool adjoint = g.Attr<bool>("adjoint");
  const Value db = Call("MatrixSolve", {g.Input(0), g.Upstream()}, {{"adjoint", !adjoint}});
  g.Return({SystemGrad(db, g.Output(), adjoint), db});
}
REGISTER_GRADIENT("MatrixSolve", MatrixSolveGrad);
REGISTER_GRADIENT("BatchMatrixSolve", MatrixSolveGrad);

// Only the triangle that the op reads gets a gradient.
void MatrixTriangularSolveGrad(Gradient& g) {
  const bool adjoint = g.Attr<bool>("adjoint"), lower = g.Attr<bool>("lower");
  const Value a = g.Input(0), b = g.Input(1);
  const Value db = TriangularSolve(a, g.Upstream(), lower, !adjoint);
  const Value da =
      MatrixBandPart(SystemGrad(db, g.Output(), adjoint), lower ? -1 : 0, lower ? 0 : -1);
  const auto [da_sum, db_sum] = UnbroadcastBatch(a, da, b, db);
  g.Return({da_sum, db_sum});
}
REGISTER_GRADIENT("MatrixTriangularSolve", MatrixTriangularSolveGrad);
REGISTER_GRADIENT("BatchMatrixTriangularSolve", MatrixTriangularSolveGrad);

// The same for a matrix given by its K diagonals from the main one outwards. Row k of the input is
// the k-th diagonal; super- and subdiagonals are aligned left and right.
void BandedTriangularSolveGrad(Gradient& g) {
  const bool adjoint = g.Attr<bool>("adjoint"), lower = g.Attr<bool>("lower");
  const Value bands = g.Input(0), b = g.Input(1);
  const Value db = Call("BandedTriangularSolve", {bands, g.Upstream()},
                        {{"lower", lower}, {"adjoint", !adjoint}});
  const Value da = SystemGrad(db, g.Output(), adjoint);
  const Value zero = g.Int(0), one = g.Int(1), num_bands = NumRows(bands);
  const Value k = lower ? Pack({one - num_bands, zero}) : Pack({zero, num_bands - one});
  const Value parts =
      Call("MatrixDiagPartV3", {da, k, g.Scalar(0, da.type())}, {{"align", "LEFT_RIGHT"}});
  // A single diagonal has no axis of diagonals.
  const Value shape = Shape(bands);
  const Value d_bands = Reshape(
      parts, Concat({SliceVector(Shape(da), 0, -2), SliceVector(shape, -2, kToTheEnd)}, zero));
  const auto [d_bands_sum, db_sum] = UnbroadcastBatch(bands, d_bands, b, db);
  g.Return({d_bands_sum, db_sum});
}
REGISTER_GRADIENT("BandedTriangularSolve", BandedTriangularSolveGrad);

}  // namespace
}  // namespace tensorflow_ext
