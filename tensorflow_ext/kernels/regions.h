// Common parts of the ops over regions of interest, without TensorFlow headers, for host and
// device. A region is a row of `rois`, (batch index, x1, y1, x2, y2), and is divided into
// pooled_height * pooled_width bins.

#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/quotient.h"

namespace tensorflow_ext {

// data is [images, height, width, channels], rois [rois, 5], pooled
// [rois, pooled_height, pooled_width, channels].
struct RegionDims {
  int64_t images, height, width, channels;
  int64_t rois, pooled_height, pooled_width;

  // The number of elements of an image.
  TENSORFLOW_EXT_HOST_DEVICE int64_t image_size() const { return height * width * channels; }
  // The number of elements of pooled, and of a row of its bins.
  TENSORFLOW_EXT_HOST_DEVICE int64_t pooled_size() const {
    return rois * pooled_height * row_size();
  }
  TENSORFLOW_EXT_HOST_DEVICE int64_t row_size() const { return pooled_width * channels; }
};

// The pixels of a bin, to estimate the cost of work on bins. The real number depends on the
// regions.
constexpr int64_t kPixelsOfABin = 16;

// The meaning of an element of pooled: channel c of bin (i, j) of a region.
struct PooledIndex {
  int64_t roi, i, j, c;
};

TENSORFLOW_EXT_HOST_DEVICE PooledIndex DecodePooled(int64_t index, const RegionDims& dims) {
  PooledIndex p;
  const int64_t bin = Quotient(index, dims.channels);
  p.c = index - bin * dims.channels;
  const int64_t row = Quotient(bin, dims.pooled_width);
  p.j = bin - row * dims.pooled_width;
  p.roi = Quotient(row, dims.pooled_height);
  p.i = row - p.roi * dims.pooled_height;
  return p;
}

// The image of a batch index; -1 if there is none. NaN fails every comparison.
template <typename F>
TENSORFLOW_EXT_HOST_DEVICE int64_t RoiImage(F batch, int64_t images) {
  return batch >= F(0) && batch < static_cast<F>(images) ? static_cast<int64_t>(batch) : -1;
}

// ----- On the host; `rois` is of the floating-point type `type`. -----

// Writes the image of each region; -1 if its batch index names none.
inline void RoiImagesCpu(NumericType type, const RegionDims& dims, const void* rois,
                         int64_t* images) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    for (int64_t r = 0; r < dims.rois; ++r) {
      const T batch = static_cast<const T*>(rois)[r * 5];
      images[r] = RoiImage(ToCompute(batch), dims.images);
    }
  });
}

// The batch index of region `roi`, unchanged, for error messages.
inline double RoiBatchIndex(NumericType type, const void* rois, int64_t roi) {
  return DispatchFloating(type, [&](auto tag) -> double {
    using T = TypeOf<decltype(tag)>;
    return ToCompute(static_cast<const T*>(rois)[roi * 5]);
  });
}

}  // namespace tensorflow_ext
