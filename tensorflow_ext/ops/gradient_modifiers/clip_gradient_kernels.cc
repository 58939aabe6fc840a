// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/kernels/identity_op.h"
#include "tensorflow_ext/ops/gradient_modifiers/clip_gradient.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;
using tensorflow::OpKernelConstruction;

absl::Status ReadAttributes(OpKernelConstruction* context, Clip* functor) {
  return GetRangeAttrs(context, "TfExt>Clip", &functor->min, &functor->max);
}

absl::Status ReadAttributes(OpKernelConstruction* context, ClipGrad* functor) {
  return GetRangeAttrs(context, "TfExt>ClipGrad", &functor->min, &functor->max);
}

REGISTER_KERNEL_BUILDER(Name("TfExt>Clip").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Clip>);
REGISTER_KERNEL_BUILDER(Name("TfExt>ClipGrad").Device(DEVICE_CPU),
                        ElementwiseCpuOp<ClipGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>Clip").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Clip>);
REGISTER_KERNEL_BUILDER(Name("TfExt>ClipGrad").Device(DEVICE_GPU),
                        ElementwiseGpuOp<ClipGrad>);
#endif

namespace {

class ClipGradientOp : public IdentityOp {
 public:
  explicit ClipGradientOp(OpKernelConstruction* context) : IdentityOp(context) {
    float min, max;
    OP_REQUIRES_OK(context,
                   GetRangeAttrs(context, "TfExt>ClipGradient", &min, &max));
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>ClipGradient").Device(DEVICE_CPU),
                        ClipGradientOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ClipGradient").Device(DEVICE_GPU),
                        ClipGradientOp);

}  // namespace
}  // namespace tensorflow_ext
