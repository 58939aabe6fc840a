// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/ops/gradient_modifiers/sign_straight_through.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;
using tensorflow::OpKernelConstruction;

absl::Status ReadAttributes(OpKernelConstruction* context,
                            SignStraightThroughGrad* functor) {
  return GetPositiveAttr(context, "TfExt>SignStraightThroughGrad", "clip",
                         &functor->clip);
}

// The forward op has no use for the attribute of its gradient.
absl::Status ReadAttributes(OpKernelConstruction* context, Sign* /*functor*/) {
  float clip;
  return GetPositiveAttr(context, "TfExt>SignStraightThrough", "clip", &clip);
}

REGISTER_KERNEL_BUILDER(Name("TfExt>SignStraightThrough").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Sign>);
REGISTER_KERNEL_BUILDER(
    Name("TfExt>SignStraightThroughGrad").Device(DEVICE_CPU),
    ElementwiseCpuOp<SignStraightThroughGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>SignStraightThrough").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Sign>);
REGISTER_KERNEL_BUILDER(
    Name("TfExt>SignStraightThroughGrad").Device(DEVICE_GPU),
    ElementwiseGpuOp<SignStraightThroughGrad>);
#endif

}  // namespace tensorflow_ext
