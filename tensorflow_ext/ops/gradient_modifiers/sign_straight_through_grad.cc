// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status SignGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "clip: float"},
      // Nodes
      {
        {{"dx"}, "TfExt>SignStraightThroughGrad", {"dy", "x"},
         {{"T", "$T"}, {"clip", "$clip"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>SignStraightThrough", SignGradient);

absl::Status SignGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "x: T", "dy: T"},
      // Ret val defs
      {"d_gradients: T", "dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "clip: float"},
      // Nodes
      {
        {{"d_gradients"}, "TfExt>SignStraightThroughGrad", {"dy", "x"},
         {{"T", "$T"}, {"clip", "$clip"}}},
        {{"dx"}, "TfExt>NoGradient", {"x"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>SignStraightThroughGrad", SignGradGradient);

}  // namespace
}  // namespace tensorflow_ext
