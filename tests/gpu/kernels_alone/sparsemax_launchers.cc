// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/sparsemax/sparsemax.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {

EXPORT_LAUNCHER(Sparsemax, GpuSparsemax::Forward)
EXPORT_LAUNCHER(SparsemaxGrad, GpuSparsemax::Backward)

}  // namespace tensorflow_ext
