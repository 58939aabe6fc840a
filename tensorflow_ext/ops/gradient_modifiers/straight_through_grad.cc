// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status StraightThroughGrad(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"value: T", "surrogate: T", "dy: T"},
      // Ret val defs
      {"d_value: T", "d_surrogate: T"},
      // Attr defs
      {"T: {half, bfloat16, float, double}"},
      // Nodes
      {
        {{"d_value"}, "TfExt>NoGradient", {"value"}, {{"T", "$T"}}},
        {{"d_surrogate"}, "Identity", {"dy"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>StraightThrough", StraightThroughGrad);

}  // namespace
}  // namespace tensorflow_ext
