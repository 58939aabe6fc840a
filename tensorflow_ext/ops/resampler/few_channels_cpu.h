// Resampling of images with up to kFewChannels channels. Values that all channels share are
// computed for a block of points at once (point_block_cpu.h). Then each point sums its pixels in
// registers for 1, 2, 4 or 8 channels. Values that are read behind a pixel are not used, and values
// that are written behind it are overwritten.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensorflow_ext/kernels/lane_sums_cpu.h"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/pixels_cpu.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/resampler/point_block_cpu.h"
#include "tensorflow_ext/ops/resampler/resampler.h"

namespace tensorflow_ext {

// kSize elements, in vectors of up to 16 bytes, as every instruction set has.
template <typename C, int kBytes>
struct VectorOf {
  typedef C type __attribute__((vector_size(kBytes)));
};
template <>
struct VectorOf<float, sizeof(float)> {
  using type = float;
};
template <>
struct VectorOf<double, sizeof(double)> {
  using type = double;
};
template <typename C, int kSize>
using PixelVector = typename VectorOf<C, std::min<int>(16, kSize * sizeof(C))>::type;
template <typename C, int kSize>
constexpr int kPixelStep = sizeof(PixelVector<C, kSize>) / sizeof(C);

// The corner pixels of a block's points, in the compute type.
template <typename T, int kSize>
class CornerPixels {
 public:
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE void Read(const PointBlock<T>& block, int count) {
    for (int k = 0; k < 4 && kCopied; ++k) {
      if constexpr (std::is_same_v<T, C>) {
        for (int i = 0; i < count; ++i) copies_[k][i] = *block.pixels[k][i];
      } else {
        T narrow[kBlockPoints * kSize];
        for (int i = 0; i < count; ++i) {
          std::memcpy(narrow + i * kSize, block.pixels[k][i], kSize * sizeof(T));
        }
        Isa::Widen(narrow, copies_[k], count * kSize);
      }
    }
  }

  // Corner k of point i.
  TENSORFLOW_EXT_INLINE const C* At(const PointBlock<T>& block, int k, int i) const {
    if constexpr (kCopied) {
      return copies_[k] + i * kSize;
    } else {
      return block.pixels[k][i];
    }
  }

 private:
  // A copy converts pixels, or puts single channels into vectors of points.
  static constexpr bool kCopied = !std::is_same_v<T, C> || kSize == 1;
  C copies_[4][kCopied ? kBlockPoints * kSize : 1];
};

// Computes weighted sums of the pixels of `count` points.
template <typename T, int kSize>
struct SampleBlock {
  using C = ComputeType<T>;

  // If `may_pass`, elements may be written behind the last point.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(int64_t channels, int count, const PointBlock<T>* block,
                                        bool may_pass, T* output) {
    if constexpr (kSize <= 2) channels = kSize;  // a compile-time constant
    CornerPixels<T, kSize> corners;
    corners.template Read<Isa>(*block, count);
    if constexpr (std::is_same_v<T, C>) {
      if (may_pass) return Blend(channels, count, *block, corners, output);
    }
    C values[kBlockPoints * kSize];
    Blend(channels, count, *block, corners, values);
    StoreSums<Isa>(values, count * channels, output);
  }

 private:
  TENSORFLOW_EXT_INLINE static void Blend(int64_t channels, int count, const PointBlock<T>& block,
                                          const CornerPixels<T, kSize>& corners,
                                          C* __restrict output) {
    for (int i = 0; i < count; ++i) {
      const C w0 = block.weights[0][i], w1 = block.weights[1][i];
      const C w2 = block.weights[2][i], w3 = block.weights[3][i];
      const C *c0 = corners.At(block, 0, i), *c1 = corners.At(block, 1, i);
      const C *c2 = corners.At(block, 2, i), *c3 = corners.At(block, 3, i);
      for (int c = 0; c < kSize; c += kPixelStep<C, kSize>) {
        PixelVector<C, kSize> p0, p1, p2, p3;
        Load(c0 + c, &p0);
        Load(c1 + c, &p1);
        Load(c2 + c, &p2);
        Load(c3 + c, &p3);
        p0 = (w0 * p0 + w1 * p1) + (w2 * p2 + w3 * p3);
        std::memcpy(output + i * channels + c, &p0, sizeof(p0));
      }
    }
  }
};

// Computes the derivatives by x and y at `count` points.
template <typename T, int kSize>
struct WarpGradientsOfBlock {
  using C = ComputeType<T>;

