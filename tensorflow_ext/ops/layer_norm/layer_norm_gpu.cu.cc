// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/row_normalization_gpu.cuh"
#include "tensorflow_ext/ops/layer_norm/layer_norm.h"

namespace tensorflow_ext {

template struct GpuRowNormalization<LayerNorm>;

}  // namespace tensorflow_ext
