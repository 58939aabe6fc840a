// SPDX-License-Identifier: Apache-2.0
//
// A resized image is linear in the image, and the op that is its gradient is
// the transpose: the gradient of that one resizes once more.

#include <string>

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// Height and width of images [batch, height, width, channels].
Value ImageSize(Value images) { return SliceVector(Shape(images), 1, 3); }

// ResizeXGrad(grads, original image, of which the shape counts, or its size).
void ResizeGradGrad(Gradient& g) {
  const std::string resize =
      g.op().substr(0, g.op().size() - 4);  // less "Grad"
  g.ReturnFirst(g.Call(resize, {g.Upstream(), ImageSize(g.Input(0))},
                       g.AttrsOfOp({"align_corners", "half_pixel_centers"})));
}
REGISTER_GRADIENT("ResizeBicubicGrad", ResizeGradGrad);
REGISTER_GRADIENT("ResizeBilinearGrad", ResizeGradGrad);
REGISTER_GRADIENT("ResizeNearestNeighborGrad", ResizeGradGrad);

void ScaleAndTranslateGradGrad(Gradient& g) {
  const Value grads = g.Input(0), scale = g.Input(2), translation = g.Input(3);
  g.ReturnFirst(g.Call("ScaleAndTranslate",
                       {g.Upstream(), ImageSize(grads), scale, translation},
                       g.AttrsOfOp({"kernel_type", "antialias"})));
}
REGISTER_GRADIENT("ScaleAndTranslateGrad", ScaleAndTranslateGradGrad);

// ResizeArea has no op that is its gradient. It takes means along each axis by
// itself, y = R x S^T for each channel, and R and S are what it makes of unit
// matrices as images.
void ResizeAreaGrad(Gradient& g) {
  const Value images = g.Input(0), dy = g.Upstream();
  if (!IsFloating(images)) return ReturnNone(g);
  const Value from = ImageSize(images), to = ImageSize(dy), one = g.Int(1);
  const auto weights = [&](int axis) {
    const Value rows = Element(to, axis), columns = Element(from, axis);
    const Value unit = MatrixDiag(Fill(Pack({columns}), g.Scalar(1, DT_FLOAT)));
    const Value image = Reshape(unit, Pack({one, columns, columns, one}));
    const Value shape = Pack({rows, columns});
    return Reshape(
        g.Call("ResizeArea", {image, shape}, g.AttrsOfOp({"align_corners"})),
        shape);
  };
  const Value by_rows = Einsum("bhwc,hi->biwc", {dy, weights(0)});
  const Value dx = Einsum("biwc,wj->bijc", {by_rows, weights(1)});
  g.Return({Cast(dx, images.type()), Value()});
}
REGISTER_GRADIENT("ResizeArea", ResizeAreaGrad);

}  // namespace
}  // namespace tensorflow_ext
