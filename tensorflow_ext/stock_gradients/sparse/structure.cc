// Ops that move, select, fill in or multiply the values of sparse tensors.

#include <algorithm>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/sparse/sparse.h"

namespace tensorflow_ext {
namespace {

// Sorting the value numbers shows where each value went.
void SparseReorderGrad(Gradient& g) {
  const Value indices = g.Input(0), shape = g.Input(2);
  const Value zero = g.Scalar(0, DT_INT64), one = g.Scalar(1, DT_INT64);
  const Value count = Element(Shape(indices, DT_INT64), 0);
  const Value permutation = CallAll("SparseReorder", {indices, Range(zero, count, one), shape})[1];
  g.Return({Value(), Gather(g.Upstream(1), InvertPermutation(permutation)), Value()});
}
REGISTER_GRADIENT("SparseReorder", SparseReorderGrad);

// The value numbers, sent the same way, show each value's origin.
void SparseConcatGrad(Gradient& g) {
  const Values indices = g.Inputs("indices"), values = g.Inputs("values");
  const Values shapes = g.Inputs("shapes");
  if (!IsInexact(values[0])) return ReturnNone(g);
  const int64_t n = values.size();
  const Attributes num_split = {{"num_split", n}};
  Values counts;
  for (const Value& v : values) counts.push_back(Size(v, DT_INT64));
  const Value sizes = Pack(counts), axis = g.Int(0);
  const Value numbers = Range(g.Scalar(0, DT_INT64), Sum(sizes, axis), g.Scalar(1, DT_INT64));
  const Values parts = g.CallAll("SplitV", {numbers, sizes, axis}, num_split);
  const Value permutation =
      g.CallAll("SparseConcat", {indices, parts, shapes}, g.AttrsOfOp({"concat_dim"}))[1];
  const Value d_values = Gather(g.Upstream(1), InvertPermutation(permutation));
  Values gradients(g.num_inputs());
  const Values split = g.CallAll("SplitV", {d_values, sizes, axis}, num_split);
  std::copy(split.begin(), split.end(), gradients.begin() + n);
  g.Return(gradients);
}
REGISTER_GRADIENT("SparseConcat", SparseConcatGrad);

void SparseSplitGrad(Gradient& g) {
  const Value indices = g.Input(1), values = g.Input(2);
  if (!IsInexact(values)) return ReturnNone(g);
  const int64_t n = g.Attr<int64_t>("num_split");
  const Value numbers = Range(g.Scalar(0, DT_INT64), Size(values, DT_INT64), g.Scalar(1, DT_INT64));
  const Values outputs = g.CallAll("SparseSplit", {g.Input(0), indices, numbers, g.Input(3)},
                                   g.AttrsOfOp({"num_split"}));
  const Values upstream = g.Upstreams();
  // The parts that belong to values, after as many parts for indices.
  const auto values_of = [n](const Values& all) {
    return Values(all.begin() + n, all.begin() + 2 * n);
  };
  Value d_values = values_of(upstream)[0], origins = values_of(outputs)[0];
  if (n > 1) {
    d_values = Concat(values_of(upstream), g.Int(0));
    origins = Concat(values_of(outputs), g.Int(0));
  }
  g.Return({Value(), Value(), Gather(d_values, InvertPermutation(origins)), Value()});
}
REGISTER_GRADIENT("SparseSplit", SparseSplitGrad);

void SparseSliceGrad(Gradient& g) {
  const Value indices = g.Input(0), values = g.Input(1), start = g.Input(3);
  if (!IsInexact(values)) return ReturnNone(g);
  const Value d_values = Call("SparseSliceGrad", {g.Upstream(1), indices, start, g.Output(0)});
  g.Return({Value(), d_values, Value(), Value(), Value()});
}
REGISTER_GRADIENT("SparseSlice", SparseSliceGrad);

// The op copies the slice's values into zeros; each gets its copy's gradient.
void SparseSliceGradGrad(Gradient& g) {
  const Value values = g.Input(0);
  if (!IsInexact(values)) return ReturnNone(g);
  const Value count = Size(values, DT_INT64);
  const Value origins =
      Call("SparseSliceGrad", {Ordinals(count), g.Input(1), g.Input(2), g.Input(3)});
  const Value d_values = Call("UnsortedSegmentSum", {g.Upstream(), origins - 1, count});
  g.Return({d_values, Value(), Value(), Value()});
}
REGISTER_GRADIENT("SparseSliceGrad", SparseSliceGradGrad);

// ---- Empty rows get one default value each; output 3 is the new position of
// each value. For both sparse and ragged tensors.

void FillEmptyRowsGrad(Gradient& g) {
  if (!IsInexact(g.Input(1))) return ReturnNone(g);
  const Values gradients = CallAll(g.op() + "Grad", {g.Output(3), g.Upstream(1)});
  g.Return({Value(), gradients[0], Value(), gradients[1]});
}
REGISTER_GRADIENT("SparseFillEmptyRows", FillEmptyRowsGrad);
REGISTER_GRADIENT("RaggedFillEmptyRows", FillEmptyRowsGrad);

// The op takes the values at the map's positions and sums the others.
void FillEmptyRowsGradGrad(Gradient& g) {
  const Value map = g.Input(0), values = g.Input(1);
  if (!IsInexact(values)) return ReturnNone(g);
  const Value d_others = BroadcastTo(g.Upstream(1), Shape(values));
  const Value d_values =
      Call("TensorScatterUpdate", {d_others, ExpandDims(map, g.Int(1)), g.Upstream(0)});
  g.Return({Value(), d_values});
}
REGISTER_GRADIENT("SparseFillEmptyRowsGrad", FillEmptyRowsGradGrad);
REGISTER_GRADIENT("RaggedFillEmptyRowsGrad", FillEmptyRowsGradGrad);

// ---- Softmax.

// Like the dense softmax, over the values that exist: dx = y (dy - sum(y dy)).
void SparseSoftmaxGrad(Gradient& g) {
  const Value y = g.Output(), dy = g.Upstream();
  const Value sums = RowSums(g.Input(0), y * dy, g.Input(2));
  g.Return({Value(), y * (dy - sums), Value()});
}
REGISTER_GRADIENT("SparseSoftmax", SparseSoftmaxGrad);

// ---- Products.

// C = op(A) B' for sparse A, where B' is B or its adjoint. dB' = op(A)^H dC. dA has the elements of
// dC B'^H (or its adjoint) where A has values.
void SparseTensorDenseMatMulGrad(Gradient& g) {
  const Value indices = g.Input(0), a = g.Input(1), shape = g.Input(2);
  const Value b = g.Input(3), dc = g.Upstream();
  if (!IsInexact(a)) return ReturnNone(g);
  const bool adjoint_a = g.Attr<bool>("adjoint_a");
  const bool adjoint_b = g.Attr<bool>("adjoint_b");

  const Value d_right =
      Call("SparseTensorDenseMatMul", {indices, a, shape, dc}, {{"adjoint_a", !adjoint_a}});
  const Value right = adjoint_b ? Adjoint(b) : b;
  const Value column_of_a = Gather(indices, g.Int(adjoint_a ? 0 : 1), 1);
  const Value row_of_a = Gather(indices, g.Int(adjoint_a ? 1 : 0), 1);
  const Value da = Sum(Gather(dc, row_of_a) * Conj(Gather(right, column_of_a)), g.Int(1));
  g.Return({Value(), adjoint_a ? Conj(da) : da, Value(), adjoint_b ? Adjoint(d_right) : d_right});
}
REGISTER_GRADIENT("SparseTensorDenseMatMul", SparseTensorDenseMatMulGrad);

}  // namespace
}  // namespace tensorflow_ext
