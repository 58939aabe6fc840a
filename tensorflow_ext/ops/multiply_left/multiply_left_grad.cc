// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/registration.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::AttrSlice;
using tensorflow::DT_INT32;
using tensorflow::FunctionDef;

// dx = sum_to_shape_of(x, dz * y); the product's own gradient stays with dz.
absl::Status MultiplyLeftGradient(const AttrSlice& /*attrs*/, FunctionDef* g) {
  // clang-format off
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
        {{"gx"}, "TfExt>MultiplyLeft", {"dz", "y"}, {{"T", "$T"}}},
        {{"sum_gx"}, "Sum", {"gx", "rx"},
         {{"T", "$T"}, {"Tidx", DT_INT32}, {"keep_dims", false}}},
        {{"dx"}, "Reshape", {"sum_gx", "sx"},
         {{"T", "$T"}, {"Tshape", DT_INT32}}},
        {{"dy"}, "TfExt>NoGradient", {"y"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("TfExt>MultiplyLeft", MultiplyLeftGradient);

}  // namespace
}  // namespace tensorflow_ext
