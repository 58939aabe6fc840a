// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/normalization/rms_norm.h"
#include "tensorflow_ext/ops/normalization/row_normalization_gpu.cuh"

namespace tensorflow_ext {

template struct GpuRowNormalization<RmsNorm>;

}  // namespace tensorflow_ext
