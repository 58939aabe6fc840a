// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/formula/unary_grad.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status TanhshrinkGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
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
        {{"dx"}, "TfExt>TanhshrinkGrad", {"dy", "x"},
         {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Tanhshrink", TanhshrinkGradient);

// With t = tanh(x): f' = t^2, f'' = 2 t t'. With the logistic function s,
// t' = 4 s(2x) s(-2x), which does not cancel as 1 - t^2 does.
Value Second(Gradient& /*g*/, Value x) {
  return 8 * Tanh(x) * Sigmoid(2 * x) * Sigmoid(-2 * x);
}
void TanhshrinkGradGrad(Gradient& g) { ReturnUnaryGradGrad(g, Second); }
REGISTER_GRADIENT("TfExt>TanhshrinkGrad", TanhshrinkGradGrad);

absl::Status HardshrinkGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "lower: float", "upper: float"},
      // Nodes
      {
        {{"dx"}, "TfExt>HardshrinkGrad", {"dy", "x"},
         {{"T", "$T"}, {"lower", "$lower"}, {"upper", "$upper"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Hardshrink", HardshrinkGradient);

absl::Status SoftshrinkGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "lower: float", "upper: float"},
      // Nodes
      {
        {{"dx"}, "TfExt>SoftshrinkGrad", {"dy", "x"},
         {{"T", "$T"}, {"lower", "$lower"}, {"upper", "$upper"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Softshrink", SoftshrinkGradient);

// Piecewise constant in x.
void ShrinkGradGrad(Gradient& g) {
  g.Return({g.Call(g.op(), {g.Upstream(), g.Input(1)},
                   g.AttrsOfOp({"lower", "upper"})),
            Value()});
}
REGISTER_GRADIENT("TfExt>HardshrinkGrad", ShrinkGradGrad);
REGISTER_GRADIENT("TfExt>SoftshrinkGrad", ShrinkGradGrad);

}  // namespace
}  // namespace tensorflow_ext
