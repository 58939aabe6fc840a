#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/kernels/elementwise_shape.h"
#include "tensorflow_ext/ops/my_unary/my_unary.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

REGISTER_OP("TfExt>MyUnary")
    .Input("x: T")
    .Output("y: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<MyUnary>("TfExt>MyUnary"))
    .Doc(R"doc(
MyUnary: x^3, element by element.

The gradient: MyUnaryGrad(dy, x).

x: Tensor of any shape.
y: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>MyUnaryGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<MyUnaryGrad>("TfExt>MyUnaryGrad"))
    .Doc(R"doc(
Gradient of MyUnary: gradients times the derivative of MyUnary at x.

The gradient: MyUnaryGrad(dy, x) for gradients; dy * gradients times the second
derivative of MyUnary for x.

gradients: Upstream gradient of MyUnary's output, of any shape.
x: Input of MyUnary; the same shape.
backprops: Gradient with respect to x; the same shape.
)doc");

void MyUnaryGradient(Gradient& g) {
  g.Return({g.Call("TfExt>MyUnaryGrad", {g.Upstream(), g.Input(0)})});
}
REGISTER_GRADIENT("TfExt>MyUnary", MyUnaryGradient);

// The second derivative.
Value MyUnarySecond(Gradient& /*g*/, Value x) { return 6 * x; }
void MyUnaryGradGrad(Gradient& g) { ReturnUnaryGradGrad(g, MyUnarySecond); }
REGISTER_GRADIENT("TfExt>MyUnaryGrad", MyUnaryGradGrad);

}  // namespace
}  // namespace tensorflow_ext
