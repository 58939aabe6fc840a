// Grayscale dilation, y = max over the filter of x + f. The gradient goes to the elements that
// attain the maximum. The ops that compute it are linear in their upstream gradient, and their
// gradients are the upstream gradients at the argmax, which counts as constant.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

void Dilation2DGrad(Gradient& g) {
  const std::vector<Argument> inputs = {g.Input(0), g.Input(1), g.Upstream()};
  const Attributes window = g.AttrsOfOp({"strides", "rates", "padding"});
  g.Return({g.Call("Dilation2DBackpropInput", inputs, window),
            g.Call("Dilation2DBackpropFilter", inputs, window)});
}
REGISTER_GRADIENT("Dilation2D", Dilation2DGrad);

// The rows or columns of the input under the windows of one axis.
struct Windows {
  Windows(Gradient& g, int axis)
      : stride(g.Attr<std::vector<int64_t>>("strides")[axis]),
        rate(g.Attr<std::vector<int64_t>>("rates")[axis]),
        size(Element(Shape(g.Input(0)), axis)),
        taps(Element(Shape(g.Input(1)), axis - 1)),
        count(Element(Shape(g.Input(2)), axis)) {
    begin = stride * Range(g.Int(0), count, g.Int(1));
    if (g.Attr<std::string>("padding") == "SAME") {
      const Value padding = (count - 1) * stride + (taps - 1) * rate + 1 - size;
      begin = begin - FloorDiv(Maximum(padding, 0), 2);
    }
    index =
        ExpandDims(begin, g.Int(1)) + ExpandDims(rate * Range(g.Int(0), taps, g.Int(1)), g.Int(0));
    inside = LogicalAnd(GreaterEqual(index, 0), Less(index, size));
  }
  // The positions `i`, limited to the input.
  Value Within(Value i) const { return Maximum(Minimum(i, size - 1), 0); }

  const double stride, rate;
  const Value size, taps, count;
  Value begin;   // where windows begin, [count]
  Value index;   // the input's indices, [count, taps]
  Value inside;  // true if in the input, [count, taps]
};

// For each output, the number of the filter element that attains the maximum (the first one of
// equals): [batch, rows, columns, channels].
Value Winners(Gradient& g, const Windows& rows, const Windows& columns) {
  const Value x = g.Input(0), f = g.Input(1);
  const auto expand = [&](Value v, const std::vector<int64_t>& axes) {
    for (const int64_t axis : axes) v = ExpandDims(v, g.Int(axis));
    return v;
  };
  // [batch, rows, taps, columns, taps, channels], for the filter from axis 1.
  const Value under =
      Gather(Gather(x, rows.Within(rows.index), 1), columns.Within(columns.index), 3);
  const Value inside = LogicalAnd(expand(rows.inside, {2, 3, 4}), expand(columns.inside, {2}));
  const Value sums =
      Where(inside, under + expand(f, {0, 2}), -std::numeric_limits<double>::infinity());
  const Value together = Transpose(sums, g.Ints({0, 1, 3, 5, 2, 4}));
  const Value flat = Reshape(together, Concat({Shape(g.Input(2)), g.Ints({-1})}, g.Int(0)));
  return Call("ArgMax", {flat, g.Int(-1)}, {{"output_type", DT_INT32}});
}

// [0, size) along one of the output's axes.
Value Along(Gradient& g, int axis) {
  std::vector<int64_t> shape(4, 1);
  shape[axis] = -1;
  const Value size = Element(Shape(g.Input(2)), axis);
  return Reshape(Range(g.Int(0), size, g.Int(1)), g.Ints(shape));
}

// The elements of `from` at these positions, in the output's shape.
Value At(Gradient& g, Value from, const Values& places) {
  const Value shape = Shape(g.Input(2));
  Values spread;
  for (const Value& place : places) spread.push_back(BroadcastTo(place, shape));
  return GatherNd(from, Pack(spread, -1));
}

void ReturnByUpstream(Gradient& g, Value by_upstream) { g.Return({Value(), Value(), by_upstream}); }

void Dilation2DBackpropInputGrad(Gradient& g) {
  if (!IsFloating(g.Upstream())) return ReturnNone(g);
  const Windows rows(g, 1), columns(g, 2);
  const Value winners = Winners(g, rows, columns);
  const auto winning = [&](const Windows& windows, Value tap, int axis) {
    std::vector<int64_t> shape(4, 1);
    shape[axis] = -1;
    return windows.Within(Reshape(windows.begin, g.Ints(shape)) + windows.rate * tap);
  };
  ReturnByUpstream(g, At(g, g.Upstream(),
                         {Along(g, 0), winning(rows, FloorDiv(winners, columns.taps), 1),
                          winning(columns, FloorMod(winners, columns.taps), 2), Along(g, 3)}));
}
REGISTER_GRADIENT("Dilation2DBackpropInput", Dilation2DBackpropInputGrad);

void Dilation2DBackpropFilterGrad(Gradient& g) {
  const Value dd = g.Upstream();
  if (!IsFloating(dd)) return ReturnNone(g);
  const Windows rows(g, 1), columns(g, 2);
  const Value channels = Element(Shape(dd), 2);
  const Value flat = Reshape(dd, Pack({g.Int(-1), channels}));
  ReturnByUpstream(g, At(g, flat, {Winners(g, rows, columns), Along(g, 3)}));
}
REGISTER_GRADIENT("Dilation2DBackpropFilter", Dilation2DBackpropFilterGrad);

}  // namespace
}  // namespace tensorflow_ext
