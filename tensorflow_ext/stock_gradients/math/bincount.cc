// Sums of weights in the bins that their values name, for each row of values. A weight gets the
// gradient of its bin. No weights count as ones; the op then takes an empty tensor. With
// binary_output the weights do not matter.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/sparse/sparse.h"

namespace tensorflow_ext {
namespace {

Value Zero(Gradient& g) { return g.Scalar(0, DT_INT64); }
Value One(Gradient& g) { return g.Scalar(1, DT_INT64); }
Value MinusOne(Gradient& g) { return g.Ints({-1}); }
Value Count(Value x) { return Size(x, DT_INT64); }

// The gradient of `weights`, if there are any, from those of all values.
Value OfWeights(Value weights, Value by_value) {
  Gradient* g = weights.gradient();
  const Value flat = Reshape(by_value, g->Ints({-1}));
  const Value there = Call("Slice", {flat, g->Ints({0}), ExpandDims(Size(weights), g->Int(0))});
  return ReshapeLike(there, weights);
}

// The values in order, and the row of each.
struct Binned {
  Value bins, rows;
  Value num_rows;
};

// A vector is one row, and so is a scalar.
Binned RowsOfDense(Gradient& g, Value values) {
  const Value shape = Shape(values, DT_INT64), axis = g.Int(0);
  const Value num_rows = Prod(SliceVector(shape, 0, -1), axis);
  const Value num_columns = Prod(SliceVector(shape, -1, kToTheEnd), axis);
  const Value row = ExpandDims(Range(Zero(g), num_rows, One(g)), g.Int(1));
  const Value rows = BroadcastTo(row, Pack({num_rows, num_columns}));
  return {Cast(Reshape(values, MinusOne(g)), DT_INT64), Reshape(rows, MinusOne(g)), num_rows};
}

// A sparse vector is one row.
Binned RowsOfSparse(Gradient& g, Value indices, Value values, Value shape) {
  const Value is_matrix = Cast(Greater(Size(shape), 1), DT_INT64);
  const Value rows = Gather(indices, g.Int(0), 1) * is_matrix;
  const Value num_rows = Maximum(Element(shape, 0) * is_matrix, 1 - is_matrix);
  return {Cast(values, DT_INT64), rows, num_rows};
}

Binned RowsOfRagged(Gradient& g, Value splits, Value values) {
  const Value indices = Call("RaggedTensorToSparse", {Values{splits}, values});
  return {Cast(values, DT_INT64), Gather(indices, g.Int(0), 1), Count(splits) - 1};
}

// ---- Dense results: [rows, size], or [size] for one row. Values beyond the
// bins do not count: they get a column of zeros after the last bin.

void ReturnDense(Gradient& g, const Binned& values, Value size, Value weights) {
  size = Cast(size, DT_INT64);
  const Value table = Reshape(g.Upstream(), Pack({values.num_rows, size}));
  const Value zeros = Zeros(Pack({values.num_rows, One(g)}), weights.type());
  const Value flat = Reshape(Concat({table, zeros}, g.Int(1)), MinusOne(g));
  const Value places = values.rows * (size + 1) + Minimum(values.bins, size);
  Values gradients(g.num_inputs());
  gradients.back() = OfWeights(weights, Gather(flat, places));
  g.Return(gradients);
}

bool HasGradient(Gradient& g, Value weights) {
  return IsInexact(weights) && !g.Attr<bool>("binary_output");
}

void BincountGrad(Gradient& g) {
  const Value values = g.Input(0), weights = g.Input(2);
  if (!IsInexact(weights)) return ReturnNone(g);
  const Value flat = Reshape(values, MinusOne(g));
  ReturnDense(g, {Cast(flat, DT_INT64), Zero(g), One(g)}, g.Input(1), weights);
}
REGISTER_GRADIENT("Bincount", BincountGrad);

void DenseBincountGrad(Gradient& g) {
  const Value weights = g.Input(2);
  if (!HasGradient(g, weights)) return ReturnNone(g);
  ReturnDense(g, RowsOfDense(g, g.Input(0)), g.Input(1), weights);
}
REGISTER_GRADIENT("DenseBincount", DenseBincountGrad);

void SparseBincountGrad(Gradient& g) {
  const Value weights = g.Input(4);
  if (!HasGradient(g, weights)) return ReturnNone(g);
  ReturnDense(g, RowsOfSparse(g, g.Input(0), g.Input(1), g.Input(2)), g.Input(3), weights);
}
REGISTER_GRADIENT("SparseBincount", SparseBincountGrad);

void RaggedBincountGrad(Gradient& g) {
  const Value weights = g.Input(3);
  if (!HasGradient(g, weights)) return ReturnNone(g);
  ReturnDense(g, RowsOfRagged(g, g.Input(0), g.Input(1)), g.Input(2), weights);
}
REGISTER_GRADIENT("RaggedBincount", RaggedBincountGrad);

// ---- Sparse results, for the bins that hold a value. Values that do not count
// get a zero after the last bin.

void ReturnSparse(Gradient& g, const Binned& values, Value weights) {
  const Value indices = g.Output(0), dy = g.Upstream(1);
  // The indices of a vector of bins have no column of rows.
  const Value columns = Element(Shape(indices, DT_INT64), 1);
  const Value count = Count(dy), axis = g.Int(0);
  const Value rows_of_vector = Zeros(Pack({count, 2 - columns}), DT_INT64);
  const Value result = Concat({rows_of_vector, indices}, g.Int(1));
  const Value places = RowsIn(result, Pack({values.rows, values.bins}, 1), count);
  const Value zero = Zeros(g.Ints({1}), weights.type());
  Values gradients(g.num_inputs());
  gradients.back() = OfWeights(weights, Gather(Concat({dy, zero}, axis), places));
  g.Return(gradients);
}

void DenseCountGrad(Gradient& g) {
  const Value weights = g.Input(1);
  if (!HasGradient(g, weights)) return ReturnNone(g);
  ReturnSparse(g, RowsOfDense(g, g.Input(0)), weights);
}
REGISTER_GRADIENT("DenseCountSparseOutput", DenseCountGrad);

void SparseCountGrad(Gradient& g) {
  const Value weights = g.Input(3);
  if (!HasGradient(g, weights)) return ReturnNone(g);
  ReturnSparse(g, RowsOfSparse(g, g.Input(0), g.Input(1), g.Input(2)), weights);
}
REGISTER_GRADIENT("SparseCountSparseOutput", SparseCountGrad);

void RaggedCountGrad(Gradient& g) {
  const Value weights = g.Input(2);
  if (!HasGradient(g, weights)) return ReturnNone(g);
  ReturnSparse(g, RowsOfRagged(g, g.Input(0), g.Input(1)), weights);
}
REGISTER_GRADIENT("RaggedCountSparseOutput", RaggedCountGrad);

}  // namespace
}  // namespace tensorflow_ext
