// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/normalization/normalization.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {
namespace {

// The size of partial_sums, in the compute type.
template <typename Norm>
int64_t ScratchBytes(NumericType type, const RowDims& dims) {
  using Gpu = GpuRowNormalization<Norm>;
  const int64_t size = type == NumericType::kDouble ? 8 : 4;
  return Gpu::Parts(dims) * Gpu::kSums * dims.size * size;
}

}  // namespace

EXPORT_LAUNCHER(LayerNorm, GpuRowNormalization<LayerNorm>::Forward)
EXPORT_LAUNCHER(LayerNormGrad, GpuRowNormalization<LayerNorm>::Backward)
EXPORT_LAUNCHER(RmsNorm, GpuRowNormalization<RmsNorm>::Forward)
EXPORT_LAUNCHER(RmsNormGrad, GpuRowNormalization<RmsNorm>::Backward)
EXPORT_LAUNCHER(LayerNormScratch, ScratchBytes<LayerNorm>)
EXPORT_LAUNCHER(RmsNormScratch, ScratchBytes<RmsNorm>)

}  // namespace tensorflow_ext
