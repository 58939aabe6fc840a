// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/normalization/layer_norm.h"
#include "tensorflow_ext/ops/normalization/row_normalization_op.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>LayerNorm").Device(DEVICE_CPU),
                        RowNormalizationCpuOp<LayerNorm>);
REGISTER_KERNEL_BUILDER(Name("TfExt>LayerNormGrad").Device(DEVICE_CPU),
                        RowNormalizationGradCpuOp<LayerNorm>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>LayerNorm").Device(DEVICE_GPU),
                        RowNormalizationGpuOp<LayerNorm>);
REGISTER_KERNEL_BUILDER(Name("TfExt>LayerNormGrad").Device(DEVICE_GPU),
                        RowNormalizationGradGpuOp<LayerNorm>);
#endif

}  // namespace tensorflow_ext
