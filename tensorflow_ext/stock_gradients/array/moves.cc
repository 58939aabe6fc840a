// SPDX-License-Identifier: Apache-2.0
//
// Ops that turn, repeat, mirror or regroup elements. All are linear; those that
// only move elements have the way back as their gradient.

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

// Reversed twice, the rows are what they were.
void ReverseSequenceGrad(Gradient& g) {
  g.ReturnFirst(Call("ReverseSequence", {g.Upstream(), g.Input(1)},
                     g.AttrsOfOp({"seq_dim", "batch_dim"})));
}
REGISTER_GRADIENT("ReverseSequence", ReverseSequenceGrad);

// Each element gets the sum over its copies: with every axis of the result
// split into (copies, elements), over the even axes.
void TileGrad(Gradient& g) {
  const Value x = g.Input(0), multiples = g.Input(1);
  if (!IsInexact(x)) return ReturnNone(g);
  const Value shape = Shape(x, multiples.type());
  const Value split = Reshape(Pack({multiples, shape}, 1), g.Ints({-1}));
  const Value copies = Range(g.Int(0), Size(split), g.Int(2));
  g.ReturnFirst(Reshape(Sum(Reshape(g.Upstream(), split), copies), shape));
}
REGISTER_GRADIENT("Tile", TileGrad);

// MirrorPadGrad adds what lies in the padding to its mirror image.
void MirrorPad(Gradient& g, const char* adjoint) {
  if (!IsInexact(g.Input(0))) return ReturnNone(g);
  g.ReturnFirst(
      Call(adjoint, {g.Upstream(), g.Input(1)}, g.AttrsOfOp({"mode"})));
}
void MirrorPadGradient(Gradient& g) { MirrorPad(g, "MirrorPadGrad"); }
void MirrorPadGradGradient(Gradient& g) { MirrorPad(g, "MirrorPad"); }
REGISTER_GRADIENT("MirrorPad", MirrorPadGradient);
REGISTER_GRADIENT("MirrorPadGrad", MirrorPadGradGradient);

// ---- Blocks of images that become batches, and the other way round: what is
// cropped on the one way is padded with zeros on the other.

void SpaceToBatchGrad(Gradient& g) {
  g.ReturnFirst(Call("BatchToSpace", {g.Upstream(), g.Input(1)},
                     g.AttrsOfOp({"block_size"})));
}
REGISTER_GRADIENT("SpaceToBatch", SpaceToBatchGrad);
void BatchToSpaceGrad(Gradient& g) {
  g.ReturnFirst(Call("SpaceToBatch", {g.Upstream(), g.Input(1)},
                     g.AttrsOfOp({"block_size"})));
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
