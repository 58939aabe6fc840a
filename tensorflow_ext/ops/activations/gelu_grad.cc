// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/ops/activations/gelu.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status GeluGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "approximate: bool"},
      // Nodes
      {
        {{"dx"}, "TfExt>GeluGrad", {"dy", "x"},
         {{"T", "$T"}, {"approximate", "$approximate"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Gelu", GeluGradient);

// f' = Phi + x phi, f'' = (2 - x^2) phi with the normal density phi. In the
// other form, where f(x) = x s(u) with the logistic function s of a cubic u,
//
//   f' = s + x s' u',  f'' = s' (2u' + x ((1 - 2s) u'^2 + u'')).
//
// MulNoNan gives the limit 0 where x is infinite.
Value Second(Gradient& g, Value x) {
  const Value square = Square(x);
  if (!g.Attr<bool>("approximate")) {
    constexpr double kInverseSqrt2Pi = 0.39894228040143267794;
    return MulNoNan(2 - square, Exp(square * -0.5) * kInverseSqrt2Pi);
  }
  const Value u = x * (square * (kGeluScale * kGeluCubic) + kGeluScale);
  const Value du = square * (3 * kGeluScale * kGeluCubic) + kGeluScale;
  const Value ddu = x * (6 * kGeluScale * kGeluCubic);
  const Value s = Sigmoid(u);
  return MulNoNan(2 * du + x * ((1 - 2 * s) * Square(du) + ddu),
                  s * Sigmoid(-u));
}
void GeluGradGrad(Gradient& g) {
  ReturnUnaryGradGrad(g, Second, {"approximate"});
}
REGISTER_GRADIENT("TfExt>GeluGrad", GeluGradGrad);

}  // namespace
}  // namespace tensorflow_ext
