// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"

namespace tensorflow_ext {
namespace {

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
