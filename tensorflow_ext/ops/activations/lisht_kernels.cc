// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/ops/activations/lisht.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>Lisht").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Lisht>);
REGISTER_KERNEL_BUILDER(Name("TfExt>LishtGrad").Device(DEVICE_CPU),
                        ElementwiseCpuOp<LishtGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>Lisht").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Lisht>);
REGISTER_KERNEL_BUILDER(Name("TfExt>LishtGrad").Device(DEVICE_GPU),
                        ElementwiseGpuOp<LishtGrad>);
#endif

}  // namespace tensorflow_ext
