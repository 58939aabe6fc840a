// Helpers for gradients of linear algebra. A matrix is the last two axes of a value; the others are
// a batch. X^H is the conjugate transpose.

#pragma once

#include <utility>

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// The numbers of rows and columns, int32 scalars.
Value NumRows(Value x);
Value NumColumns(Value x);
// x[..., begin:end, :] and x[..., begin:end]. A missing `begin` or `end` means the first or last
// one.
Value Rows(Value x, Value begin, Value end);
Value Columns(Value x, Value begin, Value end);
// [x, y] and [x; y].
Value SideBySide(Value x, Value y);
Value Stacked(Value x, Value y);
// x[..., newaxis]
Value NewAxis(Value x);
// The Frobenius norm of each matrix, in x's type, of shape [..., 1, 1]. It has no derivative at 0.
// (XLA has no EuclideanNorm.)
Value MatrixNorm(Value x);
// op(a)^-1 b for a triangular `a`, where op is the adjoint if requested.
Value TriangularSolve(Value a, Value b, bool lower, bool adjoint);
// Re x and i Im x in the type of x, which may be real.
Value RealPart(Value x);
Value ImaginaryPart(Value x);
// If f(a, b) broadcasts the batches of its operands: the sums of da and db in the shapes of a and
// b.
std::pair<Value, Value> UnbroadcastBatch(Value a, Value da, Value b, Value db);
// The type of the absolute values of x.
DataType RealType(Value x);
// The square root of the spacing of the numbers of x's type at 1.
double SqrtEpsilon(Value x);

}  // namespace tensorflow_ext
