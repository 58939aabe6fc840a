// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/ops/activations/swiglu.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>SwiGlu").Device(DEVICE_CPU),
                        ElementwiseCpuOp<SwiGlu>);
REGISTER_KERNEL_BUILDER(Name("TfExt>SwiGluGrad").Device(DEVICE_CPU),
                        ElementwiseCpuOp<SwiGluGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>SwiGlu").Device(DEVICE_GPU),
                        ElementwiseGpuOp<SwiGlu>);
REGISTER_KERNEL_BUILDER(Name("TfExt>SwiGluGrad").Device(DEVICE_GPU),
                        ElementwiseGpuOp<SwiGluGrad>);
#endif

}  // namespace tensorflow_ext
