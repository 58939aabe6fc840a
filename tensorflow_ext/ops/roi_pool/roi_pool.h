// Region-of-interest max pooling (R. Girshick, "Fast R-CNN", ICCV 2015, section 2.1), without
// TensorFlow headers: the arithmetic of the bins, for host and device, and the loops that the
// kernels run.

#pragma once

#include <cmath>
#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/quotient.h"
#include "tensorflow_ext/kernels/regions.h"

namespace tensorflow_ext {

// An element's index in its image has 32 bits.
using RoiPoolDims = RegionDims;

// The pixels [begin, end) of a row or column.
struct PixelRange {
  int32_t begin, end;
};

// One side of a region: its first pixel, which may be outside the image, and its length, at least
// 1.
struct RoiSide {
  int64_t begin, length;
};

// A region on an image, or on no image: image == -1.
struct Roi {
  int64_t image;
  RoiSide x, y;
};

// Corners are clamped to this, so that a bin's limits are exact in 64 bits.
constexpr int64_t kMaxRoiCorner = int64_t{1} << 30;

// Rounds half away from zero. It clamps before it converts, because converting a number beyond the
// range of an integer type is undefined.
template <typename F>
TENSORFLOW_EXT_HOST_DEVICE int64_t RoiCorner(F corner, F scale) {
  const F limit = static_cast<F>(kMaxRoiCorner);
  const F rounded = std::round(corner * scale);
  return static_cast<int64_t>(rounded < -limit ? -limit : rounded > limit ? limit : rounded);
}

template <typename F>
TENSORFLOW_EXT_HOST_DEVICE RoiSide MakeRoiSide(F first, F last, F scale) {
  const int64_t begin = RoiCorner(first, scale);
  const int64_t length = RoiCorner(last, scale) - begin + 1;
  return {begin, length > 1 ? length : 1};
}

// Reads batch index, x1, y1, x2, y2 of a region. A NaN corner: no image.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE Roi ReadRoi(const T* roi, float spatial_scale, int64_t images) {
  using F = ComputeType<T>;
  const F x1 = ToCompute(roi[1]), y1 = ToCompute(roi[2]);
  const F x2 = ToCompute(roi[3]), y2 = ToCompute(roi[4]);
  if (x1 != x1 || y1 != y1 || x2 != x2 || y2 != y2) return {-1, {0, 1}, {0, 1}};
  const F scale = static_cast<F>(spatial_scale);
  return {RoiImage(ToCompute(roi[0]), images), MakeRoiSide(x1, x2, scale),
          MakeRoiSide(y1, y2, scale)};
}

// Bin `i` of `bins` along a side: from begin + floor(i * length / bins) up to begin + ceil((i + 1)
// * length / bins), clipped to [0, pixels).
TENSORFLOW_EXT_HOST_DEVICE PixelRange RoiBin(RoiSide side, int64_t i, int64_t bins,
                                             int64_t pixels) {
  const int64_t begin = side.begin + Quotient(i * side.length, bins);
  const int64_t end = side.begin + Quotient((i + 1) * side.length + bins - 1, bins);
  return {static_cast<int32_t>(begin < 0        ? 0
                               : begin > pixels ? pixels
                                                : begin),
          static_cast<int32_t>(end < 0        ? 0
                               : end > pixels ? pixels
                                              : end)};
}

// True if `value` replaces the maximum so far. The first of equals stays, and so does the first
// NaN.
template <typename F>
TENSORFLOW_EXT_HOST_DEVICE bool ReplacesMaximum(F value, F maximum) {
  return !(value <= maximum) & (maximum == maximum);
}

// True if an entry of argmax in `channel` names an element of that channel.
TENSORFLOW_EXT_HOST_DEVICE bool IsElementOfChannel(int32_t argmax, int64_t channel,
                                                   const RoiPoolDims& dims) {
  return argmax >= 0 && argmax < dims.image_size() &&
         static_cast<uint32_t>(argmax) % static_cast<uint32_t>(dims.channels) == channel;
}

// The elements [begin, end) of an image that a row of bins points at.
struct ElementRange {
  int32_t begin, end;
};

// ----- CPU. Tensors have the floating-point type `type`. -----

// Computes rows [begin, end) of the rois * pooled_height rows of bins.
void RoiPoolCpu(NumericType type, const RoiPoolDims& dims, float spatial_scale, const void* data,
                const void* rois, void* pooled, int32_t* argmax, int64_t begin, int64_t end);

// The elements that a row of bins (dims.row_size() entries) points at. Returns false if an entry is
// neither -1 nor an element of its channel.
bool ArgmaxElements(const RoiPoolDims& dims, const int32_t* argmax_row, ElementRange* elements);

// Computes elements [begin, end) of the gradient of `image`. `rois` lists the image's regions in
// ascending order, and `elements` has the elements that each row of bins points at. `sums` has end
// - begin elements and is used only for the 16-bit types. An element is summed in the order of the
// regions and bins, so the result does not depend on how an image is divided.
void RoiPoolGradCpu(NumericType type, const RoiPoolDims& dims, const void* gradients,
                    const int32_t* argmax, const int64_t* rois, int64_t num_rois,
                    const ElementRange* elements, int64_t image, int64_t begin, int64_t end,
                    float* sums, void* backprops);

// Computes row `row` of bins, of a region on `image`: gradients at argmax, 0 where it is -1.
// Returns false and does nothing if ArgmaxElements is false.
bool RoiPoolGradGradCpu(NumericType type, const RoiPoolDims& dims, const void* gradients,
                        int64_t image, const int32_t* argmax, int64_t row, void* backprops);

// ----- GPU. Pointers are device pointers; see kernels/launch.h. -----

int LaunchRoiPool(NumericType type, const RoiPoolDims& dims, float spatial_scale, const void* data,
                  const void* rois, void* pooled, int32_t* argmax, void* stream);

// Adds with atomics. `sums` has as many elements as data and is used only for the 16-bit types.
int LaunchRoiPoolGrad(NumericType type, const RoiPoolDims& dims, const void* gradients,
                      const void* rois, const int32_t* argmax, float* sums, void* backprops,
                      void* stream);

// Adds in the CPU's order. `elements` has rois * (1 + pooled_height) entries.
int LaunchRoiPoolGradDeterministic(NumericType type, const RoiPoolDims& dims, const void* gradients,
                                   const void* rois, const int32_t* argmax, ElementRange* elements,
                                   void* backprops, void* stream);

int LaunchRoiPoolGradGrad(NumericType type, const RoiPoolDims& dims, const void* gradients,
                          const void* rois, const int32_t* argmax, void* backprops, void* stream);

}  // namespace tensorflow_ext
