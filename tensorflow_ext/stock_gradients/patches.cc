// SPDX-License-Identifier: Apache-2.0
//
// Patches cut out of images and volumes. A patch element is a copy of one input
// element or padding, so the gradient sums, for each input element, those of
// its copies. Which input element went where is found by cutting patches out of
// an image of element numbers, from 1; padding reads as number 0.

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// `attributes`: those of the op that say how to cut.
void PatchesGrad(Gradient& g, const Attributes& attributes) {
  const Value x = g.Input(0), dy = g.Upstream();
  if (!IsFloating(x) && !IsComplex(x)) return g.Return({Value()});
  const DataType shape_type = DT_INT64;
  const Value one = g.Scalar(1, shape_type);
  const Value shape = Shape(x, shape_type);
  const Value positions_shape = SliceVector(shape, 0, -1);
  const Value count = Prod(positions_shape, g.Int(0));
  const Value channels = SliceVector(shape, -1, kToTheEnd);
  // Numbers of a type that every device cuts patches of, exact up to 2^53.
  const Value numbers = Cast(
      Reshape(Range(one, count + one, one),
              Concat({positions_shape, g.Vector({1}, shape_type)}, g.Int(0))),
      DT_DOUBLE);
  const Value cut = Cast(Call(g.op(), {numbers}, attributes), shape_type) - one;
  const Value ids = Reshape(cut, g.Ints({-1}));
  // The channels lie innermost in a patch. Negative ids are left out.
  const Value rows =
      Reshape(dy, Concat({Shape(ids, shape_type), channels}, g.Int(0)));
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

}  // namespace
}  // namespace tensorflow_ext
