// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {
namespace {

// The size of the scratch for tensors of these sizes.
int64_t ScratchBytes(int64_t count, const int64_t* sizes) {
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

}  // namespace

EXPORT_LAUNCHER(ClipByGlobalNorm, Clip)
EXPORT_LAUNCHER(ClipByGlobalNormGrad, ClipGrad)
EXPORT_LAUNCHER(ClipByGlobalNormScratch, ScratchBytes)

}  // namespace tensorflow_ext
