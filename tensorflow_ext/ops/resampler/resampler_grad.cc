// R_ab(data, warp) is the value at a point, differentiated a times by x and b times by y
// (ResamplerDerivative). R_ab* is its adjoint in data (ResamplerAdjoint). R is linear in data and
// bilinear in a point's x and y:
//
//   d<g, R_ab(data, warp)> = <R_ab*(g, warp), ddata>
//                            + sum over c of g R_{a+1,b}(data, warp) dx
//                            + sum over c of g R_{a,b+1}(data, warp) dy
//
// Here R_2b = R_a2 = 0. <A, R_ab*(g, warp)> = <g, R_ab(A, warp)>, so these two ops have gradients
// of every order. ResamplerGrad is the case a = b = 0 in one op.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

Value Derivative(Value data, Value warp, int64_t x, int64_t y) {
  return Call("TfExt>ResamplerDerivative", {data, warp}, {{"x_order", x}, {"y_order", y}});
}

Value Adjoint(Value gradients, Value warp, Value data_shape, int64_t x, int64_t y) {
  return Call("TfExt>ResamplerAdjoint", {gradients, warp, data_shape},
              {{"x_order", x}, {"y_order", y}});
}

// The gradient of <g, R_xy(data, warp)> with respect to warp.
Value WarpGradient(Value g, Value data, Value warp, int64_t x, int64_t y) {
  if (x == 1 && y == 1) return ZerosLike(warp);
  const Value channels = g.gradient()->Int(-1);
  Value by_x, by_y;
  if (x == 0) by_x = Sum(g * Derivative(data, warp, 1, y), channels);
  if (y == 0) by_y = Sum(g * Derivative(data, warp, x, 1), channels);
  if (x == 1) by_x = ZerosLike(by_y);
  if (y == 1) by_y = ZerosLike(by_x);
  return Pack({by_x, by_y}, -1);
}

void ResamplerGradient(Gradient& g) {
  g.Return(g.CallAll("TfExt>ResamplerGrad", {g.Upstream(), g.Input(0), g.Input(1)}));
}
REGISTER_GRADIENT("TfExt>Resampler", ResamplerGradient);

void ResamplerDerivativeGradient(Gradient& g) {
  const Value data = g.Input(0), warp = g.Input(1), dy = g.Upstream();
  const int64_t x = g.Attr<int64_t>("x_order");
  const int64_t y = g.Attr<int64_t>("y_order");
  g.Return({Adjoint(dy, warp, Shape(data), x, y), WarpGradient(dy, data, warp, x, y)});
}
REGISTER_GRADIENT("TfExt>ResamplerDerivative", ResamplerDerivativeGradient);

void ResamplerAdjointGradient(Gradient& g) {
  const Value gradients = g.Input(0), warp = g.Input(1), dy = g.Upstream();
  const int64_t x = g.Attr<int64_t>("x_order");
  const int64_t y = g.Attr<int64_t>("y_order");
  g.Return({Derivative(dy, warp, x, y), WarpGradient(gradients, dy, warp, x, y), Value()});
}
REGISTER_GRADIENT("TfExt>ResamplerAdjoint", ResamplerAdjointGradient);

// With upstream gradients A of R_00*(g, warp) and (B_x, B_y) of the gradient with respect to warp,
// this is the gradient of
//   <g, R_00(A, warp)> + <g B_x, R_10(data, warp)> + <g B_y, R_01(data, warp)>
void ResamplerGradGradient(Gradient& g) {
  const Value gradients = g.Input(0), data = g.Input(1), warp = g.Input(2);
  const Value upstream = g.Upstream(0);
  const Values by = Unpack(g.Upstream(1), 2, -1);
  const Value last = g.Int(-1);
  const Value by_x = ExpandDims(by[0], last), by_y = ExpandDims(by[1], last);
  const Value shape = Shape(data);
  const Value mixed = Sum(gradients * Derivative(data, warp, 1, 1), last, /*keep_dims=*/true);
  g.Return(
      {Call("TfExt>Resampler", {upstream, warp}) + by_x * Derivative(data, warp, 1, 0) +
           by_y * Derivative(data, warp, 0, 1),
       Adjoint(gradients * by_x, warp, shape, 1, 0) + Adjoint(gradients * by_y, warp, shape, 0, 1),
       CallAll("TfExt>ResamplerGrad", {gradients, upstream, warp})[1] +
           Concat({by_y * mixed, by_x * mixed}, last)});
}
REGISTER_GRADIENT("TfExt>ResamplerGrad", ResamplerGradGradient);

}  // namespace
}  // namespace tensorflow_ext
