#include <string>
#include <vector>

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/ops/activations/activations.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status ReluGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"features: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"dx"}, "TfExt>ReluGrad", {"dy", "features"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Relu", ReluGradient);

absl::Status ReluGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "features: T", "dy: T"},
      // Ret val defs
      {"d_gradients: T", "d_features: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"d_gradients"}, "TfExt>ReluGrad", {"dy", "features"}, {{"T", "$T"}}},
        {{"d_features"}, "TfExt>NoGradient", {"features"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>ReluGrad", ReluGradGradient);

// The gradient of f(x) is fGrad(dy, x), with the attributes of f.
void ReturnUnaryGrad(Gradient& g, const std::vector<std::string>& attributes = {}) {
  g.Return({g.Call(g.op() + "Grad", {g.Upstream(), g.Input(0)}, g.AttrsOfOp(attributes))});
}
void UnaryGradient(Gradient& g) { ReturnUnaryGrad(g); }
REGISTER_GRADIENT("TfExt>Lisht", UnaryGradient);
REGISTER_GRADIENT("TfExt>Mish", UnaryGradient);
REGISTER_GRADIENT("TfExt>Tanhshrink", UnaryGradient);
void GeluGradient(Gradient& g) { ReturnUnaryGrad(g, {"approximate"}); }
REGISTER_GRADIENT("TfExt>Gelu", GeluGradient);
void ShrinkGradient(Gradient& g) { ReturnUnaryGrad(g, {"lower", "upper"}); }
REGISTER_GRADIENT("TfExt>Hardshrink", ShrinkGradient);
REGISTER_GRADIENT("TfExt>Softshrink", ShrinkGradient);

// f' = Phi + x phi, f'' = (2 - x^2) phi, where phi is the normal density. For the approximate f(x)
// = x s(u), with the logistic function s of a cubic u,
//
//   f' = s + x s' u',  f'' = s' (2u' + x ((1 - 2s) u'^2 + u'')).
//
// MulNoNan gives the limit 0 where x is infinite.
Value GeluSecond(Gradient& g, Value x) {
  const Value square = Square(x);
  if (!g.Attr<bool>("approximate")) {
    constexpr double kInverseSqrt2Pi = 0.39894228040143267794;
    return MulNoNan(2 - square, Exp(square * -0.5) * kInverseSqrt2Pi);
  }
  const Value u = x * (square * (kGeluScale * kGeluCubic) + kGeluScale);
  const Value du = square * (3 * kGeluScale * kGeluCubic) + kGeluScale;
  const Value ddu = x * (6 * kGeluScale * kGeluCubic);
  const Value s = Sigmoid(u);
  return MulNoNan(2 * du + x * ((1 - 2 * s) * Square(du) + ddu), s * Sigmoid(-u));
}
void GeluGradGrad(Gradient& g) { ReturnUnaryGradGrad(g, GeluSecond, {"approximate"}); }
REGISTER_GRADIENT("TfExt>GeluGrad", GeluGradGrad);

absl::Status SwiGluGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gate: T", "value: T", "dy: T"},
      // Ret val defs
      {"dgate: T", "dvalue: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"dgate", "dvalue"}, "TfExt>SwiGluGrad", {"dy", "gate", "value"},
         {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>SwiGlu", SwiGluGradient);

// SwiGluGrad(dy, x, y) is dy y f'(x) and dy f(x), where f(x) = x s(x), s is the logistic function
// and f'' = s' (2 + x (1 - 2s)). With upstream gradients u and v of its outputs, the gradients are
//
//   by dy:  u y f'(x) + v f(x)
//   by x:   dy (u y f''(x) + v f'(x))
//   by y:   u dy f'(x)
//
// SwiGlu and SwiGluGrad compute every term except f''. MulNoNan gives the limit of f'' where x is
// infinite.
void SwiGluGradGrad(Gradient& g) {
  const DataType type = g.Input(0).type(), computed = ComputedIn(g.Input(0));
  const Value dy = Cast(g.Input(0), computed), x = Cast(g.Input(1), computed),
              y = Cast(g.Input(2), computed);
  const Value u = Cast(g.Upstream(0), computed), v = Cast(g.Upstream(1), computed);

  const Value s = Sigmoid(x);
  const Value second = MulNoNan(2 + x * (1 - 2 * s), s * Sigmoid(-x));
  const Value by_dy = g.Call("TfExt>SwiGluGrad", {u, x, y}) + g.Call("TfExt>SwiGlu", {x, v});
  const Value by_x = dy * u * y * second + g.Call("TfExt>SwiGluGrad", {dy, x, v});
  const Value by_y = g.Call("TfExt>SwiGluGrad", {u, x, dy});
  g.Return({Cast(by_dy, type), Cast(by_x, type), Cast(by_y, type)});
}
REGISTER_GRADIENT("TfExt>SwiGluGrad", SwiGluGradGrad);

// With t = tanh(softplus(x)) and the logistic function s, t' = (1 - t^2) s:
//
//   f' = t + x t',  f'' = t' (2 + x (1 - s - 2 t s)).
//
// 1 - t^2 would cancel, so the code uses 4 s(2u) s(-2u), where t = tanh(u). MulNoNan gives the
// limit 0 where x is infinite.
Value MishSecond(Gradient& /*g*/, Value x) {
  const Value u = Call("Softplus", {x});
  const Value t = Tanh(u), s = Sigmoid(x);
  const Value slope = 4 * Sigmoid(2 * u) * Sigmoid(-2 * u) * s;
  return MulNoNan(2 + x * (1 - s - 2 * t * s), slope);
}
void MishGradGrad(Gradient& g) { ReturnUnaryGradGrad(g, MishSecond); }
REGISTER_GRADIENT("TfExt>MishGrad", MishGradGrad);

// With t = tanh(x): f' = t + x t', f'' = 2 t' (1 - x t). With the logistic function s, t' = 4 s(2x)
// s(-2x). Unlike 1 - t^2, this does not cancel. MulNoNan gives the limit 0 where x is infinite.
Value LishtSecond(Gradient& /*g*/, Value x) {
  const Value slope = 4 * Sigmoid(2 * x) * Sigmoid(-2 * x);
  return MulNoNan(2 - 2 * x * Tanh(x), slope);
}
void LishtGradGrad(Gradient& g) { ReturnUnaryGradGrad(g, LishtSecond); }
REGISTER_GRADIENT("TfExt>LishtGrad", LishtGradGrad);

// With t = tanh(x): f' = t^2, f'' = 2 t t'. With the logistic function s,
// t' = 4 s(2x) s(-2x). Unlike 1 - t^2, this does not cancel.
Value TanhshrinkSecond(Gradient& /*g*/, Value x) {
  return 8 * Tanh(x) * Sigmoid(2 * x) * Sigmoid(-2 * x);
}
void TanhshrinkGradGrad(Gradient& g) { ReturnUnaryGradGrad(g, TanhshrinkSecond); }
REGISTER_GRADIENT("TfExt>TanhshrinkGrad", TanhshrinkGradGrad);

// The op is piecewise constant in x.
void ShrinkGradGrad(Gradient& g) {
  g.Return({g.Call(g.op(), {g.Upstream(), g.Input(1)}, g.AttrsOfOp({"lower", "upper"})), Value()});
}
REGISTER_GRADIENT("TfExt>HardshrinkGrad", ShrinkGradGrad);
REGISTER_GRADIENT("TfExt>SoftshrinkGrad", ShrinkGradGrad);

}  // namespace
}  // namespace tensorflow_ext
