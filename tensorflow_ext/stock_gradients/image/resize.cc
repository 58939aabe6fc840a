// Images resized with interpolation. The ops are linear in the image, and TensorFlow has an op for
// most transposes. Integer images have kernels, but no gradient. TensorFlow's client gradients fail
// for types that the transpose has no kernel for.

#include <string>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/stock_gradients/image/image.h"

namespace tensorflow_ext {
namespace {

// `gradient_op` also takes an image, for its shape only. It has kernels for `type`, or else for the
// image's own type.
void ResizeLike(Gradient& g, const char* gradient_op, DataType type) {
  const Value image = g.Input(0);
  if (!IsFloating(image)) return ReturnNone(g);
  const Value dx = Call(gradient_op, {g.Upstream(), Cast(image, type)},
                        g.AttrsOfOp({"align_corners", "half_pixel_centers"}));
  g.ReturnFirst(Cast(dx, image.type()));
}
void ResizeBilinearForwardGrad(Gradient& g) {
  ResizeLike(g, "ResizeBilinearGrad", g.Input(0).type());
}
REGISTER_GRADIENT("ResizeBilinear", ResizeBilinearForwardGrad);
void ResizeBicubicForwardGrad(Gradient& g) {
  const DataType type = g.Input(0).type();
  ResizeLike(g, "ResizeBicubicGrad", type == DT_DOUBLE ? type : DT_FLOAT);
}
REGISTER_STAND_IN("ResizeBicubic", ResizeBicubicForwardGrad);

void ResizeNearestNeighborForwardGrad(Gradient& g) {
  const Value image = g.Input(0);
  if (!IsFloating(image)) return ReturnNone(g);
  g.ReturnFirst(Call("ResizeNearestNeighborGrad", {g.Upstream(), ImageSize(image)},
                     g.AttrsOfOp({"align_corners", "half_pixel_centers"})));
}
REGISTER_GRADIENT("ResizeNearestNeighbor", ResizeNearestNeighborForwardGrad);

// ---- Second order: the gradient of the transpose resizes again.

// ResizeXGrad(grads, original image, which only gives the shape, or its size).
void ResizeGradGrad(Gradient& g) {
  const std::string resize = g.op().substr(0, g.op().size() - 4);  // without "Grad"
  g.ReturnFirst(g.Call(resize, {g.Upstream(), ImageSize(g.Input(0))},
                       g.AttrsOfOp({"align_corners", "half_pixel_centers"})));
}
REGISTER_GRADIENT("ResizeBicubicGrad", ResizeGradGrad);
REGISTER_GRADIENT("ResizeBilinearGrad", ResizeGradGrad);
REGISTER_GRADIENT("ResizeNearestNeighborGrad", ResizeGradGrad);

// ResizeArea has no gradient op. It takes means along each axis, for each channel y = R x S^T.
// Applying it to unit matrices as images gives R and S.
void ResizeAreaGrad(Gradient& g) {
  const Value images = g.Input(0), dy = g.Upstream();
  if (!IsFloating(images)) return ReturnNone(g);
  const Value from = ImageSize(images), to = ImageSize(dy), one = g.Int(1);
  const auto weights = [&](int axis) {
    const Value rows = Element(to, axis), columns = Element(from, axis);
    const Value unit = MatrixDiag(Fill(Pack({columns}), g.Scalar(1, DT_FLOAT)));
    const Value image = Reshape(unit, Pack({one, columns, columns, one}));
    const Value shape = Pack({rows, columns});
    return Reshape(g.Call("ResizeArea", {image, shape}, g.AttrsOfOp({"align_corners"})), shape);
  };
  const Value by_rows = Einsum("bhwc,hi->biwc", {dy, weights(0)});
  const Value dx = Einsum("biwc,wj->bijc", {by_rows, weights(1)});
  g.Return({Cast(dx, images.type()), Value()});
}
REGISTER_GRADIENT("ResizeArea", ResizeAreaGrad);

}  // namespace
}  // namespace tensorflow_ext
