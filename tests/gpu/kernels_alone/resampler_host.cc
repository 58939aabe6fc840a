// SPDX-License-Identifier: Apache-2.0
//
// Resampler's launchers on the host.

#include <cstdint>
#include <vector>

#include "tensorflow_ext/ops/resampler/resampler.h"

namespace tensorflow_ext {

int LaunchResample(NumericType type, const ResamplerDims& dims,
                   ResamplerOrder order, const void* data, const void* warp,
                   void* output, void*) {
  if (dims.all_points() * dims.channels == 0) return 0;
  ResampleCpu(type, dims, order, data, warp, output, 0, dims.all_points());
  return 0;
}

int LaunchResamplerWarpGrad(NumericType type, const ResamplerDims& dims,
                            const void* gradients, const void* data,
                            const void* warp, void* warp_backprops, void*) {
  ResamplerWarpGradCpu(type, dims, gradients, data, warp, warp_backprops, 0,
                       dims.all_points());
  return 0;
}

int LaunchResamplerAdjoint(NumericType type, const ResamplerDims& dims,
                           ResamplerOrder order, bool, const void* gradients,
                           const void* warp, float* sums, void* backprops,
                           void*) {
  if (dims.images * dims.image_size() == 0) return 0;
  std::vector<int64_t> sorted(dims.all_points());
  int64_t end = 0;
  for (int64_t image = 0; image < dims.images; ++image) {
    const int64_t first = image * dims.points, last = first + dims.points;
    std::vector<int64_t> counts(dims.height + 1), starts(dims.height + 2);
    CountRowsCpu(type, dims, warp, first, last, counts.data());
    for (int64_t row = 0; row <= dims.height; ++row) {
      starts[row] = end;
      end += counts[row];
    }
    starts[dims.height + 1] = end;
    std::vector<int64_t> places = starts;
    SortRowsCpu(type, dims, warp, first, last, places.data(), sorted.data());
    ResamplerAdjointCpu(type, dims, order, gradients, warp, sorted.data(),
                        starts.data(), image, 0, dims.height, sums, backprops);
  }
  return 0;
}

}  // namespace tensorflow_ext
