#include "tensorflow_ext/stock_gradients/sparse/sparse.h"

namespace tensorflow_ext {

namespace {

Value WithLeadingAxes(Value shape, Value rank) {
  Gradient* g = shape.gradient();
  const Value missing = rank - Shape(shape);
  const Value ones = Fill(missing, g->Scalar(1, DT_INT64));
  return Concat({ones, shape}, g->Int(0));
}

// Every index becomes 0 along axes of size 1 and is unchanged along others.
Value Broadcast(Value indices, Value shape) { return Minimum(indices, shape - 1); }

}  // namespace

Value IndexColumns(Value indices, int64_t begin, int64_t end) {
  Gradient* g = indices.gradient();
  const bool to_the_end = end == kToTheEnd;
  return Call("StridedSlice",
              {indices, g->Ints({0, begin}), g->Ints({0, to_the_end ? 0 : end}), g->Ints({1, 1})},
              {{"begin_mask", 1}, {"end_mask", to_the_end ? 3 : 1}});
}

Value Ordinals(Value count) {
  const Value one = count.gradient()->Scalar(1, count.type());
  return Range(one, count + 1, one);
}

Value ValuesAt(Value at, Value indices, Value values) {
  // Merges the sorted indices. The op's second summand gets the same indices; its result is not
  // used.
  return Call("SparseAddGrad", {values, at, at, indices});
}

Value RowsIn(Value table, Value rows, Value count) {
  // The distinct rows of both are numbered in order, starting with the table's.
  Gradient* g = table.gradient();
  const Value numbers = CallAll("UniqueV2", {Concat({table, rows}, g->Int(0)), g->Ints({0})},
                                {{"out_idx", DT_INT64}})[1];
  const Value begin = ExpandDims(Cast(count, DT_INT64), g->Int(0));
  return Minimum(Call("Slice", {numbers, begin, g->Vector({-1}, DT_INT64)}), Cast(count, DT_INT64));
}

BroadcastDense::BroadcastDense(Value dense, Value indices, Value rank)
    : dense_(dense),
      shape_(WithLeadingAxes(Shape(dense, DT_INT64), rank)),
      indices_(Broadcast(indices, shape_)) {}

Value BroadcastDense::Elements() const { return GatherNd(Reshape(dense_, shape_), indices_); }

Value BroadcastDense::Scatter(Value by_value) const {
  return ReshapeLike(ScatterNd(indices_, by_value, shape_), dense_);
}

Value RowSums(Value indices, Value values, Value shape) {
  Gradient* g = values.gradient();
  const Value sums =
      Call("SparseReduceSum", {indices, values, shape, g->Ints({-1})}, {{"keep_dims", true}});
  return GatherNd(sums, Broadcast(indices, Shape(sums, DT_INT64)));
}

}  // namespace tensorflow_ext
