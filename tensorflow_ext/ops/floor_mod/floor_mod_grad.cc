// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow_ext/registration.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::DataType;
using tensorflow::DT_INT32;
using tensorflow::FunctionDef;

// dx = sum_to_shape_of(x, dz); dy = sum_to_shape_of(y, -floor(x / y) * dz).
absl::Status FloorModGradient(const AttrSlice& attrs, FunctionDef* g) {
  DataType type;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attrs, "T", &type));
  // clang-format off
  if (tensorflow::DataTypeIsInteger(type)) {
    *g = FDH::Define(
        // Arg defs
        {"x: T", "y: T", "dz: T"},
        // Ret val defs
        {"dx: T", "dy: T"},
        // Attr defs
        {"T: {int32, int64}"},
        // Nodes
        {
          {{"dx"}, "TfExt>NoGradient", {"x"}, {{"T", "$T"}}},
          {{"dy"}, "TfExt>NoGradient", {"y"}, {{"T", "$T"}}},
        });
    return absl::OkStatus();
  }
  *g = FDH::Define(
      // Arg defs
      {"x: T", "y: T", "dz: T"},
      // Ret val defs
      {"dx: T", "dy: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"sx"}, "Shape", {"x"}, {{"T", "$T"}, {"out_type", DT_INT32}}},
        {{"sy"}, "Shape", {"y"}, {{"T", "$T"}, {"out_type", DT_INT32}}},
        {{"rx", "ry"}, "BroadcastGradientArgs", {"sx", "sy"},
         {{"T", DT_INT32}}},
        {{"sum_gx"}, "Sum", {"dz", "rx"},
         {{"T", "$T"}, {"Tidx", DT_INT32}, {"keep_dims", false}}},
        {{"dx"}, "Reshape", {"sum_gx", "sx"},
         {{"T", "$T"}, {"Tshape", DT_INT32}}},
        {{"gy"}, "TfExt>FloorModGrad", {"dz", "x", "y"}, {{"T", "$T"}}},
        {{"sum_gy"}, "Sum", {"gy", "ry"},
         {{"T", "$T"}, {"Tidx", DT_INT32}, {"keep_dims", false}}},
        {{"dy"}, "Reshape", {"sum_gy", "sy"},
         {{"T", "$T"}, {"Tshape", DT_INT32}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>FloorMod", FloorModGradient);

// Linear in its upstream gradient; floor(x / y) is constant between its steps.
absl::Status FloorModGradGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"gradients: T", "x: T", "y: T", "dbackprops: T"},
      // Ret val defs
      {"dgradients: T", "dx: T", "dy: T"},
      // Attr defs
      {kFloatingT},
      // Nodes
      {
        {{"dgradients"}, "TfExt>FloorModGrad", {"dbackprops", "x", "y"},
         {{"T", "$T"}}},
        {{"dx"}, "TfExt>NoGradient", {"x"}, {{"T", "$T"}}},
        {{"dy"}, "TfExt>NoGradient", {"y"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>FloorModGrad", FloorModGradGradient);

}  // namespace
}  // namespace tensorflow_ext
