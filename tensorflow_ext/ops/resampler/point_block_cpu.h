// The cells, weights and pixels of a block of points, computed together. Computing them point by
// point would take longer than summing a few channels. For RunBest (kernels/simd.h).

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tensorflow_ext/kernels/arithmetic.h"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/resampler/resampler.h"

namespace tensorflow_ext {

// The number of points in a block.
constexpr int kBlockPoints = 64;

// x and y of a point that has no pixel at any corner.
constexpr int32_t kOutside = -2;

// Data of up to kBlockPoints points. All arrays are filled to their end, with the values for (0, 0)
// after the last point.
template <typename T>
struct PointBlock {
  using C = ComputeType<T>;

  // As FindCell returns them.
  int32_t x[kBlockPoints], y[kBlockPoints];
  C fx[kBlockPoints], fy[kBlockPoints];
  // The weights of corner k.
  C weights[4][kBlockPoints];
  const T* pixels[4][kBlockPoints];
};

// Computes the cells of `count` points.
template <typename T>
struct FindCells {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(ResamplerDims dims, const T* warp, int count,
                                        PointBlock<T>* block) {
    C points[2 * kBlockPoints] = {};
    if constexpr (!std::is_same_v<T, C>) {
      Isa::Widen(warp, points, 2 * count);
      FindAll(dims, points, block);
    } else if (count == kBlockPoints) {
      FindAll(dims, warp, block);
    } else {
      std::copy(warp, warp + 2 * count, points);
      FindAll(dims, points, block);
    }
  }

 private:
  TENSORFLOW_EXT_INLINE static void FindAll(const ResamplerDims& dims, const C* points,
                                            PointBlock<T>* block) {
    const C width = static_cast<C>(dims.width);
    const C height = static_cast<C>(dims.height);
    for (int i = 0; i < kBlockPoints; ++i) {
      const C x = points[2 * i], y = points[2 * i + 1];
      // With & and Where, the compiler sees no branches.
      const bool inside = (x > C(-1)) & (x < width) & (y > C(-1)) & (y < height);
      const C in_x = Where(inside, x, C(0)), in_y = Where(inside, y, C(0));
      const int32_t left = static_cast<int32_t>(in_x) - (in_x < C(0));
      const int32_t top = static_cast<int32_t>(in_y) - (in_y < C(0));
      block->fx[i] = in_x - static_cast<C>(left);
      block->fy[i] = in_y - static_cast<C>(top);
      block->x[i] = inside ? left : kOutside;
      block->y[i] = inside ? top : kOutside;
    }
  }
};

// Computes the weights of a block's corners.
template <typename T>
struct FindWeights {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(ResamplerOrder order, PointBlock<T>* block) {
    using C = ComputeType<T>;
    // A side's weights are low - slope * fraction and high + slope * fraction.
    const C slope_x = order.x == 0, low_x = order.x == 0 ? 1 : -1;
    const C slope_y = order.y == 0, low_y = order.y == 0 ? 1 : -1;
    const C high_x = order.x != 0, high_y = order.y != 0;
    for (int i = 0; i < kBlockPoints; ++i) {
      const C x = slope_x * block->fx[i], y = slope_y * block->fy[i];
      block->weights[0][i] = (low_x - x) * (low_y - y);
      block->weights[1][i] = (high_x + x) * (low_y - y);
      block->weights[2][i] = (low_x - x) * (high_y + y);
      block->weights[3][i] = (high_x + x) * (high_y + y);
    }
  }
};

// Images in which a full register may be read at each pixel, even if a pixel has fewer elements.
template <typename T>
class PaddedImages {
 public:
  PaddedImages(const ResamplerDims& dims, const T* data) : data(data) {
    const int64_t size = dims.images * dims.image_size();
    if (size == 0) return;
    last = data + (size - dims.channels);
    std::copy(last, last + dims.channels, copy_of_last);
  }

  const T* data;
  const T* last = nullptr;  // the last pixel of all images
  T copy_of_last[kFewChannels] = {};
};

// Finds the pixels at a block's corners, for points of `image`. A corner that is no pixel points at
// zeros. If `weighted`, so does a pixel whose weight is 0, because it may be infinite.
template <typename T>
struct FindPixels {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(ResamplerDims dims, const PaddedImages<T>* images,
                                        int64_t image, bool weighted, PointBlock<T>* block) {
    static constexpr T kZeros[kFewChannels] = {};
    const T* first = images->data + image * dims.image_size();
    const T* last = images->last;
    const T* copy_of_last = images->copy_of_last;
    // Both are below 2^31.
    const int32_t width = static_cast<int32_t>(dims.width);
    const int32_t height = static_cast<int32_t>(dims.height);
    const int64_t row = dims.row_size();
    const T* corners[kBlockPoints];
    for (int i = 0; i < kBlockPoints; ++i) {
      corners[i] = first + (block->y[i] * row + block->x[i] * dims.channels);
    }
    for (int k = 0; k < 4; ++k) {
      const int64_t offset = (k & 1) * dims.channels + (k >> 1) * row;
      for (int i = 0; i < kBlockPoints; ++i) {
        const int32_t x = block->x[i] + (k & 1), y = block->y[i] + (k >> 1);
        const bool is_read = (x >= 0) & (x < width) & (y >= 0) & (y < height) &
                             (!weighted | (block->weights[k][i] != 0));
        const T* pixel = corners[i] + offset;
        pixel = pixel == last ? copy_of_last : pixel;
        block->pixels[k][i] = is_read ? pixel : kZeros;
      }
    }
  }
};

}  // namespace tensorflow_ext
