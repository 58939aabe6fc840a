// Ops that change rows of a tensor in its own memory. The result shares that memory, so the value
// of the input x may be gone when a gradient runs. These gradients use only its shape.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The rows that the kernels use: i modulo the number of rows.
Value RowNumbers(Gradient& g) {
  const Value rows = Element(Shape(g.Input(0)), 0);
  return FloorMod(g.Input(1), Maximum(rows, 1));
}

void InplaceAddGrad(Gradient& g) {
  const Value dy = g.Upstream();
  if (!IsInexact(dy)) return ReturnNone(g);
  g.Return({dy, Value(), Gather(dy, RowNumbers(g))});
}
REGISTER_GRADIENT("InplaceAdd", InplaceAddGrad);

void InplaceSubGrad(Gradient& g) {
  const Value dy = g.Upstream();
  if (!IsInexact(dy)) return ReturnNone(g);
  g.Return({dy, Value(), -Gather(dy, RowNumbers(g))});
}
REGISTER_GRADIENT("InplaceSub", InplaceSubGrad);

// If several updates have the same row, the last one stays.
void InplaceUpdateGrad(Gradient& g) {
  const Value dy = g.Upstream();
  if (!IsInexact(dy)) return ReturnNone(g);
  const Value rows = RowNumbers(g), count = Element(Shape(dy), 0);
  const Value updates = Range(g.Int(0), Size(rows), g.Int(1));
  // The number of each row's last update; below 0 for a row without one.
  const Value last = Call("UnsortedSegmentMax", {updates, rows, count});
  const Value inner_axes = ExpandDims(Rank(dy) - 1, g.Int(0));
  // `condition` for each row, to select elements.
  const auto by_row = [&](Value condition) {
    const Value ones = Fill(inner_axes, g.Int(1));
    return Reshape(condition, Concat({Shape(condition), ones}, g.Int(0)));
  };
  g.Return({Where(by_row(Less(last, 0)), dy, 0), Value(),
            Where(by_row(Equal(updates, Gather(last, rows))), Gather(dy, rows), 0)});
}
REGISTER_GRADIENT("InplaceUpdate", InplaceUpdateGrad);

}  // namespace
}  // namespace tensorflow_ext
