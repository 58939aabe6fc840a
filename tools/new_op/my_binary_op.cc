#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/kernels/elementwise_shape.h"
#include "tensorflow_ext/ops/my_binary/my_binary.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

REGISTER_OP("TfExt>MyBinary")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<MyBinary>("TfExt>MyBinary"))
    .Doc(R"doc(
MyBinary: x^2 y^2, element by element.

The gradient: the two outputs of MyBinaryGrad(dz, x, y), each summed to its
input's shape.

x: Tensor of any shape.
y: Tensor of a shape that broadcasts with that of x.
z: Tensor of the broadcast shape.
)doc");

REGISTER_OP("TfExt>MyBinaryGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Input("y: T")
    .Output("x_backprops: T")
    .Output("y_backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<MyBinaryGrad>("TfExt>MyBinaryGrad"))
    .Doc(R"doc(
Gradients of MyBinary, not yet summed to its inputs' shapes: gradients times the
derivatives by x and by y.

The gradient: complete, for all three inputs, from both upstream gradients.

gradients: Upstream gradient of MyBinary's output, of the broadcast shape.
x: Input of MyBinary.
y: Input of MyBinary.
x_backprops: Gradient with respect to x; the shape of gradients.
y_backprops: Gradient with respect to y; the shape of gradients.
)doc");

void MyBinaryGradient(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1);
  const Values backprops = g.CallAll("TfExt>MyBinaryGrad", {g.Upstream(), x, y});
  const auto [dx, dy] = UnbroadcastInFloat(x, backprops[0], y, backprops[1]);
  g.Return({dx, dy});
}
REGISTER_GRADIENT("TfExt>MyBinary", MyBinaryGradient);

// MyBinaryGrad(dz, x, y) is dz f_x and dz f_y. With upstream gradients u and v of its outputs, the
// gradients are
//
//   by dz:  u f_x + v f_y
//   by x:   dz (u f_xx + v f_xy)
//   by y:   dz (u f_xy + v f_yy)
void MyBinaryGradGrad(Gradient& g) {
  const DataType type = g.Input(0).type(), computed = ComputedIn(g.Input(0));
  const Value dz = Cast(g.Input(0), computed), x = Cast(g.Input(1), computed),
              y = Cast(g.Input(2), computed);
  const Value u = Cast(g.Upstream(0), computed), v = Cast(g.Upstream(1), computed);

  const Value f_xx = 2 * Square(y), f_xy = 4 * (x * y), f_yy = 2 * Square(x);
  const Value by_dz =
      g.CallAll("TfExt>MyBinaryGrad", {u, x, y})[0] + g.CallAll("TfExt>MyBinaryGrad", {v, x, y})[1];
  const auto [by_x, by_y] =
      Unbroadcast(x, dz * (u * f_xx + v * f_xy), y, dz * (u * f_xy + v * f_yy));
  g.Return({Cast(by_dz, type), Cast(by_x, type), Cast(by_y, type)});
}
REGISTER_GRADIENT("TfExt>MyBinaryGrad", MyBinaryGradGrad);

}  // namespace
}  // namespace tensorflow_ext
