// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status ClipGradientGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"input: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "min: float", "max: float"},
      // Nodes
      {
        {{"dx"}, "TfExt>Clip", {"dy"},
         {{"T", "$T"}, {"min", "$min"}, {"max", "$max"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>ClipGradient", ClipGradientGradient);

absl::Status ClipOpGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "min: float", "max: float"},
      // Nodes
      {
        {{"dx"}, "TfExt>ClipGrad", {"dy", "x"},
         {{"T", "$T"}, {"min", "$min"}, {"max", "$max"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Clip", ClipOpGradient);

absl::Status ClipGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "x: T", "dy: T"},
      // Ret val defs
      {"d_gradients: T", "dx: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}", "min: float", "max: float"},
      // Nodes
      {
        {{"d_gradients"}, "TfExt>ClipGrad", {"dy", "x"},
         {{"T", "$T"}, {"min", "$min"}, {"max", "$max"}}},
        {{"dx"}, "TfExt>NoGradient", {"x"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>ClipGrad", ClipGradGradient);

}  // namespace
}  // namespace tensorflow_ext
