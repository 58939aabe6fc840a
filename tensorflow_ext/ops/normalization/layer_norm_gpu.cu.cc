// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/normalization/layer_norm.h"
#include "tensorflow_ext/ops/normalization/row_normalization_gpu.cuh"

namespace tensorflow_ext {

template struct GpuRowNormalization<LayerNorm>;

}  // namespace tensorflow_ext
