// Helpers for gradients of sparse ops. A sparse tensor is (indices [n, rank], values [n], shape
// [rank]) in row-major order. Indices and shape are int64.

#pragma once

#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// Columns [begin, end) of a matrix of indices. Negative ends count from the back; an `end` of
// kToTheEnd means all remaining columns.
Value IndexColumns(Value indices, int64_t begin, int64_t end);

// 1, ..., count. After an op that moves values and leaves zeros elsewhere, these show each value's
// origin.
Value Ordinals(Value count);

// The values of a sparse tensor at other indices, 0 where it has no value. Both matrices of indices
// must be in row-major order.
Value ValuesAt(Value at, Value indices, Value values);

// The number of the row of `table` that equals each of `rows`, or `count`, the number of its rows,
// if there is none. Both are int64 matrices, and the rows of `table` are distinct.
Value RowsIn(Value table, Value rows, Value count);

// A dense tensor, broadcast to the shape of a sparse tensor and combined with its values one by
// one.
class BroadcastDense {
 public:
  // `indices` belong to the sparse tensor; `rank` is a vector of one int32.
  BroadcastDense(Value dense, Value indices, Value rank);

  // The element that each value meets.
  Value Elements() const;
  // For each element, the sum over the values that it meets.
  Value Scatter(Value by_value) const;

 private:
  const Value dense_;
  const Value shape_;    // with leading axes of size 1, up to `rank`
  const Value indices_;  // of the element that each value meets
};

// For each value of a sparse tensor, the sum of the values in its row: those whose indices differ
// only in the last axis.
Value RowSums(Value indices, Value values, Value shape);

}  // namespace tensorflow_ext
