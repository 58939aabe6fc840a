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

// Each bin's gradient goes to the element that was its maximum. argmax is the forward op's own
// output: expansion recognises the node "forward" and reuses its outputs.
absl::Status RoiPoolGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"data: T", "rois: T", "dpooled: T", "dargmax: int32"},
      // Ret val defs
      {"ddata: T", "drois: T"},
      // Attr defs
      {kFloatingT, "pooled_height: int", "pooled_width: int",
       "spatial_scale: float"},
      // Nodes
      {
        {{"pooled", "argmax"}, "TfExt>RoiPool", {"data", "rois"},
         AttrsOfOp({"T", "pooled_height", "pooled_width", "spatial_scale"})},
        {{"shape"}, "Shape", {"data"}, {{"T", "$T"}, {"out_type", DT_INT32}}},
        {{"ddata"}, "TfExt>RoiPoolGrad", {"dpooled", "rois", "argmax", "shape"},
         {{"T", "$T"}}},
        {{"drois"}, "TfExt>NoGradient", {"rois"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>RoiPool", RoiPoolGradient);

// A scatter-add and a gather over the same indices are each other's transpose.
absl::Status RoiPoolGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "rois: T", "argmax: int32", "data_shape: int32",
       "dbackprops: T"},
      // Ret val defs
      {"dgradients: T", "drois: T", "dargmax: int32", "ddata_shape: int32"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"dgradients"}, "TfExt>RoiPoolGradGrad",
         {"dbackprops", "rois", "argmax"}, {{"T", "$T"}}},
        {{"drois"}, "TfExt>NoGradient", {"rois"}, {{"T", "$T"}}},
        {{"dargmax"}, "TfExt>NoGradient", {"argmax"}, {{"T", DT_INT32}}},
        {{"ddata_shape"}, "TfExt>NoGradient", {"data_shape"},
         {{"T", DT_INT32}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>RoiPoolGrad", RoiPoolGradGradient);

absl::Status RoiPoolGradGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "rois: T", "argmax: int32", "dbackprops: T"},
      // Ret val defs
      {"dgradients: T", "drois: T", "dargmax: int32"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"shape"}, "Shape", {"gradients"},
         {{"T", "$T"}, {"out_type", DT_INT32}}},
        {{"dgradients"}, "TfExt>RoiPoolGrad",
         {"dbackprops", "rois", "argmax", "shape"}, {{"T", "$T"}}},
        {{"drois"}, "TfExt>NoGradient", {"rois"}, {{"T", "$T"}}},
        {{"dargmax"}, "TfExt>NoGradient", {"argmax"}, {{"T", DT_INT32}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>RoiPoolGradGrad", RoiPoolGradGradGradient);

}  // namespace
}  // namespace tensorflow_ext
