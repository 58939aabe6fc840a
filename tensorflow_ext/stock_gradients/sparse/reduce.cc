// Reductions of a sparse tensor over axes, to a dense or to a sparse one.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/sparse/sparse.h"

namespace tensorflow_ext {
namespace {

// The indices of each value's result, with the reduced axes kept and 0 along them.
Value KeptPlaces(Gradient& g, Value kept_shape) {
  return Minimum(g.Input(0), Cast(kept_shape, DT_INT64) - 1);
}

Value KeptShape(Gradient& g) { return ReducedShape(Cast(g.Input(2), DT_INT32), g.Input(3)); }

// The values that attain the maximum share its gradient evenly. `sums` adds values by result and
// gives each value the sum of its result; `spread` gives each value its result's value.
template <typename Sums, typename Spread>
Value MaxGradient(Value values, Value y, Value dy, Sums sums, Spread spread) {
  const Value is_selected = Equal(values, spread(y));
  const Value count = sums(Cast(is_selected, values.type()));
  return Where(is_selected, spread(dy) / count, 0);
}

// ---- To a dense tensor.

void SparseReduceSumGrad(Gradient& g) {
  if (!IsInexact(g.Input(1))) return ReturnNone(g);
  const Value kept = KeptShape(g);
  g.Return({Value(), GatherNd(Reshape(g.Upstream(), kept), KeptPlaces(g, kept)), Value(), Value()});
}
REGISTER_GRADIENT("SparseReduceSum", SparseReduceSumGrad);

void SparseReduceMaxGrad(Gradient& g) {
  const Value values = g.Input(1);
  if (!IsInexact(values)) return ReturnNone(g);
  const Value kept = KeptShape(g), places = KeptPlaces(g, kept);
  const auto spread = [&](Value result) { return GatherNd(Reshape(result, kept), places); };
  const auto sums = [&](Value summands) {
    return spread(Call("SparseReduceSum", {g.Input(0), summands, g.Input(2), g.Input(3)}));
  };
  g.Return(
      {Value(), MaxGradient(values, g.Output(), g.Upstream(), sums, spread), Value(), Value()});
}
REGISTER_GRADIENT("SparseReduceMax", SparseReduceMaxGrad);

// ---- To a sparse tensor, which has a value wherever there is one to reduce.

// The number of each value's result. If the reduced axes are kept, the results' indices are
// comparable with the values' indices.
Value ResultNumbers(Gradient& g) {
  const Value places = KeptPlaces(g, KeptShape(g));
  const Value indices =
      g.Attr<bool>("keep_dims")
          ? g.Output(0)
          : g.Call(g.op(), {g.Input(0), g.Input(1), g.Input(2), g.Input(3)}, {{"keep_dims", true}});
  return RowsIn(indices, places, Size(g.Upstream(1), DT_INT64));
}

void SparseReduceSumSparseGrad(Gradient& g) {
  if (!IsInexact(g.Input(1))) return ReturnNone(g);
  g.Return({Value(), Gather(g.Upstream(1), ResultNumbers(g)), Value(), Value()});
}
REGISTER_GRADIENT("SparseReduceSumSparse", SparseReduceSumSparseGrad);

void SparseReduceMaxSparseGrad(Gradient& g) {
  const Value values = g.Input(1), dy = g.Upstream(1);
  if (!IsInexact(values)) return ReturnNone(g);
  const Value numbers = ResultNumbers(g), count = Size(dy);
  const auto spread = [&](Value result) { return Gather(result, numbers); };
  const auto sums = [&](Value summands) {
    return spread(Call("UnsortedSegmentSum", {summands, numbers, count}));
  };
  g.Return({Value(), MaxGradient(values, g.Output(1), dy, sums, spread), Value(), Value()});
}
REGISTER_GRADIENT("SparseReduceMaxSparse", SparseReduceMaxSparseGrad);

}  // namespace
}  // namespace tensorflow_ext
