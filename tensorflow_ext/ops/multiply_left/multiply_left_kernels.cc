// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/broadcast_op.h"
#include "tensorflow_ext/ops/multiply_left/multiply_left.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>MultiplyLeft").Device(DEVICE_CPU),
                        BroadcastCpuOp<MultiplyLeft>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>MultiplyLeft").Device(DEVICE_GPU),
                        BroadcastGpuOp<MultiplyLeft>);
#endif

}  // namespace tensorflow_ext
