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
using tensorflow::DT_INT32;
using tensorflow::FunctionDef;

// The attributes of both ops: as definitions, and in a node of one of them.
std::vector<std::string> AlignAttrDefs() {
  return {kFloatingT,
          "pooled_height: int",
          "pooled_width: int",
          "spatial_scale: float",
          "sampling_ratio: int",
          "aligned: bool"};
}

auto AlignAttrs() {
  return AttrsOfOp(
      {"T", "pooled_height", "pooled_width", "spatial_scale", "sampling_ratio", "aligned"});
}

// RoiAlign is linear in data; RoiAlignGrad is its transpose.
absl::Status RoiAlignGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"data: T", "rois: T", "dpooled: T"},
      // Ret val defs
      {"ddata: T", "drois: T"},
      // Attr defs
      AlignAttrDefs(),
      // Nodes
      {
        {{"shape"}, "Shape", {"data"}, {{"T", "$T"}, {"out_type", DT_INT32}}},
        {{"ddata"}, "TfExt>RoiAlignGrad", {"dpooled", "rois", "shape"},
         AlignAttrs()},
        {{"drois"}, "TfExt>NoGradient", {"rois"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>RoiAlign", RoiAlignGradient);

absl::Status RoiAlignGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "rois: T", "data_shape: int32", "dbackprops: T"},
      // Ret val defs
      {"dgradients: T", "drois: T", "ddata_shape: int32"},
      // Attr defs
      AlignAttrDefs(),
      // Nodes
      {
        {{"dgradients"}, "TfExt>RoiAlign", {"dbackprops", "rois"}, AlignAttrs()},
        {{"drois"}, "TfExt>NoGradient", {"rois"}, {{"T", "$T"}}},
        {{"ddata_shape"}, "TfExt>NoGradient", {"data_shape"},
         {{"T", DT_INT32}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>RoiAlignGrad", RoiAlignGradGradient);

}  // namespace
}  // namespace tensorflow_ext
