// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

// y is the forward op's own output: expansion recognises the node and reuses its output.
absl::Status SparsemaxGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"logits: T", "dy: T"},
      // Ret val defs
      {"dlogits: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"y"}, "TfExt>Sparsemax", {"logits"}, {{"T", "$T"}}},
        {{"dlogits"}, "TfExt>SparsemaxGrad", {"dy", "y"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>Sparsemax", SparsemaxGradient);

// The gradient is linear in dy, and its matrix is symmetric, because it is a projection. y only
// determines the elements in the support.
absl::Status SparsemaxGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "y: T", "dbackprops: T"},
      // Ret val defs
      {"dgradients: T", "dy: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"dgradients"}, "TfExt>SparsemaxGrad", {"dbackprops", "y"},
         {{"T", "$T"}}},
        {{"dy"}, "TfExt>NoGradient", {"y"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>SparsemaxGrad", SparsemaxGradGradient);

}  // namespace
}  // namespace tensorflow_ext
