// Rows of images whose pixels are contiguous for each channel, as vectors of pixels need them, and
// the transposition in both directions, for loops that RunBest runs (simd.h).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"

namespace tensorflow_ext {

// The number of pixels of the widest vector. Loops may read this much before the first row of
// transposed images and after the last.
template <typename C>
constexpr int64_t kMostPixels = 64 / sizeof(C);

// A transposed row is [channels, phases, columns]. Pixel x is in column x / phases of phase x %
// phases. So pixels that meet the same pixels are neighbours, and so are pixels in windows. The
// last column of some phases has no pixel.
struct TransposedRow {
  explicit TransposedRow(const CorrelationCostDims& dims)
      : width(dims.width), stride(std::min(dims.stride_2, width)), cycle(1) {
    if (dims.kernel_size < dims.stride_1) {
      const int64_t apart = dims.stride_1 / std::gcd(dims.stride_1, stride);
      if (apart <= width / stride) cycle = apart;
    }
    phases = stride * cycle;
    columns = (width + phases - 1) / phases;
  }

  // The number of elements of one channel.
  int64_t step() const { return phases * columns; }

  // The number of columns of `phase` that have a pixel.
  int64_t pixels(int64_t phase) const {
    return columns - (phase + (columns - 1) * phases >= width);
  }

  int64_t width;
  int64_t stride;  // stride_2, or less if only displacement 0 is inside
  int64_t cycle;   // displacements until the phase repeats
  int64_t phases, columns;
};

// True if any of `count` pixels of `phase` from column `at` on is in a window.
TENSORFLOW_EXT_INLINE bool InAnyWindow(const CorrelationCostDims& dims, const TransposedRow& row,
                                       int64_t phase, int64_t at, int64_t count) {
  for (int64_t k = at; k < at + count; ++k) {
    const int64_t x = phase + k * row.phases;
    if (!dims.Windows(x, dims.output_width).empty()) return true;
  }
  return false;
}

// A square of rows of 16 bytes.
template <typename C>
class Square {
 public:
  static constexpr int kSize = 16 / sizeof(C);

  TENSORFLOW_EXT_INLINE static void Transpose(const C* from, int64_t from_step, C* to,
                                              int64_t to_step) {
    Transpose(from, from_step, to, to_step, std::make_index_sequence<kSize>());
  }

 private:
  // Interleaves the first half of the rows with the second half, repeatedly.
  template <size_t... kLane>
  TENSORFLOW_EXT_INLINE static void Transpose(const C* from, int64_t from_step, C* to,
                                              int64_t to_step, std::index_sequence<kLane...>) {
    typedef C Vector __attribute__((vector_size(16)));
    typedef C Memory __attribute__((vector_size(16), aligned(alignof(C))));
    using Lanes = decltype(Vector{} < Vector{});
    Vector rows[] = {*(const Memory*)(from + kLane * from_step)...};
    for (int half = kSize / 2; half > 0; half /= 2) {
      Vector more[kSize];
      for (int r = 0; r < kSize / 2; ++r) {
        const Vector u = rows[r], v = rows[r + kSize / 2];
        more[2 * r] = __builtin_shuffle(u, v, Lanes{(kLane / 2 + kLane % 2 * kSize)...});
        more[2 * r + 1] =
            __builtin_shuffle(u, v, Lanes{((kLane + kSize) / 2 + kLane % 2 * kSize)...});
      }
      for (int r = 0; r < kSize; ++r) rows[r] = more[r];
    }
    ((*(Memory*)(to + kLane * to_step) = rows[kLane]), ...);
  }
};

// to[c * to_step + r] = from[r * from_step + c]. The arrays must not overlap.
template <typename C>
TENSORFLOW_EXT_INLINE void Transpose(const C* from, int64_t from_step, int64_t rows,
                                     int64_t columns, C* to, int64_t to_step) {
  constexpr int64_t kSize = Square<C>::kSize;
  if (rows < kSize || columns < kSize) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        to[c * to_step + r] = from[r * from_step + c];
      }
    }
    return;
  }
  // The last squares overlap earlier ones.
  for (int64_t r = 0; r < rows; r += kSize) {
    r = std::min(r, rows - kSize);
    for (int64_t c = 0; c < columns; c += kSize) {
      c = std::min(c, columns - kSize);
      Square<C>::Transpose(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
    }
  }
}

}  // namespace tensorflow_ext
