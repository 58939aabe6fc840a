// Ops that wrap operations of XLA, https://openxla.org/xla/operation_semantics, and whose meaning
// depends only on attributes and inputs (not on a function).

#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "xla/xla_data.pb.h"

namespace tensorflow_ext {
namespace {

// ---- Products

using Axes = std::vector<int64_t>;

// An operand of a dot product as matrices [batch, free, contracted], and the conversion back to its
// own shape.
struct Flattened {
  Flattened(Value x, const Axes& batch, const Axes& contracted) {
    Gradient* g = x.gradient();
    shape = Shape(x);
    Axes fixed = batch;
    fixed.insert(fixed.end(), contracted.begin(), contracted.end());
    const Value all = Range(g->Int(0), Rank(x), g->Int(1));
    const Value free = Call("ListDiff", {all, g->Ints(fixed)});
    permutation = Concat({g->Ints(batch), free, g->Ints(contracted)}, g->Int(0));
    const auto size = [&](Value axes) { return Prod(Gather(shape, axes), g->Ints({0})); };
    batch_size = size(g->Ints(batch));
    free_size = size(free);
    matrices = Reshape(Transpose(x, permutation),
                       Pack({batch_size, free_size, size(g->Ints(contracted))}));
  }

  // `gradient`, for the matrices, in the operand's shape.
  Value Restored(Value gradient) const {
    return Transpose(Reshape(gradient, Gather(shape, permutation)), InvertPermutation(permutation));
  }

