// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status MishGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
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
        {{"dx"}, "TfExt>MishGrad", {"dy", "x"},
         {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Mish", MishGradient);

// With t = tanh(softplus(x)) and the logistic function s, t' = (1 - t^2) s:
//
//   f' = t + x t',  f'' = t' (2 + x (1 - s - 2 t s)).
//
// Where 1 - t^2 would cancel, it is 4 s(2u) s(-2u) with t = tanh(u). MulNoNan
// gives the limit 0 where x is infinite.
Value Second(Gradient& /*g*/, Value x) {
  const Value u = Call("Softplus", {x});
  const Value t = Tanh(u), s = Sigmoid(x);
  const Value slope = 4 * Sigmoid(2 * u) * Sigmoid(-2 * u) * s;
  return MulNoNan(2 + x * (1 - s - 2 * t * s), slope);
}
void MishGradGrad(Gradient& g) { ReturnUnaryGradGrad(g, Second); }
REGISTER_GRADIENT("TfExt>MishGrad", MishGradGrad);

}  // namespace
}  // namespace tensorflow_ext
