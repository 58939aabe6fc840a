// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/normalization/rms_norm.h"
#include "tensorflow_ext/ops/normalization/row_normalization_cpu.h"

namespace tensorflow_ext {

template struct CpuRowNormalization<RmsNorm>;

}  // namespace tensorflow_ext
