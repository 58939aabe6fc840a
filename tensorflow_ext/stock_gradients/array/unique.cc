// Ops that select elements by comparing them with others. At x_i = x_j the number of results jumps
// when the two become different, so there is no derivative. These gradients treat the selection as
// a Gather: y_k = x_f(k), where f(k) is the first position of the value, which the ops select.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The gradient of each value goes to its first position; others get 0.
Value FirstOccurrences(Gradient& g, Value x, Value axis) {
  const Value dy = g.Upstream(0), idx = g.Output(1);
  const Value shape = Shape(x, DT_INT64);
  const Value count = Size(idx, DT_INT64),
              places = Range(g.Scalar(0, DT_INT64), count, g.Scalar(1, DT_INT64));
  const Value first = Call("UnsortedSegmentMin", {places, idx, count});
  const Value is_first = Equal(places, Gather(first, idx));
  const Value is_axis = Equal(Range(g.Int(0), Rank(x), g.Int(1)), FloorMod(axis, Rank(x)));
  const Value along_axis = Reshape(is_first, Where(is_axis, shape, 1));
  return Where(along_axis, Call("GatherV2", {dy, idx, axis}), 0);
}

// Unique and UniqueWithCounts: x is a vector.
void UniqueGrad(Gradient& g) {
  const Value x = g.Input(0);
  if (!IsInexact(x)) return ReturnNone(g);
  g.Return({FirstOccurrences(g, x, g.Int(0))});
}
REGISTER_GRADIENT("Unique", UniqueGrad);
REGISTER_GRADIENT("UniqueWithCounts", UniqueGrad);

// Slices along an axis; an empty axis means the only one.
void UniqueV2Grad(Gradient& g) {
  const Value x = g.Input(0);
  if (!IsInexact(x)) return ReturnNone(g);
  const Value axis = Sum(Cast(g.Input(1), DT_INT32), g.Int(0));
  g.ReturnFirst(FirstOccurrences(g, x, axis));
}
REGISTER_GRADIENT("UniqueV2", UniqueV2Grad);
REGISTER_GRADIENT("UniqueWithCountsV2", UniqueV2Grad);

// The elements of x that are not in y.
void ListDiffGrad(Gradient& g) {
  const Value x = g.Input(0), idx = g.Output(1);
  if (!IsInexact(x)) return ReturnNone(g);
  g.ReturnFirst(ScatterNd(ExpandDims(idx, g.Int(1)), g.Upstream(0), Shape(x, idx.type())));
}
REGISTER_GRADIENT("ListDiff", ListDiffGrad);

}  // namespace
}  // namespace tensorflow_ext