  // If `may_pass`, elements may be read behind the last point's gradient.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(int64_t channels, int count, const PointBlock<T>* block,
                                        bool may_pass, const T* gradients, T* output) {
    if constexpr (kSize <= 2) channels = kSize;  // a compile-time constant
    CornerPixels<T, kSize> corners;
    corners.template Read<Isa>(*block, count);
    C terms[2][kBlockPoints * kSize];
    if (std::is_same_v<T, C> && may_pass) {
      SetTerms(channels, count, *block, corners, Values<Isa>(gradients, 0, terms[0]), terms);
    } else {
      C wide[kBlockPoints * kSize] = {};
      if constexpr (std::is_same_v<T, C>) {
        for (int64_t i = 0; i < count * channels; ++i) wide[i] = gradients[i];
      } else {
        Isa::Widen(gradients, wide, count * channels);
      }
      SetTerms(channels, count, *block, corners, wide, terms);
    }
    C sums[2 * kBlockPoints];
    for (int i = 0; i < count; ++i) {
      const bool inside = block->x[i] != kOutside;
      const C x = SumOfLanes<0, 1>(terms[0] + i * kSize, channels);
      const C y = SumOfLanes<0, 1>(terms[1] + i * kSize, channels);
      sums[2 * i] = Where(inside, x, C(0));
      sums[2 * i + 1] = Where(inside, y, C(0));
    }
    StoreSums<Isa>(sums, 2 * count, output);
  }

 private:
  // Computes the terms that each channel of each point adds to its derivatives.
  TENSORFLOW_EXT_INLINE static void SetTerms(int64_t channels, int count,
                                             const PointBlock<T>& block,
                                             const CornerPixels<T, kSize>& corners,
                                             const C* gradients,
                                             C (*__restrict terms)[kBlockPoints * kSize]) {
    for (int i = 0; i < count; ++i) {
      const C fx = block.fx[i], fy = block.fy[i];
      const C *c0 = corners.At(block, 0, i), *c1 = corners.At(block, 1, i);
      const C *c2 = corners.At(block, 2, i), *c3 = corners.At(block, 3, i);
      for (int c = 0; c < kSize; c += kPixelStep<C, kSize>) {
        PixelVector<C, kSize> upstream, p0, p1, p2, p3;
        Load(gradients + i * channels + c, &upstream);
        Load(c0 + c, &p0);
        Load(c1 + c, &p1);
        Load(c2 + c, &p2);
        Load(c3 + c, &p3);
        const PixelVector<C, kSize> x = upstream * ((p1 - p0) * (C(1) - fy) + (p3 - p2) * fy);
        const PixelVector<C, kSize> y = upstream * ((p2 - p0) * (C(1) - fx) + (p3 - p1) * fx);
        std::memcpy(terms[0] + i * kSize + c, &x, sizeof(x));
        std::memcpy(terms[1] + i * kSize + c, &y, sizeof(y));
      }
    }
  }

  // The sum of lanes kFirst, kFirst + kStep ..., in the order of LaneSums
  // (kernels/lane_sums_cpu.h).
  template <int kFirst, int kStep>
  TENSORFLOW_EXT_INLINE static C SumOfLanes(const C* lanes, int64_t channels) {
    if constexpr (kFirst + kStep < kSize) {
      return SumOfLanes<kFirst, 2 * kStep>(lanes, channels) +
             SumOfLanes<kFirst + kStep, 2 * kStep>(lanes, channels);
    } else if constexpr (kFirst <= kSize / 2) {
      return lanes[kFirst];  // Otherwise there would be fewer lanes.
    } else {
      return Where(kFirst < channels, lanes[kFirst], C(0));
    }
  }
};

// Calls fn(block, count, image, first) for the points [begin, end) of all images. A block has
// points of one image, and the cell of each.
template <typename T, typename Fn>
void ForEachBlock(const ResamplerDims& dims, const T* warp, int64_t begin, int64_t end, Fn&& fn) {
  PointBlock<T> block;
  while (begin < end) {
    const int64_t image = begin / dims.points;
    const int64_t last = std::min(end, (image + 1) * dims.points);
    const int count = static_cast<int>(std::min<int64_t>(kBlockPoints, last - begin));
    RunBest<FindCells<T>>(dims, warp + 2 * begin, count, &block);
    fn(&block, count, image, begin);
    begin += count;
  }
}

// Like ResampleCpu.
template <typename T, int kSize>
void SampleFewChannels(const ResamplerDims& dims, ResamplerOrder order, const T* data,
                       const T* warp, T* output, int64_t begin, int64_t end) {
  const PaddedImages<T> images(dims, data);
  ForEachBlock<T>(dims, warp, begin, end,
                  [&](PointBlock<T>* block, int count, int64_t image, int64_t first) {
                    RunBest<FindWeights<T>>(order, block);
                    RunBest<FindPixels<T>>(dims, &images, image, true, block);
                    RunBest<SampleBlock<T, kSize>>(dims.channels, count, block, first + count < end,
                                                   output + first * dims.channels);
                  });
}

// Like ResamplerWarpGradCpu.
template <typename T, int kSize>
void WarpGradientsFewChannels(const ResamplerDims& dims, const T* gradients, const T* data,
                              const T* warp, T* output, int64_t begin, int64_t end) {
  const PaddedImages<T> images(dims, data);
  ForEachBlock<T>(
      dims, warp, begin, end, [&](PointBlock<T>* block, int count, int64_t image, int64_t first) {
        RunBest<FindPixels<T>>(dims, &images, image, false, block);
        RunBest<WarpGradientsOfBlock<T, kSize>>(dims.channels, count, block, first + count < end,
                                                gradients + first * dims.channels,
                                                output + 2 * first);
      });
}

