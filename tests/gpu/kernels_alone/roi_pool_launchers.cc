// SPDX-License-Identifier: Apache-2.0
//
// RoiPool's launchers as plain C: roi_pool_kernels.py calls them. They return a
// cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/roi_pool/roi_pool.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {
#pragma GCC visibility push(default)
extern "C" {

// `dims` are the members of RoiPoolDims, in order.

int Kernel_RoiPool(int32_t type, const int64_t* dims, float spatial_scale,
                   const void* data, const void* rois, void* pooled,
                   int32_t* argmax, void* stream) {
  return LaunchRoiPool(static_cast<NumericType>(type),
                       FromMembers<RoiPoolDims>(dims), spatial_scale, data,
                       rois, pooled, argmax, stream);
}

int Kernel_RoiPoolGrad(int32_t type, const int64_t* dims, const void* gradients,
                       const void* rois, const int32_t* argmax, float* sums,
                       void* backprops, void* stream) {
  return LaunchRoiPoolGrad(static_cast<NumericType>(type),
                           FromMembers<RoiPoolDims>(dims), gradients, rois,
                           argmax, sums, backprops, stream);
}

// `elements` has room for rois * (1 + pooled_height) pairs of int32.
int Kernel_RoiPoolGradDeterministic(int32_t type, const int64_t* dims,
                                    const void* gradients, const void* rois,
                                    const int32_t* argmax, void* elements,
                                    void* backprops, void* stream) {
  return LaunchRoiPoolGradDeterministic(
      static_cast<NumericType>(type), FromMembers<RoiPoolDims>(dims), gradients,
      rois, argmax, static_cast<ElementRange*>(elements), backprops, stream);
}

int Kernel_RoiPoolGradGrad(int32_t type, const int64_t* dims,
                           const void* gradients, const void* rois,
                           const int32_t* argmax, void* backprops,
                           void* stream) {
  return LaunchRoiPoolGradGrad(static_cast<NumericType>(type),
                               FromMembers<RoiPoolDims>(dims), gradients, rois,
                               argmax, backprops, stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
