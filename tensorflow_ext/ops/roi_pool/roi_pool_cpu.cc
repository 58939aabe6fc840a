// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/pixels_cpu.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"

namespace tensorflow_ext {
namespace {

// Channels that a bin keeps in registers while it goes over its pixels.
constexpr int64_t kChannels = 32;

// The maximum and where it is (h * width + w), over one bin, of `channels`
// channels, at most kChannels. A full block has a constant trip count.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE void MaximumOfBin(const RoiPoolDims& dims, const T* data,
                                        PixelRange rows, PixelRange columns,
                                        int64_t channels,
                                        ComputeType<T>* maximum,
                                        int32_t* where) {
  using C = ComputeType<T>;
  const int32_t width = static_cast<int32_t>(dims.width);
  const int32_t first = rows.begin * width + columns.begin;
  C wide[kChannels];
  const C* values = Values<Isa>(data + first * dims.channels, channels, wide);
  for (int64_t c = 0; c < channels; ++c) {
    maximum[c] = values[c];
    where[c] = first;
  }
  for (int32_t h = rows.begin; h < rows.end; ++h) {
    for (int32_t w = columns.begin; w < columns.end; ++w) {
      const int32_t position = h * width + w;
      values = Values<Isa>(data + position * dims.channels, channels, wide);
      for (int64_t c = 0; c < channels; ++c) {
        const bool replaces = ReplacesMaximum(values[c], maximum[c]);
        maximum[c] = replaces ? values[c] : maximum[c];
        where[c] = replaces ? position : where[c];
      }
    }
  }
}

// A bin with at least one pixel; `data` is its image.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE void PoolBin(const RoiPoolDims& dims, const T* data,
                                   PixelRange rows, PixelRange columns,
                                   T* pooled, int32_t* argmax) {
  for (int64_t c = 0; c < dims.channels; c += kChannels) {
    ComputeType<T> maximum[kChannels];
    int32_t where[kChannels];
    const int64_t channels = std::min(kChannels, dims.channels - c);
    if (channels == kChannels) {
      MaximumOfBin<Isa>(dims, data + c, rows, columns, kChannels, maximum,
                        where);
    } else {
      MaximumOfBin<Isa>(dims, data + c, rows, columns, channels, maximum,
                        where);
    }
    for (int64_t k = 0; k < channels; ++k) {
      pooled[c + k] = FromCompute<T>(maximum[k]);
      argmax[c + k] = static_cast<int32_t>(where[k] * dims.channels + c + k);
    }
  }
}

template <typename T>
struct PoolRows {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(RoiPoolDims dims, float spatial_scale,
                                        const T* data, const T* rois, T* pooled,
                                        int32_t* argmax, int64_t begin,
                                        int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Roi roi = ReadRoi(rois + row / dims.pooled_height * 5,
                              spatial_scale, dims.images);
      const PixelRange rows = RoiBin(roi.y, row % dims.pooled_height,
                                     dims.pooled_height, dims.height);
      for (int64_t j = 0; j < dims.pooled_width; ++j) {
        const PixelRange columns =
            RoiBin(roi.x, j, dims.pooled_width, dims.width);
        const int64_t bin = row * dims.row_size() + j * dims.channels;
        if (roi.image < 0 || rows.begin >= rows.end ||
            columns.begin >= columns.end) {
          std::fill_n(pooled + bin, dims.channels, T{});
          std::fill_n(argmax + bin, dims.channels, -1);
        } else {
          PoolBin<Isa>(dims, data + roi.image * dims.image_size(), rows,
                       columns, pooled + bin, argmax + bin);
        }
      }
    }
  }
};

// What the entries of a row of bins point at, in one vectorisable pass.
TENSORFLOW_EXT_INLINE bool FindElements(const RoiPoolDims& dims,
                                        const int32_t* argmax,
                                        ElementRange* elements) {
  const uint32_t size = static_cast<uint32_t>(dims.image_size());
  const int32_t channels = static_cast<int32_t>(dims.channels);
  const double per_channel = 1.0 / channels;
  // As unsigned, -1 is the largest, so that it does not lower the minimum.
  uint32_t lowest = UINT32_MAX;
  int32_t highest = -1;
  uint32_t wrong = 0;  // stays 0 while every entry is right
  for (int64_t j = 0; j < dims.pooled_width; ++j) {
    for (int32_t c = 0; c < channels; ++c) {
      const int32_t element = argmax[j * channels + c];
      const uint32_t bits = static_cast<uint32_t>(element);
      const uint32_t inside = bits < size ? UINT32_MAX : 0;
      // (element - c) / channels is a whole number for an element of channel
      // c; the product is that number within its last bits, and rounds to it.
      const int32_t offset = static_cast<int32_t>((bits - c) & inside);
      const int32_t position = static_cast<int32_t>(offset * per_channel + 0.5);
      wrong |= position * channels - offset;
      wrong |= (bits + 1) & ~inside;
      lowest = std::min(lowest, bits);
      highest = std::max(highest, element);
    }
  }
  if (wrong != 0) return false;
  *elements = {static_cast<int32_t>(lowest), highest + 1};
  return true;
}

