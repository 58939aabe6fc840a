// SPDX-License-Identifier: Apache-2.0
//
// The loops of CorrelationCost; those of its gradients are in
// correlation_cost_backprops_cpu.cc.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/dot_products_cpu.h"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"

namespace tensorflow_ext {
namespace {

// Rows of products that overlapping windows share.
int64_t RingRows(const CorrelationCostDims& dims) {
  return std::min(dims.kernel_size, dims.height);
}

// A pixel's products: its displacements, and what FinishDots writes behind.
TENSORFLOW_EXT_INLINE int64_t RowStride(const CorrelationCostDims& dims) {
  return dims.displacements + kMaxDots;
}

template <typename T>
struct PackPixels {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(int64_t channels, int64_t packed,
                                        const T* from, C* to, int64_t begin,
                                        int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* pixel = from + i * channels;
      C* output = to + i * packed;
      if constexpr (std::is_same_v<T, C>) {
        for (int64_t c = 0; c < channels; ++c) output[c] = pixel[c];
      } else {
        Isa::Widen(pixel, output, channels);
      }
      for (int64_t c = channels; c < packed; ++c) output[c] = 0;
    }
  }
};

template <typename T>
struct CorrelateRows {
  using C = ComputeType<T>;

  // What stays the same for all rows of an image.
  struct Image {
    CorrelationCostDims dims;
    int64_t channels;  // packed
    const C* a;
    const C* b;
    T* output;
    C* ring;     // [RingRows, width, RowStride]: products, row by row of a
    C* sums;     // [width, RowStride]: of the rows in a window
    C* outputs;  // [RowStride]: one pixel's outputs
  };

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(CorrelationCostDims dims,
                                        int64_t channels, const C* a,
                                        const C* b, T* output, C* scratch,
                                        int64_t begin, int64_t end) {
    const int64_t row = dims.width * RowStride(dims);
    const int64_t ring = RingRows(dims) * row;
    Image image = {dims,
                   channels,
                   a,
                   b,
                   output,
                   scratch,
                   scratch + ring,
                   scratch + ring + row};
    // Windows of one pixel share nothing.
    const int64_t most = dims.kernel_size == 1 ? 1 : dims.output_height;
    for (int64_t first = begin; first < end;) {
      const int64_t n = first / dims.output_height;
      const int64_t y = first % dims.output_height;
      const int64_t rows =
          std::min({most, dims.output_height - y, end - first});
      const int64_t size = dims.image_pixels() * channels;
      image.a = a + n * size;
      image.b = b + n * size;
      image.output = output + n * dims.output_height * dims.output_width *
                                  dims.output_channels();
      for (int64_t i = 0; i < dims.displacements; ++i) {
        OutputRows<Isa>(image, i, y, y + rows);
      }
      first += rows;
    }
  }

  // Rows [begin, end) of the output, at vertical displacement `i`.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void OutputRows(const Image& image, int64_t i,
                                               int64_t begin, int64_t end) {
    const CorrelationCostDims& dims = image.dims;
    const int64_t row = dims.width * RowStride(dims);
    const int64_t slots = RingRows(dims);
    int64_t next = 0;  // the first row of a whose products are not there
    for (int64_t y = begin; y < end; ++y) {
      const IndexRange window = dims.Window(y, dims.height);
      for (next = std::max(next, window.begin); next < window.end; ++next) {
        Products<Isa>(image, next, next + dims.Displacement(i),
                      image.ring + next % slots * row);
      }
      const C* sums = image.ring + window.begin % slots * row;
      if (window.end - window.begin > 1) {
        AddRows(image, window, sums, row);
        sums = image.sums;
      }
      T* output = image.output +
                  y * dims.output_width * dims.output_channels() +
                  i * dims.displacements;
      for (int64_t x = 0; x < dims.output_width; ++x) {
        const IndexRange columns =
            window.empty() ? IndexRange{0, 0} : dims.Window(x, dims.width);
        Output<Isa>(image, sums, columns, output + x * dims.output_channels());
      }
    }
  }

