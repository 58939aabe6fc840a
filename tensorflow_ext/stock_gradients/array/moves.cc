// Ops that flip, repeat, mirror or regroup elements. All are linear. The gradient of an op that
// only moves elements moves them back.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

void RollGrad(Gradient& g) {
  const Value shift = g.Input(1), axis = g.Input(2);
  g.ReturnFirst(Call("Roll", {g.Upstream(), -shift, axis}));
}
REGISTER_GRADIENT("Roll", RollGrad);

// Reversing the rows twice restores them.
void ReverseSequenceGrad(Gradient& g) {
  g.ReturnFirst(
      Call("ReverseSequence", {g.Upstream(), g.Input(1)}, g.AttrsOfOp({"seq_dim", "batch_dim"})));
}
REGISTER_GRADIENT("ReverseSequence", ReverseSequenceGrad);

// Each element gets the sum over its copies: split each axis of the result into (copies, elements),
// then sum over the even axes.
void TileGrad(Gradient& g) {
  const Value x = g.Input(0), multiples = g.Input(1);
  if (!IsInexact(x)) return ReturnNone(g);
  const Value shape = Shape(x, multiples.type());
  const Value split = Reshape(Pack({multiples, shape}, 1), g.Ints({-1}));
  const Value copies = Range(g.Int(0), Size(split), g.Int(2));
  g.ReturnFirst(Reshape(Sum(Reshape(g.Upstream(), split), copies), shape));
}
REGISTER_GRADIENT("Tile", TileGrad);

// MirrorPadGrad adds the padding to the elements that it mirrors.
void MirrorPad(Gradient& g, const char* adjoint) {
  if (!IsInexact(g.Input(0))) return ReturnNone(g);
  g.ReturnFirst(Call(adjoint, {g.Upstream(), g.Input(1)}, g.AttrsOfOp({"mode"})));
}
void MirrorPadGradient(Gradient& g) { MirrorPad(g, "MirrorPadGrad"); }
void MirrorPadGradGradient(Gradient& g) { MirrorPad(g, "MirrorPad"); }
REGISTER_GRADIENT("MirrorPad", MirrorPadGradient);
REGISTER_GRADIENT("MirrorPadGrad", MirrorPadGradGradient);

// ---- Blocks of images that become batches, and the reverse: cropping in one
// direction is padding with zeros in the other.

void SpaceToBatchGrad(Gradient& g) {
  g.ReturnFirst(Call("BatchToSpace", {g.Upstream(), g.Input(1)}, g.AttrsOfOp({"block_size"})));
}
REGISTER_GRADIENT("SpaceToBatch", SpaceToBatchGrad);
void BatchToSpaceGrad(Gradient& g) {
  g.ReturnFirst(Call("SpaceToBatch", {g.Upstream(), g.Input(1)}, g.AttrsOfOp({"block_size"})));
}
REGISTER_GRADIENT("BatchToSpace", BatchToSpaceGrad);

void SpaceToBatchNDGrad(Gradient& g) {
  g.ReturnFirst(Call("BatchToSpaceND", {g.Upstream(), g.Input(1), g.Input(2)}));
}
REGISTER_GRADIENT("SpaceToBatchND", SpaceToBatchNDGrad);
void BatchToSpaceNDGrad(Gradient& g) {
  g.ReturnFirst(Call("SpaceToBatchND", {g.Upstream(), g.Input(1), g.Input(2)}));
}
REGISTER_GRADIENT("BatchToSpaceND", BatchToSpaceNDGrad);

}  // namespace
}  // namespace tensorflow_ext
