// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/registration.h"

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
      {"T: {half, bfloat16, float, double}"},
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
        gradients[i] =
            Call("TfExt>Scale", {g.Upstream(i)}, {{"factor", factor}});
        break;
      case tensorflow::DT_COMPLEX64:
      case tensorflow::DT_COMPLEX128:
        gradients[i] = g.Upstream(i) * factor;
        break;
      default:
        break;  // none
    }
  }
  g.Return(gradients);
}
REGISTER_GRADIENT("TfExt>ReverseGradientN", ReverseGradientNGrad);

}  // namespace
}  // namespace tensorflow_ext
