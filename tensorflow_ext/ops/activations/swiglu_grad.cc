// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status SwiGluGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gate: T", "value: T", "dy: T"},
      // Ret val defs
      {"dgate: T", "dvalue: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}"},
      // Nodes
      {
        {{"dgate", "dvalue"}, "TfExt>SwiGluGrad", {"dy", "gate", "value"},
         {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>SwiGlu", SwiGluGradient);

// SwiGluGrad(dy, x, y) is dy y f'(x) and dy f(x), where f(x) = x s(x) with the
// logistic function s, f'' = s' (2 + x (1 - 2s)). With upstream gradients u and
// v of the two the gradients are
//
//   by dy:  u y f'(x) + v f(x)
//   by x:   dy (u y f''(x) + v f'(x))
//   by y:   u dy f'(x)
//
// in which all but f'' is one of the two ops again. MulNoNan gives the limit of
// f'' where x is infinite.
void SwiGluGradGrad(Gradient& g) {
  const DataType type = g.Input(0).type(), computed = ComputedIn(g.Input(0));
  const Value dy = Cast(g.Input(0), computed), x = Cast(g.Input(1), computed),
              y = Cast(g.Input(2), computed);
  const Value u = Cast(g.Upstream(0), computed),
              v = Cast(g.Upstream(1), computed);

  const Value s = Sigmoid(x);
  const Value second = MulNoNan(2 + x * (1 - 2 * s), s * Sigmoid(-x));
  const Value by_dy =
      g.Call("TfExt>SwiGluGrad", {u, x, y}) + g.Call("TfExt>SwiGlu", {x, v});
  const Value by_x =
      dy * u * y * second + g.Call("TfExt>SwiGluGrad", {dy, x, v});
  const Value by_y = g.Call("TfExt>SwiGluGrad", {u, x, dy});
  g.Return({Cast(by_dy, type), Cast(by_x, type), Cast(by_y, type)});
}
REGISTER_GRADIENT("TfExt>SwiGluGrad", SwiGluGradGrad);

}  // namespace
}  // namespace tensorflow_ext
