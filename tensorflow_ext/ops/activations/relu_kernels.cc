// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/ops/activations/relu.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>Relu").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Relu>);
REGISTER_KERNEL_BUILDER(Name("TfExt>ReluGrad").Device(DEVICE_CPU),
                        ElementwiseCpuOp<ReluGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>Relu").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Relu>);
REGISTER_KERNEL_BUILDER(Name("TfExt>ReluGrad").Device(DEVICE_GPU),
                        ElementwiseGpuOp<ReluGrad>);
#endif

}  // namespace tensorflow_ext
