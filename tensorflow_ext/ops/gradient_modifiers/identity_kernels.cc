// The OpKernels of the ops that are the identity and exist for their gradient. They pass on the
// inputs' buffers without a copy, so CPU and GPU share them.

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/same_shape.h"

namespace tensorflow_ext {

using tensorflow::OpKernelConstruction;

#define REGISTER_IDENTITY(op, Kernel)                                       \
  REGISTER_KERNEL_BUILDER(Name(op).Device(tensorflow::DEVICE_CPU), Kernel); \
  REGISTER_KERNEL_BUILDER(Name(op).Device(tensorflow::DEVICE_GPU), Kernel)

namespace {

// Each output is the input of the same index.
class IdentityOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    for (int i = 0; i < context->num_outputs(); ++i) {
      context->set_output(i, context->input(i));
    }
  }

  // The op is too cheap for its own thread.
  bool IsExpensive() override { return false; }
};

class ScaledGradientOp : public IdentityOp {
 public:
  explicit ScaledGradientOp(OpKernelConstruction* context) : IdentityOp(context) {
    float scale;
    OP_REQUIRES_OK(context, GetFiniteAttr(context, type_string().c_str(), "scale", &scale));
  }
};
REGISTER_IDENTITY("TfExt>ReverseGradient", ScaledGradientOp);
REGISTER_IDENTITY("TfExt>ReverseGradientN", ScaledGradientOp);
REGISTER_IDENTITY("TfExt>ScaleGradient", ScaledGradientOp);

class ClipGradientOp : public IdentityOp {
 public:
  explicit ClipGradientOp(OpKernelConstruction* context) : IdentityOp(context) {
    float min, max;
    OP_REQUIRES_OK(context, GetRangeAttrs(context, "TfExt>ClipGradient", &min, &max));
  }
};
REGISTER_IDENTITY("TfExt>ClipGradient", ClipGradientOp);

class StraightThroughOp : public IdentityOp {
 public:
  using IdentityOp::IdentityOp;

  void Compute(tensorflow::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckSameShape(type_string(), context->input(0).shape(),
                                           context->input(1).shape()));
    IdentityOp::Compute(context);
  }
};
REGISTER_IDENTITY("TfExt>StraightThrough", StraightThroughOp);

}  // namespace
}  // namespace tensorflow_ext
