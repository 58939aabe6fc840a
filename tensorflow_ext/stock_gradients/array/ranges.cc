// Arithmetic sequences, given by their ends. The number of elements is an integer and has no
// gradient.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"

namespace tensorflow_ext {
namespace {

// 0, 1, ..., one for each element of x.
Value Numbers(Value x, DataType type) {
  Gradient* g = x.gradient();
  return Cast(Range(g->Int(0), Size(x), g->Int(1)), type);
}

// sum(x) in the type and the one-element shape of `like`.
Value TotalLike(Value x, Value like) { return ReshapeLike(Cast(SumAll(x), like.type()), like); }

// y_i = start + i delta. The limit only determines the number of elements.
void RangeGrad(Gradient& g) {
  const Value start = g.Input(0), delta = g.Input(2);
  if (!IsInexact(start)) return ReturnNone(g);
  const DataType type = ComputedIn(start);
  const Value dy = Cast(g.Upstream(), type);
  g.Return({TotalLike(dy, start), Value(), TotalLike(dy * Numbers(dy, type), delta)});
}
REGISTER_GRADIENT("Range", RangeGrad);

// y_i = (1 - t_i) start + t_i stop with t_i = i / (n - 1); t_0 = 0 if n = 1.
void LinSpaceGrad(Gradient& g) {
  const Value start = g.Input(0), stop = g.Input(1);
  const DataType type = ComputedIn(start);
  const Value dy = Cast(g.Upstream(), type);
  const Value intervals = Cast(Maximum(Size(dy) - 1, 1), type);
  const Value t = Numbers(dy, type) / intervals;
  g.Return({TotalLike(dy * (1 - t), start), TotalLike(dy * t, stop), Value()});
}
REGISTER_GRADIENT("LinSpace", LinSpaceGrad);

// A range for each row. Its ends are vectors, or scalars for all rows.
void RaggedRangeGrad(Gradient& g) {
  const Value starts = g.Input(0), deltas = g.Input(2), splits = g.Output(0);
  if (!IsInexact(starts)) return ReturnNone(g);
  const Value dy = g.Upstream(1);
  const Value places = Call("RaggedTensorToSparse", {Values{splits}, dy});
  const Value rows = Gather(places, g.Int(0), 1);
  const Value numbers = Cast(Gather(places, g.Int(1), 1), dy.type());
  const Value count = Size(splits) - 1;
  const auto sum_to = [&](Value end, Value by_value) {
    const Value sums = Call("UnsortedSegmentSum", {by_value, rows, count});
    return SumTo(end, sums, Shape(sums));
  };
  g.Return({sum_to(starts, dy), Value(), sum_to(deltas, dy * numbers)});
}
REGISTER_GRADIENT("RaggedRange", RaggedRangeGrad);

}  // namespace
}  // namespace tensorflow_ext
