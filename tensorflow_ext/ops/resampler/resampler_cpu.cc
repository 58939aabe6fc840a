#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/lane_sums_cpu.h"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/pixels_cpu.h"
#include "tensorflow_ext/kernels/prefetch_cpu.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/resampler/few_channels_cpu.h"
#include "tensorflow_ext/ops/resampler/point_block_cpu.h"
#include "tensorflow_ext/ops/resampler/resampler.h"

namespace tensorflow_ext {
namespace {

// A pixel that a point reads: its first channel and its weight.
template <typename T>
struct Tap {
  const T* pixel;
  ComputeType<T> weight;
};

// The number of points that the loops prefetch ahead, and the largest number of bytes per row of
// pixels. Both are measured.
constexpr int64_t kPointsAhead = 16, kBytesAhead = 2048;

// Unrolled, because a processor mispredicts the end of such a short loop.
template <typename T>
TENSORFLOW_EXT_INLINE void PrefetchRow(const T* values, int64_t size) {
  constexpr int64_t kLine = 64 / sizeof(T), kMost = kBytesAhead / sizeof(T);
  const int64_t end = std::min(size, kMost);
#pragma GCC unroll 8
  for (int64_t i = 0; i < end; i += kLine) Prefetch(values + i, 1);
}

// Iterates over points [begin, end) of all images without a division each.
struct Points {
  TENSORFLOW_EXT_INLINE Points(const ResamplerDims& dims, int64_t begin, int64_t end)
      : p(begin),
        image(begin < end ? begin / dims.points : 0),
        points_(dims.points),
        next_image_((image + 1) * dims.points),
        end_(end) {}

  TENSORFLOW_EXT_INLINE bool More() const { return p < end_; }
  TENSORFLOW_EXT_INLINE void Next() {
    if (++p == next_image_) {
      ++image;
      next_image_ += points_;
    }
  }

  // Prefetches the corners of a point as if it belonged to this `image`: two neighbours in each of
  // two rows.
  template <typename T>
  TENSORFLOW_EXT_INLINE void PrefetchCorners(const ResamplerDims& dims, const T* image,
                                             const T* warp) const {
    if (p + kPointsAhead >= end_) return;
    const auto cell = FindCell(dims, warp + 2 * (p + kPointsAhead));
    if (!cell.inside) return;
    const int64_t x = std::max(cell.x, 0), y = std::max(cell.y, 0);
    const T* pixel = image + y * dims.row_size() + x * dims.channels;
    PrefetchRow(pixel, 2 * dims.channels);
    if (y + 1 < dims.height) {
      PrefetchRow(pixel + dims.row_size(), 2 * dims.channels);
    }
  }

  int64_t p, image;

 private:
  const int64_t points_;
  int64_t next_image_;
  const int64_t end_;
};

// The corners of a point that are pixels of `image` with a nonzero weight.
template <typename T>
TENSORFLOW_EXT_INLINE int FindTaps(const ResamplerDims& dims, ResamplerOrder order, const T* image,
                                   const T* warp, Tap<T>* taps) {
  const auto cell = FindCell(dims, warp);
  if (!cell.inside) return 0;
  int count = 0;
  for (int k = 0; k < 4; ++k) {
    const auto corner = Corner(cell, k, order);
    if (!IsPixel(corner, dims) || corner.weight == 0) continue;
    taps[count++] = {image + corner.y * dims.row_size() + corner.x * dims.channels, corner.weight};
  }
  return count;
}

// Writes the channels of Sums, starting at `first`.
template <typename Sums, typename T>
TENSORFLOW_EXT_INLINE void SampleBlock(const Tap<T>* taps, int count, int64_t first,
                                       PixelSums<Sums>* sums, T* output) {
  for (int k = 0; k < count; ++k) {
    sums->Add(taps[k].pixel + first, taps[k].weight);
  }
  sums->Finish(output + first);
}

// Writes the weighted sum of four pixels directly to the output.
template <typename C>
TENSORFLOW_EXT_INLINE void Blend(const Tap<C>* taps, int64_t channels, C* __restrict output) {
  const C w0 = taps[0].weight, w1 = taps[1].weight, w2 = taps[2].weight, w3 = taps[3].weight;
  const C *p0 = taps[0].pixel, *p1 = taps[1].pixel, *p2 = taps[2].pixel, *p3 = taps[3].pixel;
  for (int64_t c = 0; c < channels; ++c) {
    output[c] = (w0 * p0[c] + w1 * p1[c]) + (w2 * p2[c] + w3 * p3[c]);
  }
}

template <typename T>
struct SamplePoints {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(ResamplerDims dims, ResamplerOrder order, const T* data,
                                        const T* warp, T* output, int64_t begin, int64_t end) {
    for (Points points(dims, begin, end); points.More(); points.Next()) {
      Tap<T> taps[4];
      const T* image = data + points.image * dims.image_size();
      points.PrefetchCorners(dims, image, warp);
      const int count = FindTaps(dims, order, image, warp + 2 * points.p, taps);
      T* point = output + points.p * dims.channels;
      if constexpr (std::is_same_v<T, ComputeType<T>>) {
        if (count == 4) {
          Blend(taps, dims.channels, point);
          continue;
        }
      }
      for (int64_t c = 0; c < dims.channels; c += kChannelBlock) {
        const int64_t channels = std::min(kChannelBlock, dims.channels - c);
        if (channels == kChannelBlock) {
          PixelSums<BlockSums<Isa, T>> sums;
          SampleBlock(taps, count, c, &sums, point);
        } else {
          PixelSums<ChannelSums<Isa, T>> sums(channels);
          SampleBlock(taps, count, c, &sums, point);
        }
      }
    }
  }
};

// The terms that channel c adds to the derivatives by x and y, from a gradient and the values at
// the four corners.
template <typename C>
struct WarpTerms {
  const C* gradient;
  const C* corners[4];
  C fx, fy;

