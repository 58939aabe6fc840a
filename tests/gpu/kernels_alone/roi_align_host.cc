// SPDX-License-Identifier: Apache-2.0
//
// RoiAlign's launchers on the host.

#include <cstdint>
#include <vector>

#include "tensorflow_ext/ops/roi_align/roi_align.h"

namespace tensorflow_ext {

int LaunchRoiAlign(NumericType type, const RegionDims& dims,
                   const RoiAlignOptions& options, const void* data,
                   const void* rois, void* scratch, void* pooled, void*) {
  if (dims.pooled_size() == 0) return 0;
  std::vector<int64_t> images(dims.rois);
  RoiImagesCpu(type, dims, rois, images.data());
  RoiAlignWeightsCpu(type, dims, options, rois, scratch, 0, dims.rois);
  RoiAlignCpu(type, dims, images.data(), data, scratch, pooled, 0,
              dims.rois * dims.pooled_height);
  return 0;
}

int LaunchRoiAlignGrad(NumericType type, const RegionDims& dims,
                       const RoiAlignOptions& options, bool,
                       const void* gradients, const void* rois, void* scratch,
                       float* sums, void* backprops, void*) {
  if (dims.images * dims.image_size() == 0) return 0;
  std::vector<int64_t> images(dims.rois);
  RoiImagesCpu(type, dims, rois, images.data());
  RoiAlignWeightsCpu(type, dims, options, rois, scratch, 0, dims.rois);
  for (int64_t image = 0; image < dims.images; ++image) {
    std::vector<int64_t> on_image;
    for (int64_t r = 0; r < dims.rois; ++r) {
      if (images[r] == image) on_image.push_back(r);
    }
    RoiAlignGradCpu(type, dims, gradients, on_image.data(), on_image.size(),
                    scratch, image, 0, dims.height, sums, backprops);
  }
  return 0;
}

}  // namespace tensorflow_ext
