// SPDX-License-Identifier: Apache-2.0
//
// What gradients of sparse ops share. A sparse tensor is (indices [n, rank],
// values [n], shape [rank]), in row-major order; all but the values are int64.

#ifndef TENSORFLOW_EXT_STOCK_GRADIENTS_SPARSE_SPARSE_H_
#define TENSORFLOW_EXT_STOCK_GRADIENTS_SPARSE_SPARSE_H_

#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// Columns [begin, end) of a matrix of indices; negative ends count from the
// back, and kToTheEnd as `end` means all the rest.
Value IndexColumns(Value indices, int64_t begin, int64_t end);

// 1, ..., count: what, sent through an op that moves values and leaves zeros
// elsewhere, comes out as the places of origin.
Value Ordinals(Value count);

// The values of a sparse tensor at other indices, 0 where it has none there.
// Both matrices of indices are in row-major order.
Value ValuesAt(Value at, Value indices, Value values);

// The number of the row of `table` that equals each of `rows`; `count`, the
// number of its rows, where none does. Both are matrices of int64, and the rows
// of `table` differ from each other.
Value RowsIn(Value table, Value rows, Value count);

// A dense tensor that was broadcast to the shape of a sparse one and met its
// values one by one.
class BroadcastDense {
 public:
  // `indices` are those of the sparse tensor, `rank` is a vector of one int32.
  BroadcastDense(Value dense, Value indices, Value rank);

  // The element that each value meets.
  Value Elements() const;
  // For each element the sum over the values that it meets.
  Value Scatter(Value by_value) const;

 private:
  const Value dense_;
  const Value shape_;    // with axes of size 1 in front, up to `rank`
  const Value indices_;  // of the element that each value meets
};

// For each value of a sparse tensor: the sum of those in its row, that is, of
// those whose indices differ in the last axis only.
Value RowSums(Value indices, Value values, Value shape);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_STOCK_GRADIENTS_SPARSE_SPARSE_H_
