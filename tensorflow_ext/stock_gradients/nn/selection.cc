// Ops that select or pool elements along an axis by their order.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// Each value's gradient goes back to the value's origin: index i of row j is element i + n j of the
// flattened input.
void TopKGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream(0);
  const Value all = g.Ints({-1}), zero = g.Scalar(0, DT_INT64);
  const Value one = g.Scalar(1, DT_INT64), ones = g.Vector({1}, DT_INT64);
  const Value shape = Shape(x, DT_INT64);
  const Value outer = SliceVector(shape, 0, -1);
  const Value rows = Range(zero, Prod(outer, g.Int(0)), one);
  const Value begins = Reshape(rows * Element(shape, -1), Concat({outer, ones}, g.Int(0)));
  const Value places = Cast(g.Output(1), DT_INT64) + begins;
  const Value size = Reshape(Size(x, DT_INT64), g.Ints({1}));
  const Value dx = ScatterNd(Reshape(places, g.Ints({-1, 1})), Reshape(dy, all), size);
  g.ReturnFirst(Reshape(dx, shape));
}
REGISTER_GRADIENT("TopK", TopKGrad);
REGISTER_GRADIENT("TopKV2", TopKGrad);

// The same along any axis, with the tensor as a cube whose middle axis is that axis. ScatterNd
// drops positions outside, with which XLA pads.
void ApproxTopKGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream(0);
  const Value zero = g.Int(0), one = g.Int(1);
  const int64_t axis = g.Attr<int64_t>("reduction_dimension");
  const auto cube = [&](Value shape) {
    const Value inner = axis == -1 ? one : Prod(SliceVector(shape, axis + 1, kToTheEnd), zero);
    return Pack({Prod(SliceVector(shape, 0, axis), zero), Element(shape, axis), inner});
  };
  const Value shape = Shape(x), taken = cube(Shape(dy));
  const Value outer = Range(zero, Element(taken, 0), one);
  const Value inner = Range(zero, Element(taken, 2), one);
  const Value places = Pack({BroadcastTo(Reshape(outer, g.Ints({-1, 1, 1})), taken),
                             Reshape(g.Output(1), taken), BroadcastTo(inner, taken)},
                            -1);
  const Value dx = ScatterNd(places, Reshape(dy, taken), cube(shape));
  g.Return({Reshape(dx, shape)});
}
REGISTER_GRADIENT("ApproxTopK", ApproxTopKGrad);

// One element y of each row; equal ones share the gradient (like _NthElementGrad).
void SelectedElementGrad(Gradient& g) {
  const Value x = g.Input(0), last = g.Int(-1);
  const Value is_it = Cast(Equal(ExpandDims(g.Output(), last), x), x.type());
  const Value share = ExpandDims(g.Upstream(), last) / Sum(is_it, last, true);
  g.ReturnFirst(is_it * share);
}
REGISTER_GRADIENT("NthElement", SelectedElementGrad);
REGISTER_GRADIENT("KthOrderStatistic", SelectedElementGrad);

// Isotonic regression replaces each segment of a row by its mean. This is an orthogonal projection,
// so it is its own adjoint. Segment i of row j becomes segment i + n j of the flattened batch.
void IsotonicRegressionGrad(Gradient& g) {
  const Value dy = g.Upstream(0), segments = g.Output(1);
  const Value all = g.Ints({-1}), zero = g.Int(0), one = g.Int(1);
  const Value shape = Shape(dy), size = Size(dy);
  const Value rows = ExpandDims(Range(zero, Element(shape, 0), one), one);
  const Value ids = Reshape(segments + rows * Element(shape, 1), all);
  const Value flat = Reshape(dy, all);
  const Value ones = Fill(Shape(flat), g.Scalar(1, dy.type()));
  const auto sums = [&](Value v) { return Call("UnsortedSegmentSum", {v, ids, size}); };
  const Value means = DivNoNan(sums(flat), sums(ones));
  g.Return({Cast(Reshape(Gather(means, ids), shape), g.Input(0).type())});
}
REGISTER_GRADIENT("IsotonicRegression", IsotonicRegressionGrad);

}  // namespace
}  // namespace tensorflow_ext
