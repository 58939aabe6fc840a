// SPDX-License-Identifier: Apache-2.0
//
// Ops that move, select, fill in, reduce or multiply the values of one sparse
// tensor.

#include "tensorflow_ext/stock_gradients/sparse.h"

namespace tensorflow_ext {
namespace {

// Sorting the values' own numbers tells where each value went.
void SparseReorderGrad(Gradient& g) {
  const Value indices = g.Input(0), shape = g.Input(2);
  const Value zero = g.Scalar(0, DT_INT64), one = g.Scalar(1, DT_INT64);
  const Value count = Element(Shape(indices, DT_INT64), 0);
  const Value permutation =
      CallAll("SparseReorder", {indices, Range(zero, count, one), shape})[1];
  g.Return({Value(), Gather(g.Upstream(1), InvertPermutation(permutation)),
            Value()});
}
REGISTER_GRADIENT("SparseReorder", SparseReorderGrad);

void SparseSliceGrad(Gradient& g) {
  const Value indices = g.Input(0), values = g.Input(1), start = g.Input(3);
  if (!IsInexact(values)) return ReturnNone(g);
  const Value d_values =
      Call("SparseSliceGrad", {g.Upstream(1), indices, start, g.Output(0)});
  g.Return({Value(), d_values, Value(), Value(), Value()});
}
REGISTER_GRADIENT("SparseSlice", SparseSliceGrad);

// The op copies the slice's values into zeros; each gets its copy's gradient.
void SparseSliceGradGrad(Gradient& g) {
  const Value values = g.Input(0);
  if (!IsInexact(values)) return ReturnNone(g);
  const Value count = Size(values, DT_INT64);
  const Value origins = Call(
      "SparseSliceGrad", {Ordinals(count), g.Input(1), g.Input(2), g.Input(3)});
  const Value d_values =
      Call("UnsortedSegmentSum", {g.Upstream(), origins - 1, count});
  g.Return({d_values, Value(), Value(), Value()});
}
REGISTER_GRADIENT("SparseSliceGrad", SparseSliceGradGrad);

// ---- Empty rows get one default value each; output 3 says where each value
// went. For sparse and ragged tensors alike.

void FillEmptyRowsGrad(Gradient& g) {
  if (!IsInexact(g.Input(1))) return ReturnNone(g);
  const Values gradients =
      CallAll(g.op() + "Grad", {g.Output(3), g.Upstream(1)});
  g.Return({Value(), gradients[0], Value(), gradients[1]});
}
REGISTER_GRADIENT("SparseFillEmptyRows", FillEmptyRowsGrad);
REGISTER_GRADIENT("RaggedFillEmptyRows", FillEmptyRowsGrad);

// The op takes the values at the places of the map and sums up the others.
void FillEmptyRowsGradGrad(Gradient& g) {
  const Value map = g.Input(0), values = g.Input(1);
  if (!IsInexact(values)) return ReturnNone(g);
  const Value d_others = BroadcastTo(g.Upstream(1), Shape(values));
  const Value d_values =
      Call("TensorScatterUpdate",
           {d_others, ExpandDims(map, g.Int(1)), g.Upstream(0)});
  g.Return({Value(), d_values});
}
REGISTER_GRADIENT("SparseFillEmptyRowsGrad", FillEmptyRowsGradGrad);
REGISTER_GRADIENT("RaggedFillEmptyRowsGrad", FillEmptyRowsGradGrad);

// ---- Reductions.

// Each value gets the gradient of the sum that it went into: that at its
// indices, with 0 along the reduced axes.
void SparseReduceSumGrad(Gradient& g) {
  const Value indices = g.Input(0), shape = g.Input(2), axes = g.Input(3);
  if (!IsInexact(g.Input(1))) return ReturnNone(g);
  const Value kept = ReducedShape(Cast(shape, DT_INT32), axes);
  const Value places = Minimum(indices, Cast(kept, DT_INT64) - 1);
  g.Return({Value(), GatherNd(Reshape(g.Upstream(), kept), places), Value(),
            Value()});
}
REGISTER_GRADIENT("SparseReduceSum", SparseReduceSumGrad);

// As for the dense softmax, over the values there are: dx = y (dy - sum(y dy)).
void SparseSoftmaxGrad(Gradient& g) {
  const Value y = g.Output(), dy = g.Upstream();
  const Value sums = RowSums(g.Input(0), y * dy, g.Input(2));
  g.Return({Value(), y * (dy - sums), Value()});
}
REGISTER_GRADIENT("SparseSoftmax", SparseSoftmaxGrad);

// ---- Products.

// C = op(A) B' for sparse A, with B' = B or its adjoint. dB' = op(A)^H dC. Of
// dA = dC B'^H (or its adjoint), the elements where A has values.
void SparseTensorDenseMatMulGrad(Gradient& g) {
  const Value indices = g.Input(0), a = g.Input(1), shape = g.Input(2);
  const Value b = g.Input(3), dc = g.Upstream();
  if (!IsInexact(a)) return ReturnNone(g);
  const bool adjoint_a = g.Attr<bool>("adjoint_a");
  const bool adjoint_b = g.Attr<bool>("adjoint_b");

  const Value d_right = Call("SparseTensorDenseMatMul", {indices, a, shape, dc},
                             {{"adjoint_a", !adjoint_a}});
  const Value right = adjoint_b ? Adjoint(b) : b;
  const Value column_of_a = Gather(indices, g.Int(adjoint_a ? 0 : 1), 1);
  const Value row_of_a = Gather(indices, g.Int(adjoint_a ? 1 : 0), 1);
  const Value da =
      Sum(Gather(dc, row_of_a) * Conj(Gather(right, column_of_a)), g.Int(1));
  g.Return({Value(), adjoint_a ? Conj(da) : da, Value(),
            adjoint_b ? Adjoint(d_right) : d_right});
}
REGISTER_GRADIENT("SparseTensorDenseMatMul", SparseTensorDenseMatMulGrad);

}  // namespace
}  // namespace tensorflow_ext
