// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/define/definition_parts.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;

// The attributes of all three ops, as definitions and in a node of one.
std::vector<std::string> BagAttrDefs() {
  return {kFloatingT, "Tindices: {int32, int64}", "combiner: string"};
}

auto BagAttrs() { return AttrsOfOp({"T", "Tindices", "combiner"}); }

// The sum of gradients * EmbeddingBag(indices, params, weights) is linear in each of gradients,
// params and weights. Its derivatives are the three ops, and so are theirs.

absl::Status EmbeddingBagGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"indices: Tindices", "params: T", "weights: T", "dy: T"},
      // Ret val defs
      {"dindices: Tindices", "dparams: T", "dweights: T"},
      // Attr defs
      BagAttrDefs(),
      // Nodes
      {
        {{"dindices"}, "TfExt>NoGradient", {"indices"}, {{"T", "$Tindices"}}},
        {{"dparams"}, "TfExt>EmbeddingBagParamsGrad",
         {"dy", "indices", "params", "weights"}, BagAttrs()},
        {{"dweights"}, "TfExt>EmbeddingBagWeightsGrad",
         {"dy", "indices", "params"}, BagAttrs()},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>EmbeddingBag", EmbeddingBagGradient);

absl::Status EmbeddingBagParamsGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "indices: Tindices", "params: T", "weights: T", "dy: T"},
      // Ret val defs
      {"dgradients: T", "dindices: Tindices", "dparams: T", "dweights: T"},
      // Attr defs
      BagAttrDefs(),
      // Nodes
      {
        {{"dgradients"}, "TfExt>EmbeddingBag", {"indices", "dy", "weights"},
         BagAttrs()},
        {{"dindices"}, "TfExt>NoGradient", {"indices"}, {{"T", "$Tindices"}}},
        {{"dparams"}, "TfExt>NoGradient", {"params"}, {{"T", "$T"}}},
        {{"dweights"}, "TfExt>EmbeddingBagWeightsGrad",
         {"gradients", "indices", "dy"}, BagAttrs()},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>EmbeddingBagParamsGrad", EmbeddingBagParamsGradGradient);

absl::Status EmbeddingBagWeightsGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "indices: Tindices", "params: T", "dy: T"},
      // Ret val defs
      {"dgradients: T", "dindices: Tindices", "dparams: T"},
      // Attr defs
      BagAttrDefs(),
      // Nodes
      {
        {{"dgradients"}, "TfExt>EmbeddingBag", {"indices", "params", "dy"},
         BagAttrs()},
        {{"dindices"}, "TfExt>NoGradient", {"indices"}, {{"T", "$Tindices"}}},
        {{"dparams"}, "TfExt>EmbeddingBagParamsGrad",
         {"gradients", "indices", "params", "dy"}, BagAttrs()},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>EmbeddingBagWeightsGrad", EmbeddingBagWeightsGradGradient);

}  // namespace
}  // namespace tensorflow_ext
