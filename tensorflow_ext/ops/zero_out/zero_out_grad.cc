// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::DataType;
using tensorflow::FunctionDef;

// The op that computes the gradient. Integers have no gradient.
absl::Status ZeroOutGradientOp(const AttrSlice& attrs, const char** op) {
  DataType type;
  if (absl::Status s = GetNodeAttr(attrs, "T", &type); !s.ok()) return s;
  *op = tensorflow::DataTypeIsFloating(type) ? "TfExt>ZeroOut" : "TfExt>NoGradient";
  return absl::OkStatus();
}

absl::Status ZeroOutGradient(const AttrSlice& attrs, FunctionDef* g) {
  const char* op = nullptr;
  if (absl::Status s = ZeroOutGradientOp(attrs, &op); !s.ok()) return s;
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"to_zero: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {kNumericT},
      // Nodes
      {
        {{"dx"}, op, {"dy"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>ZeroOut", ZeroOutGradient);

absl::Status ZeroOutWithIndexGradient(const AttrSlice& attrs, FunctionDef* g) {
  const char* op = nullptr;
  if (absl::Status s = ZeroOutGradientOp(attrs, &op); !s.ok()) return s;
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"to_zero: T", "dy: T", "d_index: int32"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {kNumericT},
      // Nodes
      {
        {{"dx"}, op, {"dy"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>ZeroOutWithIndex", ZeroOutWithIndexGradient);

}  // namespace
}  // namespace tensorflow_ext