// Adds the gradients of `count` points to the rows of pixels above and below them. A row has one
// more column on each side, for corners that are no pixel. It also has a column at the end for
// weights of 0, because an infinite gradient must not make such a pixel NaN.
template <typename T, int kSize>
struct AddBlock {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(ResamplerDims dims, const PointBlock<T>* block,
                                        const T* gradients, const int64_t* points, int count,
                                        C* upper, C* lower) {
    const int64_t channels = kSize <= 2 ? kSize : dims.channels;
    int32_t columns[4][kBlockPoints];
    const int32_t unused = static_cast<int32_t>(dims.width) + 2;
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < kBlockPoints; ++i) {
        columns[k][i] = block->weights[k][i] != 0 ? block->x[i] + 1 + (k & 1) : unused;
      }
    }
    T narrow[kBlockPoints * kSize];
    const int64_t last = dims.all_points() - 1;
    for (int i = 0; i < count; ++i) {
      const T* from = gradients + points[i] * channels;
      if (points[i] == last) {  // Nothing follows it.
        std::fill_n(narrow + i * kSize, kSize, T{});
        std::copy(from, from + channels, narrow + i * kSize);
      } else {
        std::memcpy(narrow + i * kSize, from, kSize * sizeof(T));
      }
    }
    C wide[kBlockPoints * kSize];
    const C* values = Values<Isa>(narrow, count * kSize, wide);
    for (int i = 0; i < count; ++i) {
      const C* gradient = values + i * kSize;
      Add(block->weights[0][i], gradient, columns[0][i], upper);
      Add(block->weights[1][i], gradient, columns[1][i], upper);
      Add(block->weights[2][i], gradient, columns[2][i], lower);
      Add(block->weights[3][i], gradient, columns[3][i], lower);
    }
  }

 private:
  TENSORFLOW_EXT_INLINE static void Add(C weight, const C* gradient, int64_t column, C* row) {
    C* pixel = row + column * kSize;
    for (int c = 0; c < kSize; c += kPixelStep<C, kSize>) {
      PixelVector<C, kSize> value, sum;
      Load(gradient + c, &value);
      Load(pixel + c, &sum);
      sum += weight * value;
      std::memcpy(pixel + c, &sum, sizeof(sum));
    }
  }
};

// Writes a row of AddBlock without its extra columns and elements. The rest of the row is
// undefined.
template <typename T, int kSize>
struct StoreRow {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(ResamplerDims dims, C* row, T* output) {
    const int64_t channels = kSize <= 2 ? kSize : dims.channels;
    const C* from = row + kSize;
    C* to = row;
    if constexpr (std::is_same_v<T, C>) to = output;
    const int64_t last = dims.width - 1;
    for (int64_t i = 0; i < last; ++i) {
      for (int c = 0; c < kSize; c += kPixelStep<C, kSize>) {
        PixelVector<C, kSize> value;
        Load(from + i * kSize + c, &value);
        std::memcpy(to + i * channels + c, &value, sizeof(value));
      }
    }
    std::copy_n(from + last * kSize, channels, to + last * channels);
    if constexpr (!std::is_same_v<T, C>) {
      Isa::Narrow(row, output, dims.row_size());
    }
  }
};

// Like ResamplerAdjointCpu, with the pointer to the image's backprops. The sums of two rows stay in
// the first cache.
template <typename T, int kSize>
void AdjointFewChannels(const ResamplerDims& dims, ResamplerOrder order, const T* gradients,
                        const T* warp, const int64_t* sorted, const int64_t* starts, int64_t begin,
                        int64_t end, T* backprops) {
  using C = ComputeType<T>;
  const int64_t size = (dims.width + 3) * kSize;
  std::vector<C> rows(2 * size);
  C* upper = rows.data();
  C* lower = upper + size;
  PointBlock<T> block;
  int64_t above = 0;
  // Processes each row of cells once, for the pixels above and below it.
  for (int64_t row = begin - 1; row < end; ++row) {
    const int64_t first = starts[1 + row], last = starts[2 + row];
    for (int64_t i = first; i < last; i += kBlockPoints) {
      const int count = static_cast<int>(std::min<int64_t>(kBlockPoints, last - i));
      T points[2 * kBlockPoints];
      for (int j = 0; j < count; ++j) {
        std::memcpy(points + 2 * j, warp + 2 * sorted[i + j], 2 * sizeof(T));
      }
      RunBest<FindCells<T>>(dims, static_cast<const T*>(points), count, &block);
      RunBest<FindWeights<T>>(order, &block);
      RunBest<AddBlock<T, kSize>>(dims, &block, gradients, sorted + i, count, upper, lower);
    }
    const bool is_zero = above + (last - first) == 0;
    above = last - first;
    if (row >= begin) {
      T* output = backprops + row * dims.row_size();
      if (is_zero) {
        std::fill_n(output, dims.row_size(), T{});
      } else {
        RunBest<StoreRow<T, kSize>>(dims, upper, output);
      }
    }
    if (!is_zero) std::fill_n(upper, size, C(0));
    std::swap(upper, lower);
  }
}

}  // namespace tensorflow_ext
