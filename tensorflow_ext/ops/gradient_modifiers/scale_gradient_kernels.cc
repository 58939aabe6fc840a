// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/kernels/identity_op.h"
#include "tensorflow_ext/ops/gradient_modifiers/scale_gradient.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;
using tensorflow::OpKernelConstruction;

absl::Status ReadAttributes(OpKernelConstruction* context, Scale* functor) {
  return GetFiniteAttr(context, "TfExt>Scale", "factor", &functor->factor);
}

REGISTER_KERNEL_BUILDER(Name("TfExt>Scale").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Scale>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>Scale").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Scale>);
#endif

namespace {

class ScaleGradientOp : public IdentityOp {
 public:
  explicit ScaleGradientOp(OpKernelConstruction* context)
      : IdentityOp(context) {
    float scale;
    OP_REQUIRES_OK(context, GetFiniteAttr(context, "TfExt>ScaleGradient",
                                          "scale", &scale));
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>ScaleGradient").Device(DEVICE_CPU),
                        ScaleGradientOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ScaleGradient").Device(DEVICE_GPU),
                        ScaleGradientOp);

}  // namespace
}  // namespace tensorflow_ext