  Value shape, permutation, batch_size, free_size, matrices;
};

// y = l r^T for each batch: dl = dy conj(r), dr = dy^T conj(l). Computes everything in the type of
// y.
void DotGrad(Gradient& g) {
  const Value lhs = g.Input(0), rhs = g.Input(1), dy = g.Upstream();
  if (!IsInexact(dy)) return ReturnNone(g);
  xla::DotDimensionNumbers numbers;
  if (!numbers.ParseFromString(g.Attr<std::string>("dimension_numbers"))) {
    return g.Unimplemented(
        "dimension_numbers is not supported: it must be a serialized "
        "xla.DotDimensionNumbers");
  }
  const auto axes = [](const auto& field) { return Axes(field.begin(), field.end()); };
  const Flattened l(Cast(lhs, dy.type()), axes(numbers.lhs_batch_dimensions()),
                    axes(numbers.lhs_contracting_dimensions()));
  const Flattened r(Cast(rhs, dy.type()), axes(numbers.rhs_batch_dimensions()),
                    axes(numbers.rhs_contracting_dimensions()));
  const Value d = Reshape(dy, Pack({l.batch_size, l.free_size, r.free_size}));
  const Value dl = l.Restored(MatMul(d, Conj(r.matrices)));
  const Value dr = r.Restored(Conj(MatMul(d, l.matrices, true, false)));
  g.Return({IsDifferentiable(lhs) ? Cast(dl, lhs.type()) : Value(),
            IsDifferentiable(rhs) ? Cast(dr, rhs.type()) : Value()});
}
REGISTER_GRADIENT("XlaDot", DotGrad);
REGISTER_GRADIENT("XlaDotV2", DotGrad);

// ---- Parts

Value XlaPad(Value x, const Operand& padding, Value low, Value high, Value interior) {
  return Call("XlaPad", {x, padding.In(x.gradient(), x.type()), low, high, interior});
}

// Undoes the padding of the edges, which a negative padding crops, and takes the elements between
// the interior padding. The padding value gets the rest.
void XlaPadGrad(Gradient& g) {
  const Value x = g.Input(0), low = g.Input(2), high = g.Input(3), interior = g.Input(4),
              dy = g.Upstream();
  if (!IsInexact(x)) return ReturnNone(g);
  const Value spread = XlaPad(dy, 0, -low, -high, ZerosLike(interior));
  const Value dx =
      Call("StridedSlice", {spread, ZerosLike(low), Shape(spread, interior.type()), interior + 1});
  const Value is_padding = XlaPad(ZerosLike(x), 1, low, high, interior);
  g.Return({dx, SumAll(Call("MulNoNan", {dy, is_padding})), Value(), Value(), Value()});
}
REGISTER_GRADIENT("XlaPad", XlaPadGrad);

Value UpdateSlice(Value x, Value update, Value start) {
  return Call("XlaDynamicUpdateSlice", {x, update, start});
}

// Both ops move a slice that would cross an edge to that edge.
void DynamicSliceGrad(Gradient& g) {
  const Value x = g.Input(0), start = g.Input(1), dy = g.Upstream();
  g.ReturnFirst(UpdateSlice(ZerosLike(x), dy, start));
}
REGISTER_GRADIENT("XlaDynamicSlice", DynamicSliceGrad);

void DynamicUpdateSliceGrad(Gradient& g) {
  const Value update = g.Input(1), start = g.Input(2), dy = g.Upstream();
  g.Return({UpdateSlice(dy, ZerosLike(update), start),
            Call("XlaDynamicSlice", {dy, start, Shape(update, start.type())}), Value()});
}
REGISTER_GRADIENT("XlaDynamicUpdateSlice", DynamicUpdateSliceGrad);

// Blocks of a grid, concatenated. The paddings at the ends are cut off, and become zeros when the
// grid is split.
void ConcatNDGrad(Gradient& g) {
  g.Return(g.CallAll("XlaSplitND", {g.Upstream()},
                     {{"N", static_cast<int64_t>(g.num_inputs())},
                      {"num_splits", OfOp{"num_concats"}},
                      {"paddings", OfOp{"paddings"}}}));
}
REGISTER_GRADIENT("XlaConcatND", ConcatNDGrad);

void SplitNDGrad(Gradient& g) {
  g.Return({g.Call("XlaConcatND", {g.Upstreams()},
                   {{"num_concats", OfOp{"num_splits"}}, {"paddings", OfOp{"paddings"}}})});
}
REGISTER_GRADIENT("XlaSplitND", SplitNDGrad);

// The same op on element numbers shows which elements it takes.
void XlaGatherGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream();
  if (!IsInexact(x)) return ReturnNone(g);
  const Value size = Size(x, DT_INT64);
  const Value zero = g.Scalar(0, DT_INT64), one = g.Scalar(1, DT_INT64);
  const Value numbers = ReshapeLike(Range(zero, size, one), x);
  const Value taken = g.Call("XlaGather", {numbers, g.Input(1), g.Input(2)},
                             g.AttrsOfOp({"dimension_numbers", "indices_are_sorted"}));
  const Value dx =
      ScatterNd(Reshape(taken, g.Ints({-1, 1})), Reshape(dy, g.Ints({-1})), Pack({size}));
  g.ReturnFirst(ReshapeLike(dx, x));
}
REGISTER_GRADIENT("XlaGather", XlaGatherGrad);

// Axes of size 1 are added to the operand of lower rank.
void BroadcastHelperGrad(Gradient& g) {
  g.Return(
      {ReshapeLike(g.Upstream(0), g.Input(0)), ReshapeLike(g.Upstream(1), g.Input(1)), Value()});
}
REGISTER_GRADIENT("XlaBroadcastHelper", BroadcastHelperGrad);

// ---- Order along the last axis

Values KeyValueSort(Value keys, Value values) { return CallAll("XlaKeyValueSort", {keys, values}); }

// The origins of the elements of the sorted `keys`.
Value SortedPlaces(Value keys) {
  Gradient* g = keys.gradient();
  const Value shape = Shape(keys);
  const Value places = Range(g->Int(0), Element(shape, -1), g->Int(1));
  return KeyValueSort(keys, BroadcastTo(places, shape))[1];
}

// Sorting by origin moves them back.
Value BroughtBack(Value places, Value gradient) { return KeyValueSort(places, gradient)[1]; }

void SortGrad(Gradient& g) {
  const Value x = g.Input(0);
  if (!IsFloating(x)) return ReturnNone(g);  // complex numbers have no order
  g.Return({BroughtBack(SortedPlaces(x), g.Upstream())});
}
REGISTER_GRADIENT("XlaSort", SortGrad);

void KeyValueSortGrad(Gradient& g) {
  const Value keys = g.Input(0), values = g.Input(1);
  const Value places = SortedPlaces(keys);
  const auto by = [&](Value x, int i) {
    return IsInexact(x) ? BroughtBack(places, g.Upstream(i)) : Value();
  };
  g.Return({by(keys, 0), by(values, 1)});
}
REGISTER_GRADIENT("XlaKeyValueSort", KeyValueSortGrad);

// ---- Ops that keep the value

// Rounding, with the gradient of a cast, which is rounded too.
void ReducePrecisionGrad(Gradient& g) {
  g.Return({g.Call("XlaReducePrecision", {g.Upstream()},
                   g.AttrsOfOp({"exponent_bits", "mantissa_bits"}))});
}
REGISTER_GRADIENT("XlaReducePrecision", ReducePrecisionGrad);

// The gradients must not be moved across the barrier either.
void OptimizationBarrierGrad(Gradient& g) {
  Values gradients(g.num_inputs()), upstreams;
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (IsDifferentiable(g.Input(i))) upstreams.push_back(g.Upstream(i));
  }
  if (upstreams.empty()) return ReturnNone(g);
  const Values behind = g.CallAll("XlaOptimizationBarrier", {upstreams});
  for (int i = 0, k = 0; i < g.num_inputs(); ++i) {
    if (IsDifferentiable(g.Input(i))) gradients[i] = behind[k++];
  }
  g.Return(gradients);
}
REGISTER_GRADIENT("XlaOptimizationBarrier", OptimizationBarrierGrad);

}  // namespace
}  // namespace tensorflow_ext
