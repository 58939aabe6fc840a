// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/ops/gradient_modifiers/round_straight_through.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>RoundStraightThrough").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Round>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>RoundStraightThrough").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Round>);
#endif

}  // namespace tensorflow_ext
