// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_xla.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

class ReverseGradientXlaOp : public IdentityXlaOp {
 public:
  explicit ReverseGradientXlaOp(tensorflow::OpKernelConstruction* context)
      : IdentityXlaOp(context) {
    float scale;
    OP_REQUIRES_OK(context, GetFiniteAttr(context, "TfExt>ReverseGradient",
                                          "scale", &scale));
  }
};
REGISTER_XLA_OP(Name("TfExt>ReverseGradient"), ReverseGradientXlaOp);

class ReverseGradientNXlaOp : public tensorflow::XlaOpKernel {
 public:
  explicit ReverseGradientNXlaOp(tensorflow::OpKernelConstruction* context)
      : XlaOpKernel(context) {
    float scale;
    OP_REQUIRES_OK(context, GetFiniteAttr(context, "TfExt>ReverseGradientN",
                                          "scale", &scale));
  }

  // Not by SetOutput: resources and tensor lists are more than an XlaOp.
  void Compile(tensorflow::XlaOpKernelContext* context) override {
    tensorflow::OpKernelContext* kernel_context = context->op_kernel_context();
    for (int i = 0; i < context->num_inputs(); ++i) {
      kernel_context->set_output(i, kernel_context->input(i));
    }
  }
};
REGISTER_XLA_OP(Name("TfExt>ReverseGradientN")
                    .AllowResourceTypes()
                    .AllowStringType()
                    .AllowVariantTypes(),
                ReverseGradientNXlaOp);

}  // namespace
}  // namespace tensorflow_ext
