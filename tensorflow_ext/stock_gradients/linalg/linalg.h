// SPDX-License-Identifier: Apache-2.0
//
// What gradients of linear algebra share. A matrix is the last two
// axes of a value, the others are a batch; X^H is the conjugate transpose.

#ifndef TENSORFLOW_EXT_STOCK_GRADIENTS_LINALG_LINALG_H_
#define TENSORFLOW_EXT_STOCK_GRADIENTS_LINALG_LINALG_H_

#include <utility>

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// The numbers of rows and columns, int32 scalars.
Value NumRows(Value x);
Value NumColumns(Value x);
// x[..., begin:end, :] and x[..., begin:end]; a `begin` or `end` that does not
// exist stands for the first or last one.
Value Rows(Value x, Value begin, Value end);
Value Columns(Value x, Value begin, Value end);
// [x, y] and [x; y].
Value SideBySide(Value x, Value y);
Value Stacked(Value x, Value y);
// x[..., newaxis]
Value NewAxis(Value x);
// The Frobenius norm of each matrix, of x's type and of shape [..., 1, 1]. XLA
// has no EuclideanNorm, and this has no derivative at 0.
Value MatrixNorm(Value x);
// op(a)^-1 b, where op is the adjoint if asked for and `a` is triangular.
Value TriangularSolve(Value a, Value b, bool lower, bool adjoint);
// Re x and i Im x in the type of x, which may be real.
Value RealPart(Value x);
Value ImaginaryPart(Value x);
// x / (x^2 + 1e-20): 1 / x, but 0 at 0.
Value SafeReciprocal(Value x);
// Where f(a, b) broadcast the batches of its operands: the sums of da and db
// that have the shapes of a and b.
std::pair<Value, Value> UnbroadcastBatch(Value a, Value da, Value b, Value db);
// The type of the absolute values of x.
DataType RealType(Value x);
// The square root of the spacing of the numbers of x's type at 1.
double SqrtEpsilon(Value x);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_STOCK_GRADIENTS_LINALG_LINALG_H_