  template <typename V>
  TENSORFLOW_EXT_INLINE void At(int64_t c, V* terms) const {
    V upstream, low_low, high_low, low_high, high_high;
    Load(gradient + c, &upstream);
    Load(corners[0] + c, &low_low);
    Load(corners[1] + c, &high_low);
    Load(corners[2] + c, &low_high);
    Load(corners[3] + c, &high_high);
    terms[0] = upstream * ((high_low - low_low) * (C(1) - fy) + (high_high - low_high) * fy);
    terms[1] = upstream * ((low_high - low_low) * (C(1) - fx) + (high_high - high_low) * fx);
  }
};

template <typename T>
struct WarpGradients {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(ResamplerDims dims, const T* gradients, const T* data,
                                        const T* warp, T* output, int64_t begin, int64_t end) {
    using C = ComputeType<T>;
    static constexpr C kZeros[kChannelBlock] = {};
    for (Points points(dims, begin, end); points.More(); points.Next()) {
      const int64_t p = points.p;
      const T* image = data + points.image * dims.image_size();
      points.PrefetchCorners(dims, image, warp);
      const auto cell = FindCell(dims, warp + 2 * p);
      if (!cell.inside) {
        output[2 * p] = output[2 * p + 1] = T{};
        continue;
      }
      LaneSums<Isa, C, 2> sums;
      for (int64_t c = 0; c < dims.channels; c += kChannelBlock) {
        const int64_t channels = std::min(kChannelBlock, dims.channels - c);
        C wide[5][kChannelBlock];
        WarpTerms<C> terms;
        terms.fx = cell.fx;
        terms.fy = cell.fy;
        terms.gradient = Values<Isa>(gradients + p * dims.channels + c, channels, wide[4]);
        for (int k = 0; k < 4; ++k) {
          const auto corner = Corner(cell, k, {0, 0});
          terms.corners[k] =
              IsPixel(corner, dims)
                  ? Values<Isa>(image + corner.y * dims.row_size() + corner.x * dims.channels + c,
                                channels, wide[k])
                  : kZeros;
        }
        sums.Add(terms, channels);
      }
      output[2 * p] = FromCompute<T>(sums.Total(0));
      output[2 * p + 1] = FromCompute<T>(sums.Total(1));
    }
  }
};

// Adds to row `row` of `sums`, an image, the points in the cells' row `row` - `below`: from corners
// 2 and 3 if `below`, else from 0 and 1.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE void AddPoints(const ResamplerDims& dims, ResamplerOrder order,
                                     const T* gradients, const T* warp, const int64_t* sorted,
                                     int64_t count, int64_t known, int64_t row, int below,
                                     ComputeType<T>* sums) {
  using C = ComputeType<T>;
  for (int64_t i = 0; i < count; ++i) {
    const auto cell = FindCell(dims, warp + 2 * sorted[i]);
    const T* gradient = gradients + sorted[i] * dims.channels;
    if (i + kPointsAhead < known) {
      PrefetchRow(gradients + sorted[i + kPointsAhead] * dims.channels, dims.channels);
    }
    for (int64_t c = 0; c < dims.channels; c += kChannelBlock) {
      const int64_t channels = std::min(kChannelBlock, dims.channels - c);
      C wide[kChannelBlock];
      const C* values = Values<Isa>(gradient + c, channels, wide);
      for (int k = 2 * below; k < 2 * below + 2; ++k) {
        const auto corner = Corner(cell, k, order);
        if (!IsPixel(corner, dims) || corner.weight == 0) continue;
        C* pixel = sums + row * dims.row_size() + corner.x * dims.channels + c;
        if (channels == kChannelBlock) {
          AddScaled(corner.weight, values, kChannelBlock, pixel);
        } else {
          AddScaled(corner.weight, values, channels, pixel);
        }
      }
    }
  }
}

template <typename T>
struct AdjointRows {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(ResamplerDims dims, ResamplerOrder order,
                                        const T* gradients, const T* warp, const int64_t* sorted,
                                        const int64_t* starts, int64_t begin, int64_t end,
                                        ComputeType<T>* sums) {
    for (int64_t row = begin; row < end; ++row) {
      for (int below = 1; below >= 0; --below) {
        const int64_t first = starts[1 + row - below];
        const int64_t count = starts[2 + row - below] - first;
        const int64_t known = starts[1 + end] - first;
        AddPoints<Isa>(dims, order, gradients, warp, sorted + first, count, known, row, below,
                       sums);
      }
    }
  }
};

// Calls fn(p, 1 + row), with the row of the cell, for those of points [begin, end) that are inside.
template <typename T, typename Fn>
void ForEachRow(const ResamplerDims& dims, const void* warp, int64_t begin, int64_t end, Fn&& fn) {
  ForEachBlock<T>(dims, static_cast<const T*>(warp), begin, end,
                  [&](PointBlock<T>* block, int count, int64_t, int64_t first) {
                    for (int i = 0; i < count; ++i) {
                      const int32_t row = block->y[i];
                      if (row != kOutside) fn(first + i, 1 + row);
                    }
                  });
}

// Calls fn(std::integral_constant<int, kSize>{}) for few channels.
template <typename Fn>
void DispatchFewChannels(int64_t channels, Fn&& fn) {
  if (channels == 1) return fn(std::integral_constant<int, 1>{});
  if (channels == 2) return fn(std::integral_constant<int, 2>{});
  if (channels <= 4) return fn(std::integral_constant<int, 4>{});
  static_assert(kFewChannels == 8, "the size of the largest");
  return fn(std::integral_constant<int, kFewChannels>{});
}

}  // namespace

