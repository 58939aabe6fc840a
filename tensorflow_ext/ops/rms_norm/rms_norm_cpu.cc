// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/row_normalization_cpu.h"
#include "tensorflow_ext/ops/rms_norm/rms_norm.h"

namespace tensorflow_ext {

template struct CpuRowNormalization<RmsNorm>;

}  // namespace tensorflow_ext
