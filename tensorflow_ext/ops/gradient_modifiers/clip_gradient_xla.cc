// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_xla.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernelConstruction;

class ClipXlaOp : public ElementwiseXlaOp {
 public:
  explicit ClipXlaOp(OpKernelConstruction* context)
      : ElementwiseXlaOp(context) {
    OP_REQUIRES_OK(context, GetRangeAttrs(context, "TfExt>Clip", &min_, &max_));
  }

 private:
  // Not xla::Clamp, which leaves open what it makes of NaN.
  xla::XlaOp Lower(xla::XlaOp x, xla::XlaOp) const override {
    const xla::XlaOp at_least_min =
        xla::Select(xla::Lt(x, Scalar(x, min_)), xla::FullLike(x, min_), x);
    return xla::Select(xla::Gt(at_least_min, Scalar(x, max_)),
                       xla::FullLike(x, max_), at_least_min);
  }

  float min_, max_;
};
REGISTER_XLA_OP(Name("TfExt>Clip"), ClipXlaOp);

class ClipGradXlaOp : public ElementwiseXlaOp {
 public:
  explicit ClipGradXlaOp(OpKernelConstruction* context)
      : ElementwiseXlaOp(context) {
    OP_REQUIRES_OK(context,
                   GetRangeAttrs(context, "TfExt>ClipGrad", &min_, &max_));
  }

 private:
  xla::XlaOp Lower(xla::XlaOp dy, xla::XlaOp x) const override {
    const xla::XlaOp inside =
        xla::And(xla::Ge(x, Scalar(x, min_)), xla::Le(x, Scalar(x, max_)));
    return xla::Select(inside, dy, xla::ZerosLike(dy));
  }

  float min_, max_;
};
REGISTER_XLA_OP(Name("TfExt>ClipGrad"), ClipGradXlaOp);

class ClipGradientXlaOp : public IdentityXlaOp {
 public:
  explicit ClipGradientXlaOp(OpKernelConstruction* context)
      : IdentityXlaOp(context) {
    float min, max;
    OP_REQUIRES_OK(context,
                   GetRangeAttrs(context, "TfExt>ClipGradient", &min, &max));
  }
};
REGISTER_XLA_OP(Name("TfExt>ClipGradient"), ClipGradientXlaOp);

}  // namespace
}  // namespace tensorflow_ext
