// Elementwise ops of sparse tensors with each other and with dense tensors, and the conversion of a
// sparse tensor to a dense one.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/sparse/sparse.h"

namespace tensorflow_ext {
namespace {

// ---- Sparse with sparse.

// Each value gets the gradient of the sum at its indices, or 0 where the sum was below the
// threshold (like Python's _SparseAddGrad).
void SparseAddGrad(Gradient& g) {
  const Value a_indices = g.Input(0), b_indices = g.Input(3);
  if (!IsInexact(g.Input(1))) return ReturnNone(g);
  const Values gradients =
      CallAll("SparseAddGrad", {g.Upstream(1), a_indices, b_indices, g.Output(0)});
  g.Return({Value(), gradients[0], Value(), Value(), gradients[1], Value(), Value()});
}
REGISTER_GRADIENT("SparseAdd", SparseAddGrad);

// The op copies each value to its indices in a and in b, so the value gets the sum of their
// gradients. Indices in neither go to segment -1, which nothing reads.
void SparseAddGradGrad(Gradient& g) {
  const Value values = g.Input(0);
  if (!IsInexact(values)) return ReturnNone(g);
  const Value count = Size(values, DT_INT64);
  const Values origins =
      CallAll("SparseAddGrad", {Ordinals(count), g.Input(1), g.Input(2), g.Input(3)});
  const Value axis = g.Int(0);
  const Value d_values =
      Call("UnsortedSegmentSum",
           {Concat(g.Upstreams(), axis), Concat({origins[0], origins[1]}, axis) - 1, count});
  g.Return({d_values, Value(), Value(), Value()});
}
REGISTER_GRADIENT("SparseAddGrad", SparseAddGradGrad);

// Missing elements count as 0. Of equal values the first operand's is taken, as in Maximum and
// Minimum.
void SparseSparseExtremumGrad(Gradient& g) {
  const Value a = g.Input(1), b = g.Input(4), dy = g.Upstream(1);
  if (!IsInexact(a)) return ReturnNone(g);
  if (IsComplex(a))
    return g.Unimplemented("complex T is not supported: complex numbers have no order");
  const Value count = Size(dy, DT_INT64);
  const Values ordinals =
      CallAll("SparseAddGrad", {Ordinals(count), g.Input(0), g.Input(3), g.Output(0)});
  const Value a_places = ordinals[0] - 1, b_places = ordinals[1] - 1;
  const Value a_all = Call("UnsortedSegmentSum", {a, a_places, count});
  const Value b_all = Call("UnsortedSegmentSum", {b, b_places, count});
  const Value is_a =
      g.op() == "SparseSparseMaximum" ? GreaterEqual(a_all, b_all) : LessEqual(a_all, b_all);
  g.Return({Value(), Gather(Where(is_a, dy, 0), a_places), Value(), Value(),
            Gather(Where(is_a, 0, dy), b_places), Value()});
}
REGISTER_GRADIENT("SparseSparseMaximum", SparseSparseExtremumGrad);
REGISTER_GRADIENT("SparseSparseMinimum", SparseSparseExtremumGrad);

// ---- Sparse with dense, broadcast to the sparse shape. Only dense elements
// that meet a value count.

BroadcastDense DenseOperand(Gradient& g) {
  return BroadcastDense(g.Input(3), g.Input(0), Shape(g.Input(2)));
}

void SparseDenseCwiseAddGrad(Gradient& g) {
  const Value dz = g.Upstream();
  if (!IsInexact(dz)) return ReturnNone(g);
  g.Return({Value(), dz, Value(), DenseOperand(g).Scatter(dz)});
}
REGISTER_GRADIENT("SparseDenseCwiseAdd", SparseDenseCwiseAddGrad);

void SparseDenseCwiseMulGrad(Gradient& g) {
  const Value x = g.Input(1), dz = g.Upstream();
  if (!IsInexact(x)) return ReturnNone(g);
  const BroadcastDense y = DenseOperand(g);
  g.Return({Value(), dz * Conj(y.Elements()), Value(), y.Scatter(dz * Conj(x))});
}
REGISTER_GRADIENT("SparseDenseCwiseMul", SparseDenseCwiseMulGrad);

// z = x / y: dx = dz / y, dy = -dz z / y.
void SparseDenseCwiseDivGrad(Gradient& g) {
  const Value dz = g.Upstream();
  if (!IsInexact(dz)) return ReturnNone(g);
  const BroadcastDense y = DenseOperand(g);
  const Value dx = dz / Conj(y.Elements());
  g.Return({Value(), dx, Value(), y.Scatter(-dx * Conj(g.Output()))});
}
REGISTER_GRADIENT("SparseDenseCwiseDiv", SparseDenseCwiseDivGrad);

void SparseTensorDenseAddGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({Value(), GatherNd(dy, g.Input(0)), Value(), dy});
}
REGISTER_GRADIENT("SparseTensorDenseAdd", SparseTensorDenseAddGrad);

// ---- To dense.

// Each value gets the gradient of its position; the default value gets the sum over all other
// positions. If indices are not validated and repeat, only the last value is in the result, and
// only that one gets the gradient.
void SparseToDenseGrad(Gradient& g) {
  const Value indices = g.Input(0), shape = g.Input(1);
  const Value values = g.Input(2), default_value = g.Input(3);
  const Value dy = g.Upstream();
  if (!IsInexact(values)) return ReturnNone(g);
  const auto to_dense = [&](Value sparse_values, Value elsewhere) {
    return Call("SparseToDense", {indices, shape, sparse_values, elsewhere},
                g.AttrsOfOp({"validate_indices"}));
  };
  // A scalar or a vector of indices gives a vector.
  const Value minus_one = g.Ints({-1});
  const Value places = Reshape(indices, Concat({minus_one, Shape(shape)}, g.Int(0)));
  Value by_value = GatherNd(dy, places);
  if (!g.Attr<bool>("validate_indices")) {
    const Value ordinals = Ordinals(Element(Shape(places, DT_INT64), 0));
    const Value last =
        to_dense(Reshape(ordinals, SliceVector(Shape(indices), 0, 1)), g.Scalar(0, DT_INT64));
    by_value = Where(Equal(GatherNd(last, places), ordinals), by_value, 0);
  }
  const Value is_default = to_dense(g.Scalar(0, dy.type()), g.Scalar(1, dy.type()));
  g.Return({Value(), Value(), SumTo(values, by_value, Shape(by_value)),
            ReshapeLike(SumAll(dy * is_default), default_value)});
}
REGISTER_GRADIENT("SparseToDense", SparseToDenseGrad);

}  // namespace
}  // namespace tensorflow_ext
