// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status ScaleGradientGrad(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"input: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "scale: float"},
      // Nodes
      {
        {{"dx"}, "TfExt>Scale", {"dy"}, {{"T", "$T"}, {"factor", "$scale"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>ScaleGradient", ScaleGradientGrad);

absl::Status ScaleGrad(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "factor: float"},
      // Nodes
      {
        {{"dx"}, "TfExt>Scale", {"dy"}, {{"T", "$T"}, {"factor", "$factor"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Scale", ScaleGrad);

}  // namespace
}  // namespace tensorflow_ext
