#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/roi_pool/bin_maximum_cpu.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"

namespace tensorflow_ext {
namespace {

template <typename T>
struct PoolRows {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(RoiPoolDims dims, float spatial_scale, const T* data,
                                        const T* rois, T* pooled, int32_t* argmax, int64_t begin,
                                        int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Roi roi = ReadRoi(rois + row / dims.pooled_height * 5, spatial_scale, dims.images);
      const PixelRange rows =
          RoiBin(roi.y, row % dims.pooled_height, dims.pooled_height, dims.height);
      for (int64_t j = 0; j < dims.pooled_width; ++j) {
        const PixelRange columns = RoiBin(roi.x, j, dims.pooled_width, dims.width);
        const int64_t bin = row * dims.row_size() + j * dims.channels;
        if (roi.image < 0 || rows.begin >= rows.end || columns.begin >= columns.end) {
          std::fill_n(pooled + bin, dims.channels, T{});
          std::fill_n(argmax + bin, dims.channels, -1);
        } else {
          BinMaximum<Isa>(Bin<T>{data + roi.image * dims.image_size(), rows, columns,
                                 static_cast<int32_t>(dims.width),
                                 static_cast<int32_t>(dims.channels), pooled + bin, argmax + bin});
        }
      }
    }
  }
};

// Finds the elements that a row of bins points at, in one vectorisable pass.
TENSORFLOW_EXT_INLINE bool FindElements(const RoiPoolDims& dims, const int32_t* argmax,
                                        ElementRange* elements) {
  const uint32_t size = static_cast<uint32_t>(dims.image_size());
  const int32_t channels = static_cast<int32_t>(dims.channels);
  const double per_channel = 1.0 / channels;
  // As unsigned, -1 is the largest value, so it does not lower the minimum.
  uint32_t lowest = UINT32_MAX;
  int32_t highest = -1;
  uint32_t wrong = 0;  // stays 0 while every entry is right
  for (int64_t j = 0; j < dims.pooled_width; ++j) {
    for (int32_t c = 0; c < channels; ++c) {
      const int32_t element = argmax[j * channels + c];
      const uint32_t bits = static_cast<uint32_t>(element);
      const uint32_t inside = bits < size ? UINT32_MAX : 0;
      // (element - c) / channels is a whole number for an element of channel c. The product equals
      // it except for the last bits, and rounds to it.
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

// Scatter and gather wait for memory, so the baseline is as fast.

template <typename T>
void AddGradients(const RoiPoolDims& dims, const T* gradients, const int32_t* argmax,
                  const int64_t* rois, int64_t num_rois, const ElementRange* elements,
                  int64_t begin, int64_t end, ComputeType<T>* sums) {
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
        // As unsigned, -1 is behind every part of an image.
        const uint32_t place = static_cast<uint32_t>(element[k]) - first;
        if (place < size) sums[place] += ToCompute(gradient[k]);
      }
    }
  }
}

template <typename T>
void Gather(const RoiPoolDims& dims, const T* image, const int32_t* argmax, T* backprops) {
  const int64_t row_size = dims.row_size();
  for (int64_t k = 0; k < row_size; ++k) {
    backprops[k] = argmax[k] < 0 ? T{} : image[argmax[k]];
  }
}

}  // namespace

void RoiPoolCpu(NumericType type, const RoiPoolDims& dims, float spatial_scale, const void* data,
                const void* rois, void* pooled, int32_t* argmax, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<PoolRows<T>>(dims, spatial_scale, static_cast<const T*>(data),
                         static_cast<const T*>(rois), static_cast<T*>(pooled), argmax, begin, end);
  });
}

bool ArgmaxElements(const RoiPoolDims& dims, const int32_t* argmax_row, ElementRange* elements) {
  return RunBest<FindElementsLoop>(dims, argmax_row, elements);
}

void RoiPoolGradCpu(NumericType type, const RoiPoolDims& dims, const void* gradients,
                    const int32_t* argmax, const int64_t* rois, int64_t num_rois,
                    const ElementRange* elements, int64_t image, int64_t begin, int64_t end,
                    float* sums, void* backprops) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* gradient = static_cast<const T*>(gradients);
    T* output = static_cast<T*>(backprops) + image * dims.image_size() + begin;
    if constexpr (std::is_same_v<T, ComputeType<T>>) {
      AddGradients(dims, gradient, argmax, rois, num_rois, elements, begin, end, output);
    } else {
      AddGradients(dims, gradient, argmax, rois, num_rois, elements, begin, end, sums);
      Baseline::Narrow(sums, output, end - begin);
    }
  });
}

bool RoiPoolGradGradCpu(NumericType type, const RoiPoolDims& dims, const void* gradients,
                        int64_t image, const int32_t* argmax, int64_t row, void* backprops) {
  const int64_t bins = row * dims.row_size();
  ElementRange elements;
  if (!ArgmaxElements(dims, argmax + bins, &elements)) return false;
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    Gather(dims, static_cast<const T*>(gradients) + image * dims.image_size(), argmax + bins,
           static_cast<T*>(backprops) + bins);
  });
  return true;
}

}  // namespace tensorflow_ext
