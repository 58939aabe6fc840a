// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/broadcast_op.h"
#include "tensorflow_ext/ops/snake/snake.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>Snake").Device(DEVICE_CPU), BroadcastCpuOp<Snake>);
REGISTER_KERNEL_BUILDER(Name("TfExt>SnakeGrad").Device(DEVICE_CPU), BroadcastCpuOp<SnakeGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>Snake").Device(DEVICE_GPU), BroadcastGpuOp<Snake>);
REGISTER_KERNEL_BUILDER(Name("TfExt>SnakeGrad").Device(DEVICE_GPU), BroadcastGpuOp<SnakeGrad>);
#endif

}  // namespace tensorflow_ext
