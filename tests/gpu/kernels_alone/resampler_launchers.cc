// SPDX-License-Identifier: Apache-2.0
//
// Resampler's launchers as plain C: resampler_kernels.py calls them. They
// return a cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/resampler/resampler.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {
#pragma GCC visibility push(default)
extern "C" {

// `dims` are the members of ResamplerDims, in order.

int Kernel_Resample(int32_t type, const int64_t* dims, int32_t x_order,
                    int32_t y_order, const void* data, const void* warp,
                    void* output, void* stream) {
  return LaunchResample(static_cast<NumericType>(type),
                        FromMembers<ResamplerDims>(dims), {x_order, y_order},
                        data, warp, output, stream);
}

int Kernel_ResamplerWarpGrad(int32_t type, const int64_t* dims,
                             const void* gradients, const void* data,
                             const void* warp, void* warp_backprops,
                             void* stream) {
  return LaunchResamplerWarpGrad(static_cast<NumericType>(type),
                                 FromMembers<ResamplerDims>(dims), gradients,
                                 data, warp, warp_backprops, stream);
}

int Kernel_ResamplerAdjoint(int32_t type, const int64_t* dims, int32_t x_order,
                            int32_t y_order, int32_t deterministic,
                            const void* gradients, const void* warp,
                            float* sums, void* backprops, void* stream) {
  return LaunchResamplerAdjoint(static_cast<NumericType>(type),
                                FromMembers<ResamplerDims>(dims),
                                {x_order, y_order}, deterministic != 0,
                                gradients, warp, sums, backprops, stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
