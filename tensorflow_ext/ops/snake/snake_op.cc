#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/kernels/elementwise_shape.h"
#include "tensorflow_ext/ops/snake/snake.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

REGISTER_OP("TfExt>Snake")
    .Input("x: T")
    .Input("frequency: T")
    .Output("y: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<Snake>("TfExt>Snake"))
    .Doc(R"doc(
Snake activation, a line with waves on it: x + sin(f x)^2 / f, where f is the
frequency. This is x + (1 - cos(2 f x)) / (2 f), and x where f is 0.

Nothing cancels where f x is small, and any finite f x is reduced exactly. An
infinite x gives itself, unless f is 0. half and bfloat16 are computed in float.

The gradient: the two outputs of SnakeGrad(dy, x, frequency), each summed to its
input's shape. The sum for a half or bfloat16 frequency is in float.

After L. Ziyin, T. Hartwig and M. Ueda, "Neural Networks Fail to Learn Periodic
Functions and How to Fix It", arXiv:2006.08195.

x: Tensor of any shape.
frequency: Frequencies, of a shape that broadcasts with that of x: one for all,
  or one for each channel.
y: Tensor of the broadcast shape.
)doc");

REGISTER_OP("TfExt>SnakeGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Input("frequency: T")
    .Output("x_backprops: T")
    .Output("frequency_backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<SnakeGrad>("TfExt>SnakeGrad"))
    .Doc(R"doc(
Gradients of Snake, both in one pass, not yet summed to its inputs' shapes.

With the frequency f they are gradients * (1 + sin(2 f x)) and
gradients * (x sin(2 f x) / f - sin(f x)^2 / f^2). Where f is 0, they are
gradients and gradients * x^2. Where f x is infinite, they are NaN.

The gradient: complete, for all three inputs, from both upstream gradients.

gradients: Upstream gradient, of the shape that x and frequency broadcast to.
x: Input of Snake.
frequency: Input of Snake.
x_backprops: Gradient with respect to x; the shape of gradients.
frequency_backprops: Gradient with respect to frequency; the shape of gradients.
)doc");

void SnakeGradient(Gradient& g) {
  const Value x = g.Input(0), frequency = g.Input(1);
  const Values backprops = g.CallAll("TfExt>SnakeGrad", {g.Upstream(), x, frequency});
  const auto [dx, dfrequency] = UnbroadcastInFloat(x, backprops[0], frequency, backprops[1]);
  g.Return({dx, dfrequency});
}
REGISTER_GRADIENT("TfExt>Snake", SnakeGradient);

// With t = f x, y' = 1 + sin(2t) and F = x^2 (t sin(2t) - sin(t)^2) / t^2, SnakeGrad(dy, x, f) is
// dy y' and dy F. With upstream gradients u and v of its outputs, the gradients are
//
//   by dy:  u y' + v F
//   by x:   dy (2 cos(2t) (u f + v x))
//   by f:   dy (2 cos(2t) u x + v dF/df)
//
// The first is SnakeGrad again. With s = sin(t) and c = cos(t),
// (t c - s)^2 - t^2 s^2 is t^2 cos(2t) - t sin(2t) + s^2, so
//
//   dF/df = 2 x^3 (m^2 / t - s^2 / t),  m = s / t - c.
//
// No cancellation matters here, because m is as small as t^2.
void SnakeGradGrad(Gradient& g) {
  const DataType type = g.Input(0).type(), computed = ComputedIn(g.Input(0));
  const Value dy = Cast(g.Input(0), computed), x = Cast(g.Input(1), computed),
              f = Cast(g.Input(2), computed);
  const Value u = Cast(g.Upstream(0), computed), v = Cast(g.Upstream(1), computed);

  const Value t = f * x;
  const Value s = Sin(t), c = Cos(t);
  const Value ratio = Where(Equal(t, 0), 1, DivNoNan(s, t));
  const Value m = ratio - c;
  const Value second = 2 * x * Square(x) * (m * DivNoNan(m, t) - s * ratio);
  const Value twice = 2 * dy * Cos(2 * t);
  const Value by_dy =
      g.CallAll("TfExt>SnakeGrad", {u, x, f})[0] + g.CallAll("TfExt>SnakeGrad", {v, x, f})[1];
  const auto [by_x, by_f] =
      Unbroadcast(x, twice * (u * f + v * x), f, twice * u * x + dy * v * second);
  g.Return({Cast(by_dy, type), Cast(by_x, type), Cast(by_f, type)});
}
REGISTER_GRADIENT("TfExt>SnakeGrad", SnakeGradGrad);

}  // namespace
}  // namespace tensorflow_ext
