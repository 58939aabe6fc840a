// SPDX-License-Identifier: Apache-2.0
//
// ClipByGlobalNorm's launchers as plain C: clip_by_global_norm_checks.py calls
// them. They return a cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm.h"

namespace tensorflow_ext {
#pragma GCC visibility push(default)
extern "C" {

// Bytes of the scratch of tensors of these sizes.
int Kernel_ClipScratch(int64_t count, const int64_t* sizes, int64_t* bytes) {
  const ClipTensors tensors = {count, sizes, nullptr, nullptr, nullptr};
  *bytes = TotalUnits(tensors) * sizeof(NormSums) + sizeof(ClipGradFactors);
  return 0;
}

// The factors lie first in the scratch.

int Kernel_ClipByGlobalNorm(int32_t type, int64_t count, const int64_t* sizes,
                            const void* const* values, void* const* outputs,
                            double clip_norm, void* scratch, void* norm,
                            void* stream) {
  ClipGradFactors* factors = static_cast<ClipGradFactors*>(scratch);
  NormSums* sums = reinterpret_cast<NormSums*>(factors + 1);
  return LaunchClipByGlobalNorm(static_cast<NumericType>(type),
                                {count, sizes, values, nullptr, outputs},
                                clip_norm, sums, factors, norm, stream);
}

int Kernel_ClipByGlobalNormGrad(int32_t type, int64_t count,
                                const int64_t* sizes,
                                const void* const* gradients,
                                const void* norm_gradient,
                                const void* const* values, void* const* outputs,
                                double clip_norm, void* scratch,
                                void* clip_norm_backprop, void* stream) {
  ClipGradFactors* factors = static_cast<ClipGradFactors*>(scratch);
  NormSums* sums = reinterpret_cast<NormSums*>(factors + 1);
  return LaunchClipByGlobalNormGrad(static_cast<NumericType>(type),
                                    {count, sizes, values, gradients, outputs},
                                    norm_gradient, clip_norm, sums, factors,
                                    clip_norm_backprop, stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