void ResampleCpu(NumericType type, const ResamplerDims& dims, ResamplerOrder order,
                 const void* data, const void* warp, void* output, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* image = static_cast<const T*>(data);
    const T* point = static_cast<const T*>(warp);
    T* value = static_cast<T*>(output);
    if (!dims.has_few_channels()) {
      RunBest<SamplePoints<T>>(dims, order, image, point, value, begin, end);
      return;
    }
    DispatchFewChannels(dims.channels, [&](auto size) {
      SampleFewChannels<T, decltype(size)::value>(dims, order, image, point, value, begin, end);
    });
  });
}

void ResamplerWarpGradCpu(NumericType type, const ResamplerDims& dims, const void* gradients,
                          const void* data, const void* warp, void* warp_backprops, int64_t begin,
                          int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* upstream = static_cast<const T*>(gradients);
    const T* image = static_cast<const T*>(data);
    const T* point = static_cast<const T*>(warp);
    T* backprop = static_cast<T*>(warp_backprops);
    if (!dims.has_few_channels()) {
      RunBest<WarpGradients<T>>(dims, upstream, image, point, backprop, begin, end);
      return;
    }
    DispatchFewChannels(dims.channels, [&](auto size) {
      WarpGradientsFewChannels<T, decltype(size)::value>(dims, upstream, image, point, backprop,
                                                         begin, end);
    });
  });
}

void CountRowsCpu(NumericType type, const ResamplerDims& dims, const void* warp, int64_t begin,
                  int64_t end, int64_t* counts) {
  DispatchFloating(type, [&](auto tag) {
    ForEachRow<TypeOf<decltype(tag)>>(dims, warp, begin, end,
                                      [&](int64_t, int32_t row) { ++counts[row]; });
  });
}

void SortRowsCpu(NumericType type, const ResamplerDims& dims, const void* warp, int64_t begin,
                 int64_t end, int64_t* places, int64_t* sorted) {
  DispatchFloating(type, [&](auto tag) {
    ForEachRow<TypeOf<decltype(tag)>>(dims, warp, begin, end,
                                      [&](int64_t p, int32_t row) { sorted[places[row]++] = p; });
  });
}

void ResamplerAdjointCpu(NumericType type, const ResamplerDims& dims, ResamplerOrder order,
                         const void* gradients, const void* warp, const int64_t* sorted,
                         const int64_t* starts, int64_t image, int64_t begin, int64_t end,
                         float* sums, void* backprops) {
  const int64_t first = image * dims.image_size();
  const int64_t row = dims.row_size();
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    if (dims.has_few_channels()) {
      DispatchFewChannels(dims.channels, [&](auto size) {
        AdjointFewChannels<T, decltype(size)::value>(
            dims, order, static_cast<const T*>(gradients), static_cast<const T*>(warp), sorted,
            starts, begin, end, static_cast<T*>(backprops) + first);
      });
      return;
    }
    C* sum;
    if constexpr (std::is_same_v<T, C>) {
      sum = static_cast<C*>(backprops) + first;
    } else {
      sum = sums + first;
    }
    std::fill(sum + begin * row, sum + end * row, C(0));
    RunBest<AdjointRows<T>>(dims, order, static_cast<const T*>(gradients),
                            static_cast<const T*>(warp), sorted, starts, begin, end, sum);
    if constexpr (!std::is_same_v<T, C>) {
      Baseline::Narrow(sum + begin * row, static_cast<T*>(backprops) + first + begin * row,
                       (end - begin) * row);
    }
  });
}

}  // namespace tensorflow_ext
