#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/kernels/broadcast_shape.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

REGISTER_OP("TfExt>FloorMod")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(kNumericT)
    .SetShapeFn(BroadcastShapeFn("TfExt>FloorMod"))
    .Doc(R"doc(
Remainder of the floored division, like NumPy's `mod`: z = x - floor(x / y) * y.
The result has the sign of the divisor.

In floating point, mod(x, 0), mod(+-inf, y) and mod of a NaN are NaN. mod(x,
inf) is x for x >= 0 and inf for x < 0. An exact zero takes the sign of y. half
and bfloat16 are computed in float. For integers, a division by 0 is an
InvalidArgument error on the CPU and gives 0 on other devices. mod(lowest, -1)
is 0.

The gradient: dy for x and -floor(x / y) * dy for y, each summed to its input's
shape; none for integers.

x: Dividend, of any shape.
y: Divisor, of a shape that broadcasts with that of x.
z: Remainder, of the broadcast shape.
)doc");

REGISTER_OP("TfExt>FloorModGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Input("y: T")
    .Output("backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn(BroadcastShapeFn("TfExt>FloorModGrad"))
    .Doc(R"doc(
Gradient of FloorMod with respect to its divisor, before it is summed to the
divisor's shape: -floor(x / y) * gradients.

floor(x / y) is NumPy's `floor_divide`, the quotient that FloorMod's remainder
belongs to. half and bfloat16 are computed in float.

The gradient: FloorModGrad(dy, x, y) for gradients; none for x and y, because
the quotient is constant between its steps.

gradients: Upstream gradient, of the shape that x and y broadcast to.
x: Dividend of FloorMod.
y: Divisor of FloorMod.
backprops: The shape of gradients.
)doc");

// dz and -floor(x / y) dz. Integers have no gradient.
void FloorModGradient(Gradient& g) {
  const Value x = g.Input(0), y = g.Input(1), dz = g.Upstream();
  if (!IsFloating(x)) return ReturnNone(g);
  const auto [dx, dy] = UnbroadcastInFloat(x, dz, y, g.Call("TfExt>FloorModGrad", {dz, x, y}));
  g.Return({dx, dy});
}
REGISTER_GRADIENT("TfExt>FloorMod", FloorModGradient);

// Linear in the upstream gradient; floor(x / y) is piecewise constant.
void FloorModGradGradient(Gradient& g) {
  const Value dgradients = g.Call("TfExt>FloorModGrad", {g.Upstream(), g.Input(1), g.Input(2)});
  g.Return({dgradients, Value(), Value()});
}
REGISTER_GRADIENT("TfExt>FloorModGrad", FloorModGradGradient);

}  // namespace
}  // namespace tensorflow_ext
