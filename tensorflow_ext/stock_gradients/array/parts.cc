// Parts of arrays: slices, padding, rows at indices, repetition. TensorFlow's client gradients drop
// attributes, or fail for negative axes and for indices or axes other than int32.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// x as int32 if it is int16, which few ops accept.
Value AtLeastInt32(Value x) { return x.type() == DT_INT64 ? x : Cast(x, DT_INT32); }

// ---- Slices: the gradient with zeros around it, and the reverse.

Attributes SliceMasks(Gradient& g) {
  return g.AttrsOfOp(
      {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"});
}

void SliceGrad(Gradient& g) {
  const Value x = g.Input(0), before = g.Input(1), dy = g.Upstream();
  const DataType type = before.type();
  const Value behind = Shape(x, type) - Shape(g.Output(), type) - before;
  g.ReturnFirst(Call("Pad", {dy, Pack({before, behind}, 1)}));
}
REGISTER_STAND_IN("Slice", SliceGrad);

void StridedSliceGrad(Gradient& g) {
  const Value begin = AtLeastInt32(g.Input(1));
  g.ReturnFirst(Call("StridedSliceGrad",
                     {Shape(g.Input(0), begin.type()), begin, AtLeastInt32(g.Input(2)),
                      AtLeastInt32(g.Input(3)), g.Upstream()},
                     SliceMasks(g)));
}
REGISTER_STAND_IN("StridedSlice", StridedSliceGrad);

// The op scatters a slice into zeros, so its gradient is the slice.
void StridedSliceGradGrad(Gradient& g) {
  const Value slice =
      Call("StridedSlice", {g.Upstream(), g.Input(1), g.Input(2), g.Input(3)}, SliceMasks(g));
  g.Return({Value(), Value(), Value(), Value(), slice});
}
REGISTER_GRADIENT("StridedSliceGrad", StridedSliceGradGrad);

// input gets the gradient with zeros in the slice. value, which may have been broadcast, gets the
// slice (like Python's _TensorStridedSliceUpdateGrad).
void TensorStridedSliceUpdateGrad(Gradient& g) {
  const Value begin = g.Input(1), end = g.Input(2), strides = g.Input(3);
  const Value value = g.Input(4), dy = g.Upstream();
  const Value slice = Call("StridedSlice", {dy, begin, end, strides}, SliceMasks(g));
  const Value d_input =
      Call("TensorStridedSliceUpdate", {dy, begin, end, strides, ZerosLike(slice)}, SliceMasks(g));
  const Value d_value = SumTo(value, slice, Shape(slice));
  g.Return({d_input, Value(), Value(), Value(), d_value});
}
REGISTER_GRADIENT("TensorStridedSliceUpdate", TensorStridedSliceUpdateGrad);

// The upstream gradient without the padding.
Value Unpadded(Gradient& g) {
  const Value x = g.Input(0), paddings = g.Input(1);
  const Value before = Unpack(paddings, 2, 1)[0];
  return Slice(g.Upstream(), before, Shape(x, paddings.type()));
}

void PadGrad(Gradient& g) { g.ReturnFirst(Unpadded(g)); }
REGISTER_STAND_IN("Pad", PadGrad);

// The padding value gets the gradient of its copies, which TensorFlow omits.
void PadV2Grad(Gradient& g) {
  const Value x = g.Input(0);
  const Value is_padding = Call("PadV2", {ZerosLike(x), g.Input(1), g.Scalar(1, x.type())});
  g.Return({Unpadded(g), Value(), SumAll(Call("MulNoNan", {g.Upstream(), is_padding}))});
}
REGISTER_STAND_IN("PadV2", PadV2Grad);

void BroadcastToGrad(Gradient& g) { g.ReturnFirst(SumTo(g.Input(0), g.Upstream(), g.Input(1))); }
REGISTER_STAND_IN("BroadcastTo", BroadcastToGrad);

// ---- Elements at indices.

void GatherNdGrad(Gradient& g) {
  const Value indices = AtLeastInt32(g.Input(1));
  g.ReturnFirst(Call("ScatterNd", {indices, g.Upstream(), Shape(g.Input(0), indices.type())},
                     g.AttrsOfOp({"bad_indices_policy"})));
}
REGISTER_STAND_IN("GatherNd", GatherNdGrad);

// Like Python, except for bad_indices_policy, which Python drops.
void ScatterNdGrad(Gradient& g) {
  g.Return({Value(),
            Call("GatherNd", {g.Upstream(), g.Input(0)}, g.AttrsOfOp({"bad_indices_policy"})),
            Value()});
}
REGISTER_STAND_IN("ScatterNd", ScatterNdGrad);

void ScatterNdNonAliasingAddGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({dy, Value(), Call("GatherNd", {dy, g.Input(1)}, g.AttrsOfOp({"bad_indices_policy"}))});
}
REGISTER_STAND_IN("ScatterNdNonAliasingAdd", ScatterNdNonAliasingAddGrad);

// Each row of params gets the sum of the gradients of its copies. After the batch, the axes before
// and after the rows are folded into one each: params is [batch, outer, rows, inner]. Row r there
// is row (b outer + o) rows + r of [batch outer rows, inner].
void GatherV2Grad(Gradient& g) {
  const Value params = g.Input(0), dy = g.Upstream();
  if (!IsInexact(params)) return ReturnNone(g);
  const Value indices = AtLeastInt32(g.Input(1));
  const DataType type = indices.type();
  const int64_t batch_dims = g.Attr<int64_t>("batch_dims");
  const auto number = [&](double n) { return g.Scalar(n, type); };
  // The product of all, or `count`, sizes of the shape from `begin` on.
  const Value shape = Shape(params, type);
  const auto size = [&](Value begin, Value count) {
    return Prod(Slice(shape, Reshape(begin, g.Ints({1})), count), g.Int(0));
  };
  const auto first = [&](Value count) { return size(g.Int(0), Reshape(count, g.Ints({1}))); };

  const Value axis = FloorMod(Cast(g.Input(2), DT_INT32), Rank(params));
  const Value rows = Gather(shape, axis);
  const Value inner = size(axis + 1, g.Ints({-1}));
  const Value blocks = first(axis);  // of rows
  Value batch = number(1);
  if (batch_dims != 0) {
    const bool from_the_back = batch_dims < 0;
    batch = first(from_the_back ? Rank(indices) + batch_dims : g.Int(batch_dims));
  }
  const Value outer = blocks / Maximum(batch, 1);
  const Value places = Size(indices, type) / Maximum(batch, 1);

  const Value offsets = Range(number(0), blocks, number(1)) * rows;
  const Value ids = Reshape(offsets, Pack({batch, outer, number(1)})) +
                    Reshape(indices, Pack({batch, number(1), places}));
  const Value sums = Call("UnsortedSegmentSum",
                          {Reshape(dy, Pack({batch, outer, places, inner})), ids, blocks * rows});
  g.ReturnFirst(Reshape(sums, shape));
}
REGISTER_STAND_IN("GatherV2", GatherV2Grad);

// ---- Blocks of images that become channels, and the reverse. The CPU has
// kernels only for one layout, NHWC.

void SpaceToDepthGrad(Gradient& g) {
  g.Return({Call("DepthToSpace", {g.Upstream()}, g.AttrsOfOp({"block_size", "data_format"}))});
}
REGISTER_STAND_IN("SpaceToDepth", SpaceToDepthGrad);

void DepthToSpaceGrad(Gradient& g) {
  g.Return({Call("SpaceToDepth", {g.Upstream()}, g.AttrsOfOp({"block_size", "data_format"}))});
}
REGISTER_STAND_IN("DepthToSpace", DepthToSpaceGrad);

}  // namespace
}  // namespace tensorflow_ext
