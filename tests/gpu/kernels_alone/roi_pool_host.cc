// SPDX-License-Identifier: Apache-2.0
//
// RoiPool's launchers on the host.

#include <cstdint>
#include <vector>

#include "tensorflow_ext/ops/roi_pool/roi_pool.h"

namespace tensorflow_ext {

int LaunchRoiPool(NumericType type, const RoiPoolDims& dims,
                  float spatial_scale, const void* data, const void* rois,
                  void* pooled, int32_t* argmax, void*) {
  if (dims.pooled_size() == 0) return 0;
  RoiPoolCpu(type, dims, spatial_scale, data, rois, pooled, argmax, 0,
             dims.rois * dims.pooled_height);
  return 0;
}

namespace {

// Calls `fn(i, element)` for each entry of argmax, in order, with the element
// of data that it names; -1 for none. The CPU kernels refuse what the GPU's
// have to pass over, so they cannot stand in.
template <typename T, typename Fn>
void ForEachElement(const RoiPoolDims& dims, const void* rois,
                    const int32_t* argmax, Fn&& fn) {
  const int64_t size = dims.pooled_size();
  const int64_t per_roi = dims.rois > 0 ? size / dims.rois : 0;
  const T* roi = static_cast<const T*>(rois);
  for (int64_t i = 0; i < size; ++i) {
    const int64_t image =
        RoiImage(ToCompute(roi[i / per_roi * 5]), dims.images);
    const bool known =
        image >= 0 && IsElementOfChannel(argmax[i], i % dims.channels, dims);
    fn(i, known ? image * dims.image_size() + argmax[i] : int64_t{-1});
  }
}

}  // namespace

int LaunchRoiPoolGrad(NumericType type, const RoiPoolDims& dims,
                      const void* gradients, const void* rois,
                      const int32_t* argmax, float*, void* backprops, void*) {
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    std::vector<ComputeType<T>> sums(dims.images * dims.image_size());
    ForEachElement<T>(dims, rois, argmax, [&](int64_t i, int64_t element) {
      if (element < 0) return;
      sums[element] += ToCompute(static_cast<const T*>(gradients)[i]);
    });
    T* output = static_cast<T*>(backprops);
    for (const auto& sum : sums) *output++ = FromCompute<T>(sum);
    return 0;
  });
}

int LaunchRoiPoolGradDeterministic(NumericType type, const RoiPoolDims& dims,
                                   const void* gradients, const void* rois,
                                   const int32_t* argmax, ElementRange*,
                                   void* backprops, void* stream) {
  return LaunchRoiPoolGrad(type, dims, gradients, rois, argmax, nullptr,
                           backprops, stream);
}

int LaunchRoiPoolGradGrad(NumericType type, const RoiPoolDims& dims,
                          const void* gradients, const void* rois,
                          const int32_t* argmax, void* backprops, void*) {
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    ForEachElement<T>(dims, rois, argmax, [&](int64_t i, int64_t element) {
      static_cast<T*>(backprops)[i] =
          element < 0 ? T{} : static_cast<const T*>(gradients)[element];
    });
    return 0;
  });
}

}  // namespace tensorflow_ext