struct FindElementsLoop {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static bool Run(RoiPoolDims dims, const int32_t* argmax,
                                        ElementRange* elements) {
    return FindElements(dims, argmax, elements);
  }
};

// Scatter and gather wait for memory: the baseline is as fast.

template <typename T>
void AddGradients(const RoiPoolDims& dims, const T* gradients,
                  const int32_t* argmax, const int64_t* rois, int64_t num_rois,
                  const ElementRange* elements, int64_t begin, int64_t end,
                  ComputeType<T>* sums) {
  const int64_t row_size = dims.row_size();
  const uint32_t first = static_cast<uint32_t>(begin);
  const uint32_t size = static_cast<uint32_t>(end - begin);
  std::fill_n(sums, size, ComputeType<T>(0));
  for (int64_t r = 0; r < num_rois; ++r) {
    for (int64_t i = 0; i < dims.pooled_height; ++i) {
      const int64_t row = rois[r] * dims.pooled_height + i;
      if (elements[row].begin >= end || elements[row].end <= begin) continue;
      const T* gradient = gradients + row * row_size;
      const int32_t* element = argmax + row * row_size;
      for (int64_t k = 0; k < row_size; ++k) {
        // -1, as unsigned, lies behind every part of an image.
        const uint32_t place = static_cast<uint32_t>(element[k]) - first;
        if (place < size) sums[place] += ToCompute(gradient[k]);
      }
    }
  }
}

template <typename T>
void Gather(const RoiPoolDims& dims, const T* image, const int32_t* argmax,
            T* backprops) {
  const int64_t row_size = dims.row_size();
  for (int64_t k = 0; k < row_size; ++k) {
    backprops[k] = argmax[k] < 0 ? T{} : image[argmax[k]];
  }
}

}  // namespace

void RoiPoolCpu(NumericType type, const RoiPoolDims& dims, float spatial_scale,
                const void* data, const void* rois, void* pooled,
                int32_t* argmax, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<PoolRows<T>>(dims, spatial_scale, static_cast<const T*>(data),
                         static_cast<const T*>(rois), static_cast<T*>(pooled),
                         argmax, begin, end);
  });
}

bool ArgmaxElements(const RoiPoolDims& dims, const int32_t* argmax_row,
                    ElementRange* elements) {
  return RunBest<FindElementsLoop>(dims, argmax_row, elements);
}

void RoiPoolGradCpu(NumericType type, const RoiPoolDims& dims,
                    const void* gradients, const int32_t* argmax,
                    const int64_t* rois, int64_t num_rois,
                    const ElementRange* elements, int64_t image, int64_t begin,
                    int64_t end, float* sums, void* backprops) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* gradient = static_cast<const T*>(gradients);
    T* output = static_cast<T*>(backprops) + image * dims.image_size() + begin;
    if constexpr (std::is_same_v<T, ComputeType<T>>) {
      AddGradients(dims, gradient, argmax, rois, num_rois, elements, begin, end,
                   output);
    } else {
      AddGradients(dims, gradient, argmax, rois, num_rois, elements, begin, end,
                   sums);
      Baseline::Narrow(sums, output, end - begin);
    }
  });
}

bool RoiPoolGradGradCpu(NumericType type, const RoiPoolDims& dims,
                        const void* gradients, int64_t image,
                        const int32_t* argmax, int64_t row, void* backprops) {
  const int64_t bins = row * dims.row_size();
  ElementRange elements;
  if (!ArgmaxElements(dims, argmax + bins, &elements)) return false;
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    Gather(dims, static_cast<const T*>(gradients) + image * dims.image_size(),
           argmax + bins, static_cast<T*>(backprops) + bins);
  });
  return true;
}

}  // namespace tensorflow_ext
