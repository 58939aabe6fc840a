#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// Boxes drawn on images. A pixel without a box is a copy of the image's pixel; a pixel with boxes
// has the colour of the last of them. Drawing on an image of one channel shows where the boxes are.
Value WithBoxes(Value canvas, Value boxes, Value colors) {
  return Call("DrawBoundingBoxesV2", {canvas, boxes, colors});
}

// The shape of images, with one channel.
Value OneChannel(Value images) {
  Gradient* g = images.gradient();
  return Concat({SliceVector(Shape(images), 0, 3), g->Ints({1})}, g->Int(0));
}

// Uses the shape of the images, not of dy: with that, TensorFlow's constant folding would create a
// cycle, dy times a constant that waits for dy.
Value WhereNotDrawn(Gradient& g) {
  const Value images = g.Input(0);
  const Value white = Fill(OneChannel(images), g.Scalar(1, images.type()));
  const Value black = Zeros(g.Ints({1, 1}), DT_FLOAT);
  return g.Upstream() * WithBoxes(white, g.Input(1), black);
}

void DrawBoundingBoxesGrad(Gradient& g) { g.Return({WhereNotDrawn(g), Value()}); }
REGISTER_GRADIENT("DrawBoundingBoxes", DrawBoundingBoxesGrad);

// Colours are numbered from 1. 0 means no box; its sum is dropped. Without colours the kernel uses
// its own, which have no gradient.
void DrawBoundingBoxesV2Grad(Gradient& g) {
  const Value images = g.Input(0), boxes = g.Input(1), colors = g.Input(2);
  const Value zero = g.Int(0), one = g.Int(1), shape = Shape(colors);
  const Value count = Element(shape, 0), channels = Element(Shape(images), 3);
  const Value numbers = ExpandDims(Range(one, count + one, one), one);
  const Value drawn =
      WithBoxes(Zeros(OneChannel(images), DT_FLOAT), boxes, Cast(numbers, DT_FLOAT));
  const Value ids = Reshape(Cast(drawn, DT_INT32), g.Ints({-1}));
  const Value known = Where(LessEqual(ids, count), ids, 0);
  const Value rows = Reshape(Cast(g.Upstream(), DT_FLOAT), Pack({g.Int(-1), channels}));
  const Value sums = Call("UnsortedSegmentSum", {rows, known, count + one});
  const Value of_colors = Slice(sums, g.Ints({1, 0}), Pack({count, channels}));
  const Value unused = Element(shape, 1) - channels;
  const Value paddings = Reshape(Pack({zero, zero, zero, unused}), g.Ints({2, 2}));
  g.Return({WhereNotDrawn(g), Value(), Call("Pad", {of_colors, paddings})});
}
REGISTER_GRADIENT("DrawBoundingBoxesV2", DrawBoundingBoxesV2Grad);

}  // namespace
}  // namespace tensorflow_ext
