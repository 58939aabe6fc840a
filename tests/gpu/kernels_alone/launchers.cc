// The launchers of kernels that are neither elementwise nor broadcasting.

#include "tests/gpu/kernels_alone/launchers.h"

#include <cstdint>

#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"
#include "tensorflow_ext/ops/embedding_bag/embedding_bag.h"
#include "tensorflow_ext/ops/normalization/normalization.h"
#include "tensorflow_ext/ops/resampler/resampler.h"
#include "tensorflow_ext/ops/roi_align/roi_align.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"
#include "tensorflow_ext/ops/rrelu/rrelu.h"
#include "tensorflow_ext/ops/sparsemax/sparsemax.h"

namespace tensorflow_ext {
namespace {

// The size of ClipByGlobalNorm's scratch for tensors of these sizes.
int64_t ClipScratchBytes(int64_t count, const int64_t* sizes) {
  const ClipTensors tensors = {count, sizes, nullptr, nullptr, nullptr};
  return TotalUnits(tensors) * sizeof(NormSums) + sizeof(ClipGradFactors);
}

// The factors are at the start of the scratch.

int Clip(NumericType type, int64_t count, const int64_t* sizes, const void* const* values,
         void* const* outputs, double clip_norm, ClipGradFactors* scratch, void* norm,
         void* stream) {
  return LaunchClipByGlobalNorm(type, {count, sizes, values, nullptr, outputs}, clip_norm,
                                reinterpret_cast<NormSums*>(scratch + 1), scratch, norm, stream);
}

int ClipGrad(NumericType type, int64_t count, const int64_t* sizes, const void* const* gradients,
             const void* norm_gradient, const void* const* values, void* const* outputs,
             double clip_norm, ClipGradFactors* scratch, void* clip_norm_backprop, void* stream) {
  return LaunchClipByGlobalNormGrad(type, {count, sizes, values, gradients, outputs}, norm_gradient,
                                    clip_norm, reinterpret_cast<NormSums*>(scratch + 1), scratch,
                                    clip_norm_backprop, stream);
}

// The size of a normalization's partial_sums, in the compute type.
template <typename Norm>
int64_t NormScratchBytes(NumericType type, const RowDims& dims) {
  using Gpu = GpuRowNormalization<Norm>;
  const int64_t size = type == NumericType::kDouble ? 8 : 4;
  return Gpu::Parts(dims) * Gpu::kSums * dims.size * size;
}

int64_t AlignScratchBytes(NumericType type, const RegionDims& dims) {
  return static_cast<int64_t>(RoiAlignScratchBytes(type, dims));
}

}  // namespace

EXPORT_LAUNCHER(ClipByGlobalNorm, Clip)
EXPORT_LAUNCHER(ClipByGlobalNormGrad, ClipGrad)
EXPORT_LAUNCHER(ClipByGlobalNormScratch, ClipScratchBytes)
EXPORT_LAUNCHER(CorrelationCost, LaunchCorrelationCost)
EXPORT_LAUNCHER(CorrelationCostGrad, LaunchCorrelationCostGrad)
EXPORT_LAUNCHER(EmbeddingBag, LaunchEmbeddingBag)
EXPORT_LAUNCHER(EmbeddingBagParamsGrad, LaunchEmbeddingBagParamsGrad)
EXPORT_LAUNCHER(EmbeddingBagWeightsGrad, LaunchEmbeddingBagWeightsGrad)
EXPORT_LAUNCHER(LayerNorm, GpuRowNormalization<LayerNorm>::Forward)
EXPORT_LAUNCHER(LayerNormGrad, GpuRowNormalization<LayerNorm>::Backward)
EXPORT_LAUNCHER(RmsNorm, GpuRowNormalization<RmsNorm>::Forward)
EXPORT_LAUNCHER(RmsNormGrad, GpuRowNormalization<RmsNorm>::Backward)
EXPORT_LAUNCHER(LayerNormScratch, NormScratchBytes<LayerNorm>)
EXPORT_LAUNCHER(RmsNormScratch, NormScratchBytes<RmsNorm>)
EXPORT_LAUNCHER(Resample, LaunchResample)
EXPORT_LAUNCHER(ResamplerAdjoint, LaunchResamplerAdjoint)
EXPORT_LAUNCHER(ResamplerWarpGrad, LaunchResamplerWarpGrad)
EXPORT_LAUNCHER(RoiAlign, LaunchRoiAlign)
EXPORT_LAUNCHER(RoiAlignGrad, LaunchRoiAlignGrad)
EXPORT_LAUNCHER(RoiAlignScratch, AlignScratchBytes)
EXPORT_LAUNCHER(RoiPool, LaunchRoiPool)
EXPORT_LAUNCHER(RoiPoolGrad, LaunchRoiPoolGrad)
EXPORT_LAUNCHER(RoiPoolGradDeterministic, LaunchRoiPoolGradDeterministic)
EXPORT_LAUNCHER(RoiPoolGradGrad, LaunchRoiPoolGradGrad)
EXPORT_LAUNCHER(Rrelu, LaunchRrelu)
EXPORT_LAUNCHER(Sparsemax, GpuSparsemax::Forward)
EXPORT_LAUNCHER(SparsemaxGrad, GpuSparsemax::Backward)

}  // namespace tensorflow_ext
