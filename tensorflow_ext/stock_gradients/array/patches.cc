// Patches cut out of images and volumes. A patch element is padding or a copy of an input element,
// whose gradient is the sum over its copies. Cutting patches out of an image of element numbers,
// which start at 1, shows the origin of each element; padding reads as number 0.

#include <cstdint>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// `attributes`: those attributes of the op that describe the patches.
void PatchesGrad(Gradient& g, const Attributes& attributes) {
  const Value x = g.Input(0), dy = g.Upstream();
  if (!IsFloating(x) && !IsComplex(x)) return g.Return({Value()});
  const DataType shape_type = DT_INT64;
  const Value one = g.Scalar(1, shape_type);
  const Value shape = Shape(x, shape_type);
  const Value positions_shape = SliceVector(shape, 0, -1);
  const Value count = Prod(positions_shape, g.Int(0));
  const Value channels = SliceVector(shape, -1, kToTheEnd);
  // Numbers in a type that has kernels on every device, exact up to 2^53.
  const Value numbers =
      Cast(Reshape(Range(one, count + one, one),
                   Concat({positions_shape, g.Vector({1}, shape_type)}, g.Int(0))),
           DT_DOUBLE);
  const Value cut = Cast(Call(g.op(), {numbers}, attributes), shape_type) - one;
  const Value ids = Reshape(cut, g.Ints({-1}));
  // The channels are innermost in a patch. Negative ids are ignored.
  const Value rows = Reshape(dy, Concat({Shape(ids, shape_type), channels}, g.Int(0)));
  const Value sums = Call("UnsortedSegmentSum", {rows, ids, count});
  g.Return({Reshape(sums, shape)});
}

void ExtractImagePatchesGrad(Gradient& g) {
  PatchesGrad(g, g.AttrsOfOp({"ksizes", "strides", "rates", "padding"}));
}
REGISTER_GRADIENT("ExtractImagePatches", ExtractImagePatchesGrad);

void ExtractVolumePatchesGrad(Gradient& g) {
  PatchesGrad(g, g.AttrsOfOp({"ksizes", "strides", "padding"}));
}
REGISTER_GRADIENT("ExtractVolumePatches", ExtractVolumePatchesGrad);

// A glimpse is a window of its image at the given offsets. Noise outside of the image counts as
// constant. Row and column numbers, which start at 1, identify pixels: one number for each pixel
// would be too large for float, the op's only type.
void ExtractGlimpseGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream();
  const Value shape = Shape(x), one = g.Int(1), all = g.Ints({-1});
  const Value batch = Element(shape, 0), height = Element(shape, 1);
  const Value width = Element(shape, 2), channels = Element(shape, 3);
  const auto along = [&](Value size, const std::vector<int64_t>& axis) {
    const Value numbers = Reshape(Range(one, size + one, one), g.Ints(axis));
    return Cast(BroadcastTo(numbers, Pack({batch, height, width, one})), DT_FLOAT);
  };
  const Value positions =
      Concat({along(height, {1, -1, 1, 1}), along(width, {1, 1, -1, 1})}, g.Int(3));
  Attributes attributes = g.AttrsOfOp({"centered", "normalized"});
  attributes.push_back({"uniform_noise", false});
  attributes.push_back({"noise", "zero"});
  const Value cut = Cast(g.Call(g.op(), {positions, g.Input(1), g.Input(2)}, attributes), DT_INT32);
  const Values places = CallAll("Split", {g.Int(3), cut}, {{"num_split", 2}});
  const Value row = places[0], column = places[1];
  const Value image = Reshape(Range(g.Int(0), batch, one), g.Ints({-1, 1, 1, 1}));
  const Value pixel = (image * height + (row - one)) * width + (column - one);
  // Negative ids are ignored.
  const Value ids = Reshape(Where(Greater(row, 0), pixel, -1), all);
  const Value rows = Reshape(dy, Pack({g.Int(-1), channels}));
  const Value sums = Call("UnsortedSegmentSum", {rows, ids, batch * height * width});
  g.ReturnFirst(Reshape(sums, shape));
}
REGISTER_GRADIENT("ExtractGlimpse", ExtractGlimpseGrad);
REGISTER_GRADIENT("ExtractGlimpseV2", ExtractGlimpseGrad);

}  // namespace
}  // namespace tensorflow_ext
