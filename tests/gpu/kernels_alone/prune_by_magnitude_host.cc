// SPDX-License-Identifier: Apache-2.0
//
// PruneByMagnitude's launchers on the host.

#include <cstdint>

#include "tensorflow_ext/ops/prune_by_magnitude/prune_by_magnitude.h"

namespace tensorflow_ext {

template <>
int GpuElementwise<PruneByMagnitude>::Launch(const PruneByMagnitude& functor,
                                             NumericType type,
                                             const void* const* inputs,
                                             void* const* outputs, int64_t size,
                                             void*) {
  CpuElementwise<PruneByMagnitude>::Run(functor, type, inputs, outputs, 0,
                                        size);
  return 0;
}

template <>
int GpuElementwise<PruneByMagnitudeGrad>::Launch(
    const PruneByMagnitudeGrad& functor, NumericType type,
    const void* const* inputs, void* const* outputs, int64_t size, void*) {
  CpuElementwise<PruneByMagnitudeGrad>::Run(functor, type, inputs, outputs, 0,
                                            size);
  return 0;
}

}  // namespace tensorflow_ext
