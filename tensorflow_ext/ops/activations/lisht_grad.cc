// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status LishtGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}"},
      // Nodes
      {
        {{"dx"}, "TfExt>LishtGrad", {"dy", "x"},
         {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Lisht", LishtGradient);

// With t = tanh(x): f' = t + x t', f'' = 2 t' (1 - x t). With the logistic
// function s, t' = 4 s(2x) s(-2x), which does not cancel as 1 - t^2 does.
// MulNoNan gives the limit 0 where x is infinite.
Value Second(Gradient& /*g*/, Value x) {
  const Value slope = 4 * Sigmoid(2 * x) * Sigmoid(-2 * x);
  return MulNoNan(2 - 2 * x * Tanh(x), slope);
}
void LishtGradGrad(Gradient& g) { ReturnUnaryGradGrad(g, Second); }
REGISTER_GRADIENT("TfExt>LishtGrad", LishtGradGrad);

}  // namespace
}  // namespace tensorflow_ext
