// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/normalization/rms_norm.h"
#include "tensorflow_ext/ops/normalization/row_normalization_op.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>RmsNorm").Device(DEVICE_CPU),
                        RowNormalizationCpuOp<RmsNorm>);
REGISTER_KERNEL_BUILDER(Name("TfExt>RmsNormGrad").Device(DEVICE_CPU),
                        RowNormalizationGradCpuOp<RmsNorm>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>RmsNorm").Device(DEVICE_GPU),
                        RowNormalizationGpuOp<RmsNorm>);
REGISTER_KERNEL_BUILDER(Name("TfExt>RmsNormGrad").Device(DEVICE_GPU),
                        RowNormalizationGradGpuOp<RmsNorm>);
#endif

}  // namespace tensorflow_ext
