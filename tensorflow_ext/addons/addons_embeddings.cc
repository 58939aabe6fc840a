#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "tensorflow_ext/addons/addons_ops.h"
#include "tensorflow_ext/gradient/define.h"
#include "tensorflow_ext/gradient/define/definition_parts.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::FunctionDef;
using tensorflow::OpDefBuilder;

std::vector<std::string> AttrDefs() { return {kFloatingT, "Tindices: {int32, int64}"}; }

// The attributes of our ops, whose combiners are lowercase.
auto Attrs(const AttrSlice& attrs) {
  std::string combiner;
  tensorflow::TryGetNodeAttr(attrs, "combiner", &combiner);
  auto parts = AttrsOfOp({"T", "Tindices"});
  parts.emplace_back("combiner", absl::AsciiStrToLower(combiner));
  return parts;
}

absl::Status EmbeddingBag(const AttrSlice& attrs, FunctionDef* function) {
  // clang-format off
  return Define(
      // Arg defs
      {"indices: Tindices", "params: T", "weights: T"},
      // Ret val defs
      {"output: T"},
      // Attr defs
      AttrDefs(),
      // Nodes
      {
        {{"output"}, "TfExt>EmbeddingBag", {"indices", "params", "weights"},
         Attrs(attrs)},
      }, function);
  // clang-format on
}

absl::Status EmbeddingBagGrad(const AttrSlice& attrs, FunctionDef* function) {
  // clang-format off
  return Define(
      // Arg defs
      {"indices: Tindices", "params: T", "weights: T", "grads: T"},
      // Ret val defs
      {"params_grads: T", "weights_grads: T"},
      // Attr defs
      AttrDefs(),
      // Nodes
      {
        {{"params_grads"}, "TfExt>EmbeddingBagParamsGrad",
         {"grads", "indices", "params", "weights"}, Attrs(attrs)},
        {{"weights_grads"}, "TfExt>EmbeddingBagWeightsGrad",
         {"grads", "indices", "params"}, Attrs(attrs)},
      }, function);
  // clang-format on
}

OpDefBuilder& AddAttrs(OpDefBuilder& op) {
  for (const std::string& attr_def : AttrDefs()) op.Attr(attr_def);
  return op.Attr("combiner: {'SUM', 'MEAN'} = 'SUM'");
}

std::vector<CompositeOp> MakeEmbeddings() {
  return {
      {"Addons>EmbeddingBag", "TfExt>EmbeddingBag",
       [](OpDefBuilder& op) {
         AddAttrs(op.Input("indices: Tindices")
                      .Input("params: T")
                      .Input("weights: T")
                      .Output("output: T"))
             .Doc(
                 "TensorFlow Addons' op of this name: TfExt>EmbeddingBag, and "
                 "its gradients.");
       },
       EmbeddingBag},
      {"Addons>EmbeddingBagGrad", "TfExt>EmbeddingBagParamsGrad",
       [](OpDefBuilder& op) {
         AddAttrs(op.Input("indices: Tindices")
                      .Input("params: T")
                      .Input("weights: T")
                      .Input("grads: T")
                      .Output("params_grads: T")
                      .Output("weights_grads: T"))
             .Doc(
                 "TensorFlow Addons' op of this name: "
                 "TfExt>EmbeddingBagParamsGrad and "
                 "TfExt>EmbeddingBagWeightsGrad, and their gradients.");
       },
       EmbeddingBagGrad},
  };
}

}  // namespace

const std::vector<CompositeOp>& AddonsEmbeddings() {
  static const auto* ops = new std::vector<CompositeOp>(MakeEmbeddings());
  return *ops;
}

}  // namespace tensorflow_ext
