// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/ops/activations/mish.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>Mish").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Mish>);
REGISTER_KERNEL_BUILDER(Name("TfExt>MishGrad").Device(DEVICE_CPU),
                        ElementwiseCpuOp<MishGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>Mish").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Mish>);
REGISTER_KERNEL_BUILDER(Name("TfExt>MishGrad").Device(DEVICE_GPU),
                        ElementwiseGpuOp<MishGrad>);
#endif

}  // namespace tensorflow_ext
