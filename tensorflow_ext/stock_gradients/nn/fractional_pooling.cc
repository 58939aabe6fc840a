// Pooling over cells of random sizes (Graham, "Fractional max-pooling", 2014). Cell r covers the
// rows sequence[r] to sequence[r + 1] - 1, and the next row too if cells overlap; the same holds
// for columns. The gradient ops are linear in their upstream gradient, and their gradients pool
// over the same cells.

#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The sequences are outputs. Integers have kernels, but no gradient.
void FractionalAvgPoolForwardGrad(Gradient& g) {
  const Value x = g.Input(0);
  if (!IsFloating(x)) return ReturnNone(g);
  g.Return(
      {Call("FractionalAvgPoolGrad", {Shape(x, DT_INT64), g.Upstream(), g.Output(1), g.Output(2)},
            g.AttrsOfOp({"overlapping"}))});
}
REGISTER_GRADIENT("FractionalAvgPool", FractionalAvgPoolForwardGrad);
void FractionalMaxPoolForwardGrad(Gradient& g) {
  const Value x = g.Input(0);
  if (!IsFloating(x)) return ReturnNone(g);
  g.Return({Call("FractionalMaxPoolGrad", {x, g.Output(), g.Upstream(), g.Output(1), g.Output(2)},
                 g.AttrsOfOp({"overlapping"}))});
}
REGISTER_GRADIENT("FractionalMaxPool", FractionalMaxPoolForwardGrad);

// FractionalMaxPoolGrad(x, y, dy, rows, columns) adds each dy to the maximum of its cell. The op
// shows these positions if it gets cell numbers in place of dy. If cells overlap, only every second
// row and column is used at a time, because an element may be the maximum of neighbouring cells.
void FractionalMaxPoolGradGrad(Gradient& g) {
  const Value dy = g.Input(2), dd = g.Upstream();
  if (!IsFloating(dy)) return ReturnNone(g);
  const bool overlapping = g.Attr<bool>("overlapping");
  const Value shape = Shape(dy), one = g.Int(1), all = g.Ints({-1});
  const Value count = Size(dy, DT_INT64);
  // Double holds cell numbers exactly.
  const auto exact = [](Value v) { return Cast(v, DT_DOUBLE); };
  const Value x = exact(g.Input(0)), y = exact(g.Input(1));
  const Value first = g.Scalar(1, DT_INT64);
  const Value numbers = exact(Reshape(Range(first, count + first, first), shape));
  const auto parity = [&](int axis, const std::vector<int64_t>& along) {
    const Value index = Range(g.Int(0), Element(shape, axis), one);
    return exact(FloorMod(Reshape(index, g.Ints(along)), 2));
  };
  const auto winners = [&](Value cells) {
    const Value places =
        g.Call(g.op(), {x, y, cells, g.Input(3), g.Input(4)}, g.AttrsOfOp({"overlapping"}));
    const Value ids = Cast(places, DT_INT64) - first;  // -1 is ignored
    return Call("UnsortedSegmentSum", {Reshape(dd, all), Reshape(ids, all), count});
  };
  Values parts;
  if (overlapping) {
    const Value odd_row = parity(1, {1, -1, 1, 1});
    const Value odd_column = parity(2, {1, 1, -1, 1});
    const Values rows = {odd_row, 1 - odd_row};
    const Values columns = {odd_column, 1 - odd_column};
    for (const Value& row : rows) {
      for (const Value& column : columns) {
        parts.push_back(winners(numbers * row * column));
      }
    }
  } else {
    parts.push_back(winners(numbers));
  }
  g.Return({Value(), Value(), Reshape(AddN(parts), shape), Value(), Value()});
}
REGISTER_GRADIENT("FractionalMaxPoolGrad", FractionalMaxPoolGradGrad);

// FractionalAvgPoolGrad(shape of x, dy, rows, columns) spreads each dy over its cell. The mean over
// cells is a product with one matrix for each axis.
void FractionalAvgPoolGradGrad(Gradient& g) {
  const Value dy = g.Input(1), dd = g.Upstream();
  if (!IsFloating(dy)) return ReturnNone(g);
  const bool overlapping = g.Attr<bool>("overlapping");
  const Value shape = Shape(dd, DT_INT64);
  const Value zero = g.Scalar(0, DT_INT64), one = g.Scalar(1, DT_INT64);
  const auto means = [&](int axis, Value ends) {
    // TensorFlow infers one end too few, so hide the shape from it.
    const Value sequence = g.Call("PlaceholderWithDefault", {ends}, {{"shape", AnyShape()}});
    const Value size = Element(shape, axis);
    const auto column = [&](Value v) { return ExpandDims(v, g.Int(1)); };
    const Value start = column(SliceVector(sequence, 0, -1));
    const Value next = column(SliceVector(sequence, 1, kToTheEnd));
    const Value end = Minimum(overlapping ? next + one : next, size);
    const Value index = Range(zero, size, one);
    const Value inside = LogicalAnd(GreaterEqual(index, start), Less(index, end));
    return Cast(inside, dy.type()) / Cast(end - start, dy.type());
  };
  const Value by_rows = Einsum("hi,bijc->bhjc", {means(1, g.Input(2)), dd});
  const Value means_of_cells = Einsum("wj,bhjc->bhwc", {means(2, g.Input(3)), by_rows});
  g.Return({Value(), means_of_cells, Value(), Value()});
}
REGISTER_GRADIENT("FractionalAvgPoolGrad", FractionalAvgPoolGradGrad);

}  // namespace
}  // namespace tensorflow_ext
