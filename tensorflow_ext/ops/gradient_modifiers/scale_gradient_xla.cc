// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_xla.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernelConstruction;

class ScaleXlaOp : public ElementwiseXlaOp {
 public:
  explicit ScaleXlaOp(OpKernelConstruction* context)
      : ElementwiseXlaOp(context) {
    OP_REQUIRES_OK(context,
                   GetFiniteAttr(context, "TfExt>Scale", "factor", &factor_));
  }

 private:
  xla::XlaOp Lower(xla::XlaOp x, xla::XlaOp) const override {
    return xla::Mul(x, Scalar(x, factor_));
  }

  float factor_;
};
REGISTER_XLA_OP(Name("TfExt>Scale"), ScaleXlaOp);

class ScaleGradientXlaOp : public IdentityXlaOp {
 public:
  explicit ScaleGradientXlaOp(OpKernelConstruction* context)
      : IdentityXlaOp(context) {
    float scale;
    OP_REQUIRES_OK(context, GetFiniteAttr(context, "TfExt>ScaleGradient",
                                          "scale", &scale));
  }
};
REGISTER_XLA_OP(Name("TfExt>ScaleGradient"), ScaleGradientXlaOp);

}  // namespace
}  // namespace tensorflow_ext
