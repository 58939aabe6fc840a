// SPDX-License-Identifier: Apache-2.0
//
// RoiAlign's launchers as plain C: roi_align_kernels.py calls them. They return
// a cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/roi_align/roi_align.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {
#pragma GCC visibility push(default)
extern "C" {

// `dims` are the members of RegionDims, in order; then those of
// RoiAlignOptions.

int Kernel_RoiAlignScratchBytes(int32_t type, const int64_t* dims,
                                int64_t* bytes) {
  *bytes = static_cast<int64_t>(RoiAlignScratchBytes(
      static_cast<NumericType>(type), FromMembers<RegionDims>(dims)));
  return 0;
}

int Kernel_RoiAlign(int32_t type, const int64_t* dims, float spatial_scale,
                    int64_t sampling_ratio, int32_t aligned, const void* data,
                    const void* rois, void* scratch, void* pooled,
                    void* stream) {
  return LaunchRoiAlign(static_cast<NumericType>(type),
                        FromMembers<RegionDims>(dims),
                        {spatial_scale, sampling_ratio, aligned != 0}, data,
                        rois, scratch, pooled, stream);
}

int Kernel_RoiAlignGrad(int32_t type, const int64_t* dims, float spatial_scale,
                        int64_t sampling_ratio, int32_t aligned,
                        int32_t deterministic, const void* gradients,
                        const void* rois, void* scratch, float* sums,
                        void* backprops, void* stream) {
  return LaunchRoiAlignGrad(
      static_cast<NumericType>(type), FromMembers<RegionDims>(dims),
      {spatial_scale, sampling_ratio, aligned != 0}, deterministic != 0,
      gradients, rois, scratch, sums, backprops, stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
