// SPDX-License-Identifier: Apache-2.0
//
// RoiPool's launchers as plain C: roi_pool_kernel.py calls them. They return a
// cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/roi_pool/roi_pool.h"

namespace tensorflow_ext {
namespace {

RoiPoolDims RoiDims(const int64_t* dims) {
  return {dims[0], dims[1], dims[2], dims[3], dims[4], dims[5], dims[6]};
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// `dims` are the members of RoiPoolDims, in order.

int Kernel_RoiPool(int32_t type, const int64_t* dims, float spatial_scale,
                   const void* data, const void* rois, void* pooled,
                   int32_t* argmax, void* stream) {
  return LaunchRoiPool(static_cast<NumericType>(type), RoiDims(dims),
                       spatial_scale, data, rois, pooled, argmax, stream);
}

int Kernel_RoiPoolGrad(int32_t type, const int64_t* dims, const void* gradients,
                       const void* rois, const int32_t* argmax, float* sums,
                       void* backprops, void* stream) {
  return LaunchRoiPoolGrad(static_cast<NumericType>(type), RoiDims(dims),
                           gradients, rois, argmax, sums, backprops, stream);
}

// `elements` has room for rois * (1 + pooled_height) pairs of int32.
int Kernel_RoiPoolGradDeterministic(int32_t type, const int64_t* dims,
                                    const void* gradients, const void* rois,
                                    const int32_t* argmax, void* elements,
                                    void* backprops, void* stream) {
  return LaunchRoiPoolGradDeterministic(
      static_cast<NumericType>(type), RoiDims(dims), gradients, rois, argmax,
      static_cast<ElementRange*>(elements), backprops, stream);
}

int Kernel_RoiPoolGradGrad(int32_t type, const int64_t* dims,
                           const void* gradients, const void* rois,
                           const int32_t* argmax, void* backprops,
                           void* stream) {
  return LaunchRoiPoolGradGrad(static_cast<NumericType>(type), RoiDims(dims),
                               gradients, rois, argmax, backprops, stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
