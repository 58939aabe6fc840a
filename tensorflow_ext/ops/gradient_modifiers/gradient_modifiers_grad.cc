// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

absl::Status ReverseGradientGrad(const AttrSlice& attrs, FunctionDef* g) {
  float scale;
  if (absl::Status s = GetNodeAttr(attrs, "scale", &scale); !s.ok()) return s;
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"input: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"dx"}, "TfExt>Scale", {"dy"}, {{"T", "$T"}, {"factor", -scale}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>ReverseGradient", ReverseGradientGrad);

void ReverseGradientNGrad(Gradient& g) {
  const float factor = -g.Attr<float>("scale");
  Values gradients(g.num_inputs());
  for (int i = 0; i < g.num_inputs(); ++i) {
    switch (g.Input(i).type()) {
      case tensorflow::DT_HALF:
      case tensorflow::DT_BFLOAT16:
      case tensorflow::DT_FLOAT:
      case tensorflow::DT_DOUBLE:
        gradients[i] = Call("TfExt>Scale", {g.Upstream(i)}, {{"factor", factor}});
        break;
      case tensorflow::DT_COMPLEX64:
      case tensorflow::DT_COMPLEX128:
        gradients[i] = g.Upstream(i) * factor;
        break;
      default:
        break;  // no gradient
    }
  }
  g.Return(gradients);
}
REGISTER_GRADIENT("TfExt>ReverseGradientN", ReverseGradientNGrad);

absl::Status ScaleGradientGrad(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"input: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {kFloatingT, "scale: float"},
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
      {kFloatingT, "factor: float"},
      // Nodes
      {
        {{"dx"}, "TfExt>Scale", {"dy"}, {{"T", "$T"}, {"factor", "$factor"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Scale", ScaleGrad);

absl::Status ClipGradientGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"input: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {kFloatingT, "min: float", "max: float"},
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
      {kFloatingT, "min: float", "max: float"},
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
      {kFloatingT, "min: float", "max: float"},
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

absl::Status SignGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {kFloatingT, "clip: float"},
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
      {kFloatingT, "clip: float"},
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

absl::Status RoundGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"dx"}, "Identity", {"dy"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>RoundStraightThrough", RoundGradient);

absl::Status StraightThroughGrad(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"value: T", "surrogate: T", "dy: T"},
      // Ret val defs
      {"d_value: T", "d_surrogate: T"},
      // Attr defs
      {kFloatingT},
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