  // The products of row `y` of a with row `other` of b, which may lie outside:
  // [width, RowStride], for the columns in any window.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Products(const Image& image, int64_t y,
                                             int64_t other, C* products) {
    const CorrelationCostDims& dims = image.dims;
    const bool inside = other >= 0 && other < dims.height;
    const C* a = image.a + y * dims.width * image.channels;
    const C* b = image.b + (inside ? other : 0) * dims.width * image.channels;
    // Pixels that are stride_2 apart meet the same pixels of b.
    const int64_t step = std::min(dims.stride_2, dims.width);
    for (int64_t phase = 0; phase < step; ++phase) {
      for (int64_t x = phase; x < dims.width; x += step) {
        if (dims.Windows(x, dims.output_width).empty()) continue;
        C* product = products + x * RowStride(dims);
        IndexRange range = dims.DisplacementsInside(x, dims.width);
        if (!inside) range = {0, 0};
        std::fill(product, product + range.begin, C(0));
        Dots<Isa>(image, a + x * image.channels, b, x, range, product);
        std::fill(product + range.end, product + dims.displacements, C(0));
      }
    }
  }

  // Of one pixel with those of a row of b at displacements `range`.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Dots(const Image& image, const C* pixel,
                                         const C* b, int64_t x,
                                         IndexRange range, C* products) {
    const int64_t step = image.dims.stride_2 * image.channels;
    const C* other =
        b + (x + image.dims.Displacement(range.begin)) * image.channels;
    int64_t calls = (range.end - range.begin + kMaxDots - 1) / kMaxDots;
    for (int64_t j = range.begin; j < range.end; --calls) {
      const int count = static_cast<int>((range.end - j + calls - 1) / calls);
      const C* rows[kMaxDots];
      for (int r = 0; r < count; ++r) rows[r] = other + r * step;
      DotSums<C> sums;
      ClearDots(count, &sums);
      AddDots<Isa>(pixel, rows, count, image.channels, &sums);
      FinishDots<Isa>(sums, count, products + j);
      other += count * step;
      j += count;
    }
  }

  // image.sums = the sum of the rows of products in `window`; `first` is its
  // first one.
  TENSORFLOW_EXT_INLINE static void AddRows(const Image& image,
                                            IndexRange window, const C* first,
                                            int64_t row) {
    const CorrelationCostDims& dims = image.dims;
    const int64_t slots = RingRows(dims);
    for (int64_t y = window.begin + 1; y < window.end; ++y) {
      const C* more = image.ring + y % slots * row;
      const C* so_far = y == window.begin + 1 ? first : image.sums;
      for (int64_t x = 0; x < dims.width; ++x) {
        if (dims.Windows(x, dims.output_width).empty()) continue;
        const int64_t at = x * RowStride(dims);
#pragma GCC ivdep
        for (int64_t j = 0; j < dims.displacements; ++j) {
          image.sums[at + j] = so_far[at + j] + more[at + j];
        }
      }
    }
  }

  // The outputs of a window over `columns` of `sums`.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Output(const Image& image, const C* sums,
                                           IndexRange columns, T* output) {
    const int64_t count = image.dims.displacements;
    const int64_t stride = RowStride(image.dims);
    const C scale = static_cast<C>(image.dims.scale());
    if (columns.empty()) {
      std::fill(output, output + count, T{});
      return;
    }
    const C* first = sums + columns.begin * stride;
    C* total = image.outputs;
    if constexpr (std::is_same_v<T, C>) {
      if (columns.end - columns.begin == 1) {
        for (int64_t j = 0; j < count; ++j) output[j] = first[j] * scale;
        return;
      }
    }
    for (int64_t j = 0; j < count; ++j) total[j] = first[j];
    for (int64_t x = columns.begin + 1; x < columns.end; ++x) {
      const C* more = sums + x * stride;
      for (int64_t j = 0; j < count; ++j) total[j] += more[j];
    }
    for (int64_t j = 0; j < count; ++j) total[j] *= scale;
    if constexpr (std::is_same_v<T, C>) {
      for (int64_t j = 0; j < count; ++j) output[j] = total[j];
    } else {
      Isa::Narrow(total, output, count);
    }
  }
};

}  // namespace

int64_t PackedChannels(NumericType type, int64_t channels) {
  return DispatchFloating(type, [&](auto tag) -> int64_t {
    constexpr int64_t kLanes = kDotLanes<ComputeType<TypeOf<decltype(tag)>>>;
    return (channels + kLanes - 1) / kLanes * kLanes;
  });
}

bool IsPacked(NumericType type, int64_t channels) {
  return (type == NumericType::kFloat || type == NumericType::kDouble) &&
         PackedChannels(type, channels) == channels;
}

void PackPixelsCpu(NumericType type, int64_t channels, const void* pixels,
                   void* packed, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<PackPixels<T>>(channels, PackedChannels(type, channels),
                           static_cast<const T*>(pixels),
                           static_cast<ComputeType<T>*>(packed), begin, end);
  });
}

int64_t CorrelationCostScratch(NumericType /*type*/,
                               const CorrelationCostDims& dims) {
  return ((RingRows(dims) + 1) * dims.width + 1) * RowStride(dims);
}

void CorrelationCostCpu(NumericType type, const CorrelationCostDims& dims,
                        const void* a, const void* b, void* output,
                        void* scratch, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    RunBest<CorrelateRows<T>>(dims, PackedChannels(type, dims.channels),
                              static_cast<const C*>(a),
                              static_cast<const C*>(b), static_cast<T*>(output),
                              static_cast<C*>(scratch), begin, end);
  });
}

}  // namespace tensorflow_ext
