// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_xla.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernelConstruction;

class SignXlaOp : public ElementwiseXlaOp {
 public:
  explicit SignXlaOp(OpKernelConstruction* context)
      : ElementwiseXlaOp(context) {
    float clip;
    OP_REQUIRES_OK(
        context,
        GetPositiveAttr(context, "TfExt>SignStraightThrough", "clip", &clip));
  }

 private:
  xla::XlaOp Lower(xla::XlaOp x, xla::XlaOp) const override {
    const xla::XlaOp positive_or_x =
        xla::Select(xla::Gt(x, Scalar(x, 0)), xla::FullLike(x, 1), x);
    return xla::Select(xla::Lt(x, Scalar(x, 0)), xla::FullLike(x, -1),
                       positive_or_x);
  }
};
REGISTER_XLA_OP(Name("TfExt>SignStraightThrough"), SignXlaOp);

class SignGradXlaOp : public ElementwiseXlaOp {
 public:
  explicit SignGradXlaOp(OpKernelConstruction* context)
      : ElementwiseXlaOp(context) {
    OP_REQUIRES_OK(context,
                   GetPositiveAttr(context, "TfExt>SignStraightThroughGrad",
                                   "clip", &clip_));
  }

 private:
  xla::XlaOp Lower(xla::XlaOp dy, xla::XlaOp x) const override {
    return xla::Select(xla::Le(xla::Abs(x), Scalar(x, clip_)), dy,
                       xla::ZerosLike(dy));
  }

  float clip_;
};
REGISTER_XLA_OP(Name("TfExt>SignStraightThroughGrad"), SignGradXlaOp);

}  // namespace
}  // namespace tensorflow_ext
