#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/kernels/elementwise_shape.h"
#include "tensorflow_ext/ops/multiply_left/multiply_left.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

REGISTER_OP("TfExt>MultiplyLeft")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<MultiplyLeft>("TfExt>MultiplyLeft"))
    .Doc(R"doc(
Product x * y whose gradient flows to the left factor only.

half and bfloat16 are multiplied in float and rounded once.

The gradient: y * dy for x, summed to the shape of x; none for y.

x: Factor that receives the gradient, of any shape.
y: Constant factor, of a shape that broadcasts with that of x.
z: Product, of the broadcast shape.
)doc");

// The gradient is MultiplyLeft too, so its own gradient flows only to dz.
void MultiplyLeftGradient(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1);
  const Value product = g.Call("TfExt>MultiplyLeft", {g.Upstream(), y});
  const Value none;
  g.Return({UnbroadcastInFloat(x, product, y, none).first, none});
}
REGISTER_GRADIENT("TfExt>MultiplyLeft", MultiplyLeftGradient);

}  // namespace
}  // namespace tensorflow_ext
