#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/pixels_cpu.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/roi_align/roi_align.h"

namespace tensorflow_ext {
namespace {

template <typename T>
using Weights = RoiAlignWeights<ComputeType<T>>;

template <typename T>
struct MakeWeights {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(RegionDims dims, RoiAlignOptions options, const T* rois,
                                        void* scratch, int64_t begin, int64_t end) {
    Weights<T> weights(dims, scratch);
    const int64_t bins = weights.RangesOfRegion(dims);
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t bin = 0; bin < bins; ++bin) {
        weights.Make(dims, options, rois + r * 5, r, bin);
      }
    }
  }
};

// Writes the weighted sum over one bin for the channels of Sums. `data` is the image, starting at
// these channels.
template <typename Sums, typename T>
TENSORFLOW_EXT_INLINE void PoolBlock(const RegionDims& dims, const T* data,
                                     const PixelWeight<ComputeType<T>>* weights, WeightRange rows,
                                     WeightRange columns, PixelSums<Sums>* sums, T* output) {
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    const T* row = data + weights[h].pixel * dims.width * dims.channels;
    for (int64_t w = columns.begin; w < columns.end; ++w) {
      sums->Add(row + weights[w].pixel * dims.channels, weights[h].weight * weights[w].weight);
    }
  }
  sums->Finish(output);
}

template <typename T>
struct PoolRows {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(RegionDims dims, const int64_t* images, const T* data,
                                        void* scratch, T* pooled, int64_t begin, int64_t end) {
    const Weights<T> all(dims, scratch);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t roi = row / dims.pooled_height;
      T* output = pooled + row * dims.row_size();
      if (images[roi] < 0) {
        std::fill_n(output, dims.row_size(), T{});
        continue;
      }
      const T* image = data + images[roi] * dims.image_size();
      const PixelWeight<ComputeType<T>>* weights = all.weights(dims, roi);
      const WeightRange rows = all.rows(dims, roi, row % dims.pooled_height);
      for (int64_t j = 0; j < dims.pooled_width; ++j) {
        const WeightRange columns = all.columns(dims, roi, j);
        for (int64_t c = 0; c < dims.channels; c += kChannelBlock) {
          const int64_t channels = std::min(kChannelBlock, dims.channels - c);
          if (channels == kChannelBlock) {
            PixelSums<BlockSums<Isa, T>> sums;
            PoolBlock(dims, image + c, weights, rows, columns, &sums, output + c);
          } else {
            PixelSums<ChannelSums<Isa, T>> sums(channels);
            PoolBlock(dims, image + c, weights, rows, columns, &sums, output + c);
          }
        }
        output += dims.channels;
      }
    }
  }
};

// Adds the gradient of one bin, with `channels` channels, to `sums`, an image that starts at these
// channels.
template <typename C>
TENSORFLOW_EXT_INLINE void SpreadBlock(const RegionDims& dims, const C* gradient,
                                       const PixelWeight<C>* weights, WeightRange rows,
                                       WeightRange columns, int64_t channels, C* sums) {
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    C* row = sums + weights[h].pixel * dims.width * dims.channels;
    for (int64_t w = columns.begin; w < columns.end; ++w) {
      AddScaled(weights[h].weight * weights[w].weight, gradient, channels,
                row + weights[w].pixel * dims.channels);
    }
  }
}

// The part of `rows` whose pixels are in [begin, end).
template <typename C>
TENSORFLOW_EXT_INLINE WeightRange RowsWithin(const PixelWeight<C>* weights, WeightRange rows,
                                             int64_t begin, int64_t end) {
  while (rows.begin < rows.end && weights[rows.begin].pixel < begin) {
    ++rows.begin;
  }
  while (rows.begin < rows.end && weights[rows.end - 1].pixel >= end) {
    --rows.end;
  }
  return rows;
}

template <typename T>
struct AddGradients {
  // `sums` is the gradient of one image.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(RegionDims dims, const T* gradients, const int64_t* rois,
                                        int64_t num_rois, void* scratch, int64_t begin, int64_t end,
                                        ComputeType<T>* sums) {
    const Weights<T> all(dims, scratch);
    for (int64_t r = 0; r < num_rois; ++r) {
      const PixelWeight<ComputeType<T>>* weights = all.weights(dims, rois[r]);
      for (int64_t i = 0; i < dims.pooled_height; ++i) {
        const WeightRange rows = RowsWithin(weights, all.rows(dims, rois[r], i), begin, end);
        if (rows.begin == rows.end) continue;
        const T* gradient = gradients + (rois[r] * dims.pooled_height + i) * dims.row_size();
        for (int64_t j = 0; j < dims.pooled_width; ++j) {
          const WeightRange columns = all.columns(dims, rois[r], j);
          for (int64_t c = 0; c < dims.channels; c += kChannelBlock) {
            ComputeType<T> wide[kChannelBlock];
            const int64_t channels = std::min(kChannelBlock, dims.channels - c);
            const ComputeType<T>* values = Values<Isa>(gradient + c, channels, wide);
            if (channels == kChannelBlock) {
              SpreadBlock(dims, values, weights, rows, columns, kChannelBlock, sums + c);
            } else {
              SpreadBlock(dims, values, weights, rows, columns, channels, sums + c);
            }
          }
          gradient += dims.channels;
        }
      }
    }
  }
};

}  // namespace

void RoiAlignWeightsCpu(NumericType type, const RegionDims& dims, const RoiAlignOptions& options,
                        const void* rois, void* scratch, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<MakeWeights<T>>(dims, options, static_cast<const T*>(rois), scratch, begin, end);
  });
}

void RoiAlignCpu(NumericType type, const RegionDims& dims, const int64_t* images, const void* data,
                 void* scratch, void* pooled, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<PoolRows<T>>(dims, images, static_cast<const T*>(data), scratch,
                         static_cast<T*>(pooled), begin, end);
  });
}

void RoiAlignGradCpu(NumericType type, const RegionDims& dims, const void* gradients,
                     const int64_t* rois, int64_t num_rois, void* scratch, int64_t image,
                     int64_t begin, int64_t end, float* sums, void* backprops) {
  const int64_t first = image * dims.image_size();
  const int64_t row = dims.width * dims.channels;
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    C* sum;
    if constexpr (std::is_same_v<T, C>) {
      sum = static_cast<C*>(backprops) + first;
    } else {
      sum = sums + first;
    }
    std::fill(sum + begin * row, sum + end * row, C(0));
    RunBest<AddGradients<T>>(dims, static_cast<const T*>(gradients), rois, num_rois, scratch, begin,
                             end, sum);
    if constexpr (!std::is_same_v<T, C>) {
      Baseline::Narrow(sum + begin * row, static_cast<T*>(backprops) + first + begin * row,
                       (end - begin) * row);
    }
  });
}

}  // namespace tensorflow_ext
