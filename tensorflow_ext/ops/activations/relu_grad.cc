// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/registration.h"

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
      {"T: {half, bfloat16, float, double}"},
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
      {"T: {half, bfloat16, float, double}"},
      // Nodes
      {
        {{"d_gradients"}, "TfExt>ReluGrad", {"dy", "features"}, {{"T", "$T"}}},
        {{"d_features"}, "TfExt>NoGradient", {"features"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>ReluGrad", ReluGradGradient);

}  // namespace
}  // namespace tensorflow_ext
