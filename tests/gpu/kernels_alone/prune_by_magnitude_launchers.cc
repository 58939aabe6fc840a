// SPDX-License-Identifier: Apache-2.0
//
// PruneByMagnitude's launchers as plain C: prune_by_magnitude_checks.py calls
// them. They return a cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/prune_by_magnitude/prune_by_magnitude.h"

namespace tensorflow_ext {
#pragma GCC visibility push(default)
extern "C" {

int Kernel_PruneByMagnitude(int32_t type, double threshold, const void* weights,
                            void* output, int64_t size, void* stream) {
  return GpuElementwise<PruneByMagnitude>::Launch(
      {threshold}, static_cast<NumericType>(type), &weights, output, size,
      stream);
}

int Kernel_PruneByMagnitudeGrad(int32_t type, double threshold,
                                const void* gradients, const void* weights,
                                void* output, int64_t size, void* stream) {
  const void* inputs[] = {gradients, weights};
  return GpuElementwise<PruneByMagnitudeGrad>::Launch(
      {threshold}, static_cast<NumericType>(type), inputs, output, size,
      stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
