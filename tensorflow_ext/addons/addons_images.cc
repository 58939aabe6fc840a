#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

// ----- Resampler. -----

absl::Status Resampler(const AttrSlice& /*attrs*/, FunctionDef* function) {
  // clang-format off
  return Define(
      // Arg defs
      {"data: T", "warp: T"},
      // Ret val defs
      {"output: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"output"}, "TfExt>Resampler", {"data", "warp"}, {{"T", "$T"}}},
      }, function);
  // clang-format on
}

absl::Status ResamplerGrad(const AttrSlice& /*attrs*/, FunctionDef* function) {
  // clang-format off
  return Define(
      // Arg defs
      {"data: T", "warp: T", "grad_output: T"},
      // Ret val defs
      {"grad_data: T", "grad_warp: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"grad_data", "grad_warp"}, "TfExt>ResamplerGrad",
         {"grad_output", "data", "warp"}, {{"T", "$T"}}},
      }, function);
  // clang-format on
}

// ----- CorrelationCost. -----

using Nodes = std::vector<FDH::Node>;

const std::vector<std::string>& CostAttrs() {
  static const auto* names = new std::vector<std::string>{"kernel_size", "max_displacement",
                                                          "stride_1", "stride_2", "pad"};
  return *names;
}

std::vector<std::string> CostAttrDefs() {
  std::vector<std::string> defs = {kFloatingT};
  for (const std::string& name : CostAttrs()) defs.push_back(name + ": int");
  return defs;
}

// A node of one of our ops.
FDH::Node Costs(const std::string& name, const char* op, std::vector<std::string> inputs) {
  std::vector<std::string> names = CostAttrs();
  names.push_back("T");
  return {{name}, op, std::move(inputs), AttrsOfOp(names)};
}

// The channels of our images and costs come last.
FDH::Node FirstToLast() {
  return FDH::Const("first_to_last", absl::Span<const int32_t>({0, 2, 3, 1}));
}
FDH::Node LastToFirst() {
  return FDH::Const("last_to_first", absl::Span<const int32_t>({0, 3, 1, 2}));
}
FDH::Node Transpose(const char* name, const std::string& input, const char* axes) {
  return {{name}, "Transpose", {input, axes}, {{"T", "$T"}, {"Tperm", tensorflow::DT_INT32}}};
}

bool ChannelsFirst(const AttrSlice& attrs) {
  std::string data_format;
  tensorflow::TryGetNodeAttr(attrs, "data_format", &data_format);
  return data_format == "NCHW";
}

// The output is [N, D * D, OH, OW] for either layout of the images.
absl::Status CorrelationCost(const AttrSlice& attrs, FunctionDef* function) {
  Nodes nodes = {LastToFirst()};
  std::vector<std::string> images = {"input_a", "input_b"};
  if (ChannelsFirst(attrs)) {
    nodes.push_back(FirstToLast());
    nodes.push_back(Transpose("a", images[0], "first_to_last"));
    nodes.push_back(Transpose("b", images[1], "first_to_last"));
    images = {"a", "b"};
  }
  nodes.push_back(Costs("costs", "TfExt>CorrelationCost", images));
  nodes.push_back(Transpose("output", "costs", "last_to_first"));
  return Define({"input_a: T", "input_b: T"}, {"output: T"}, CostAttrDefs(), nodes, function);
}

absl::Status CorrelationCostGrad(const AttrSlice& attrs, FunctionDef* function) {
  Nodes nodes = {FirstToLast(), Transpose("gradients", "top_diff", "first_to_last")};
  const bool channels_first = ChannelsFirst(attrs);
  std::vector<std::string> images = {"orig_input_a", "orig_input_b"};
  std::vector<std::string> results = {"bottom_diff_a", "bottom_diff_b"};
  if (channels_first) {
    nodes.push_back(Transpose("a", images[0], "first_to_last"));
    nodes.push_back(Transpose("b", images[1], "first_to_last"));
    images = {"a", "b"};
    results = {"da", "db"};
  }
  nodes.push_back(Costs(results[0], "TfExt>CorrelationCostAGrad", {"gradients", images[1]}));
  nodes.push_back(Costs(results[1], "TfExt>CorrelationCostBGrad", {"gradients", images[0]}));
  if (channels_first) {
    nodes.push_back(LastToFirst());
    nodes.push_back(Transpose("bottom_diff_a", "da", "last_to_first"));
    nodes.push_back(Transpose("bottom_diff_b", "db", "last_to_first"));
  }
  return Define({"orig_input_a: T", "orig_input_b: T", "top_diff: T"},
                {"bottom_diff_a: T", "bottom_diff_b: T"}, CostAttrDefs(), nodes, function);
}

OpDefBuilder& AddCostAttrs(OpDefBuilder& op) {
  for (const std::string& attr_def : CostAttrDefs()) op.Attr(attr_def);
  return op.Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'");
}

std::vector<CompositeOp> MakeImages() {
  return {
      {"Addons>Resampler", "TfExt>Resampler",
       [](OpDefBuilder& op) {
         op.Input("data: T")
             .Input("warp: T")
             .Output("output: T")
             .Attr(kFloatingT)
             .Doc(
                 "TensorFlow Addons' op of this name: TfExt>Resampler, and its "
                 "gradients.");
       },
       Resampler},
      {"Addons>ResamplerGrad", "TfExt>ResamplerGrad",
       [](OpDefBuilder& op) {
         op.Input("data: T")
             .Input("warp: T")
             .Input("grad_output: T")
             .Output("grad_data: T")
             .Output("grad_warp: T")
             .Attr(kFloatingT)
             .Doc(
                 "TensorFlow Addons' op of this name: TfExt>ResamplerGrad, and "
                 "its gradients.");
       },
       ResamplerGrad},
      {"Addons>CorrelationCost", "TfExt>CorrelationCost",
       [](OpDefBuilder& op) {
         AddCostAttrs(op.Input("input_a: T").Input("input_b: T").Output("output: T")).Doc(R"doc(
TensorFlow Addons' op of this name, TfExt>CorrelationCost, and its gradients.

input_a: First images, in the layout data_format.
input_b: Second images, the same shape.
output: [N, D * D, OH, OW] for either layout.
)doc");
       },
       CorrelationCost},
      {"Addons>CorrelationCostGrad", "TfExt>CorrelationCostAGrad",
       [](OpDefBuilder& op) {
         AddCostAttrs(op.Input("orig_input_a: T")
                          .Input("orig_input_b: T")
                          .Input("top_diff: T")
                          .Output("bottom_diff_a: T")
                          .Output("bottom_diff_b: T"))
             .Doc(R"doc(
TensorFlow Addons' op of this name, TfExt>CorrelationCostAGrad and
TfExt>CorrelationCostBGrad, and their gradients.

orig_input_a: First images, in the layout data_format.
orig_input_b: Second images, the same shape.
top_diff: Upstream gradient of the output, [N, D * D, OH, OW] for either layout.
bottom_diff_a: Gradient with respect to the first images.
bottom_diff_b: Gradient with respect to the second images.
)doc");
       },
       CorrelationCostGrad},
  };
}

}  // namespace

const std::vector<CompositeOp>& AddonsImages() {
  static const auto* ops = new std::vector<CompositeOp>(MakeImages());
  return *ops;
}

}  // namespace tensorflow_ext
