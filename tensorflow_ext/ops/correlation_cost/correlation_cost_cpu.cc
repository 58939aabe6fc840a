// The loops of CorrelationCost. The loops of its gradients are in
// correlation_cost_backprops_cpu.cc.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_tiles_cpu.h"
#include "tensorflow_ext/ops/correlation_cost/transposed_rows_cpu.h"

namespace tensorflow_ext {
namespace {

// The number of rows of products that overlapping windows share.
int64_t RingRows(const CorrelationCostDims& dims) {
  return std::min(dims.kernel_size, dims.height);
}

// The number of vertical displacements at which a pixel's products are computed together: one if
// windows overlap, else as many as the caches hold.
int64_t RowsAtOnce(const CorrelationCostDims& dims) {
  if (dims.kernel_size > 1) return 1;
  return std::clamp<int64_t>(2048 / dims.displacements, 1, dims.displacements);
}

template <typename T>
struct CorrelateRows {
  using C = ComputeType<T>;

  // Values that are the same for all rows of an image.
  struct Image {
    CorrelationCostDims dims;
    TransposedRow row;
    const C* a;
    const C* b;
    T* output;
    C* products;  // [RowsAtOnce, D, kPixelsAtOnce]
    C* outputs;   // [kPixelsAtOnce, RowsAtOnce, D], or of one pixel
    C* ring;      // [RingRows, width, D]: products, row by row of a
    C* sums;      // [width, D]: sums over the rows in a window
  };

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(CorrelationCostDims dims, const C* a, const C* b, T* output,
                                        C* scratch, int64_t begin, int64_t end) {
    Image image = {dims, TransposedRow(dims)};
    const int64_t size = kMostPixels<C> * RowsAtOnce(dims) * dims.displacements;
    image.products = scratch;
    image.outputs = image.products + size;
    image.ring = image.outputs + size;
    image.sums = image.ring + RingRows(dims) * dims.width * dims.displacements;
    for (int64_t first = begin; first < end;) {
      const int64_t n = first / dims.output_height;
      const int64_t y = first % dims.output_height;
      const int64_t rows = std::min(dims.output_height - y, end - first);
      const int64_t before = kMostPixels<C> + n * dims.height * image.row.step() * dims.channels;
      image.a = a + before;
      image.b = b + before;
      image.output = output + n * dims.output_height * dims.output_width * dims.output_channels();
      if (dims.kernel_size == 1) {
        for (int64_t r = y; r < y + rows; ++r) PixelsRow<Isa>(image, r);
      } else {
        for (int64_t i = 0; i < dims.displacements; ++i) {
          OutputRows<Isa>(image, i, y, y + rows);
        }
      }
      first += rows;
    }
  }

  // Computes row `y` of the output, where windows are pixels and share nothing.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void PixelsRow(const Image& image, int64_t y) {
    const CorrelationCostDims& dims = image.dims;
    const int64_t count = dims.output_channels();
    T* output = image.output + y * dims.output_width * count;
    const IndexRange window = dims.Window(y, dims.height);
    for (int64_t x = 0; x < dims.output_width; ++x) {
      if (window.empty() || dims.Window(x, dims.width).empty()) {
        std::fill_n(output + x * count, count, T{});
      }
    }
    if (window.empty()) return;
    const int64_t at_once = RowsAtOnce(dims);
    for (int64_t i = 0; i < dims.displacements; i += at_once) {
      const int64_t end = Smaller(i + at_once, dims.displacements);
      for (int64_t phase = 0; phase < image.row.phases; ++phase) {
        const int64_t pixels = image.row.pixels(phase);
        for (int64_t at = 0; at < pixels; at += kPixelsAtOnce<Isa, C>) {
          Pixels<Isa>(image, window.begin, {i, end}, phase, at, output);
        }
      }
    }
  }

  // Computes the outputs of that row at vertical displacements `rows`, for the pixels at columns
  // `at`, at + 1 ... of row `y` of a.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Pixels(const Image& image, int64_t y, IndexRange rows,
                                           int64_t phase, int64_t at, T* output) {
    constexpr int64_t kWidth = kPixelsAtOnce<Isa, C>;
    const CorrelationCostDims& dims = image.dims;
    const int64_t size = std::min(kWidth, image.row.pixels(phase) - at);
    if (!InAnyWindow(dims, image.row, phase, at, size)) return;
    C* products = image.products;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      Products<Isa>(image, y, i, phase, at, products);
      products += dims.displacements * kWidth;
    }
    const int64_t count = (rows.end - rows.begin) * dims.displacements;
    Transpose(image.products, kWidth, count, size, image.outputs, count);
    output += rows.begin * dims.displacements;
    for (int64_t k = 0; k < size; ++k) {
      const IndexRange outputs =
          dims.Windows(phase + (at + k) * image.row.phases, dims.output_width);
      if (outputs.empty()) continue;
      Store<Isa>(image, image.outputs + k * count, count,
                 output + outputs.begin * dims.output_channels());
    }
  }

  // Computes outputs from sums of products. It may overwrite the sums.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Store(const Image& image, C* from, int64_t count, T* to) {
    const C scale = static_cast<C>(image.dims.scale());
    if constexpr (std::is_same_v<T, C>) {
      for (int64_t j = 0; j < count; ++j) to[j] = from[j] * scale;
    } else {
      for (int64_t j = 0; j < count; ++j) from[j] *= scale;
      Isa::Narrow(from, to, count);
    }
  }

  // Computes rows [begin, end) of the output, at vertical displacement `i`.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void OutputRows(const Image& image, int64_t i, int64_t begin,
                                               int64_t end) {
    const CorrelationCostDims& dims = image.dims;
    const int64_t row = dims.width * dims.displacements;
    const int64_t slots = RingRows(dims);
    int64_t next = 0;  // the first row of a without products so far
    for (int64_t y = begin; y < end; ++y) {
      const IndexRange window = dims.Window(y, dims.height);
      for (next = std::max(next, window.begin); next < window.end; ++next) {
        RowProducts<Isa>(image, next, i, image.ring + next % slots * row);
      }
      const C* sums = image.ring + window.begin % slots * row;
      if (window.end - window.begin > 1) {
        AddRows(image, window, sums, row);
        sums = image.sums;
      }
      T* output =
          image.output + y * dims.output_width * dims.output_channels() + i * dims.displacements;
      for (int64_t x = 0; x < dims.output_width; ++x) {
        const IndexRange columns = window.empty() ? IndexRange{0, 0} : dims.Window(x, dims.width);
        Output<Isa>(image, sums, columns, output + x * dims.output_channels());
      }
    }
  }

  // The products of row `y` of a at vertical displacement `i`: [width, D].
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void RowProducts(const Image& image, int64_t y, int64_t i,
                                                C* products) {
    const int64_t count = image.dims.displacements;
    for (int64_t phase = 0; phase < image.row.phases; ++phase) {
      const int64_t pixels = image.row.pixels(phase);
      for (int64_t at = 0; at < pixels; at += kPixelsAtOnce<Isa, C>) {
        const int64_t size = std::min<int64_t>(kPixelsAtOnce<Isa, C>, pixels - at);
        if (!InAnyWindow(image.dims, image.row, phase, at, size)) continue;
        Products<Isa>(image, y, i, phase, at, image.products);
        Transpose(image.products, kPixelsAtOnce<Isa, C>, count, size,
                  products + (phase + at * image.row.phases) * count, image.row.phases * count);
      }
    }
  }

  // Computes the products of the pixels at columns `at`, at + 1 ... of row `y` of a with the pixels
  // at vertical displacement `i`: [D, kPixelsAtOnce].
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Products(const Image& image, int64_t y, int64_t i,
                                             int64_t phase, int64_t at, C* products) {
    constexpr int64_t kWidth = kPixelsAtOnce<Isa, C>;
    const CorrelationCostDims& dims = image.dims;
    const TransposedRow& row = image.row;
    const int64_t other = y + dims.Displacement(i);
    if (other < 0 || other >= dims.height) {
      std::fill_n(products, dims.displacements * kWidth, C(0));
      return;
    }
    const C* a = image.a + y * row.step() * dims.channels;
    const C* b = image.b + other * row.step() * dims.channels;
    for (int64_t j = 0; j < Smaller(row.cycle, dims.displacements); ++j) {
      // From lane k, displacement j + cycle * t leads to column first + k + t of phase `met`. The
      // sum is positive before the division.
      const int64_t middle = dims.displacements / 2;
      const int64_t x = phase + (j - middle) * row.stride + middle * row.phases;
      const int64_t met = x % row.phases;
      const int64_t first = at + x / row.phases - middle;
      const int64_t pixels = row.pixels(met);
      const int64_t count = Steps(dims.displacements - 1 - j, row.cycle) + 1;
      const int64_t begin = std::clamp<int64_t>(1 - kWidth - first, 0, count);
      const int64_t end = std::clamp(pixels - first, begin, count);
      const int64_t step = row.cycle * kWidth;
      C* const of_cycle = products + j * kWidth;
      CorrelatePixels<Isa>(a + phase * row.columns + at, b + met * row.columns + first + begin,
                           row.step(), dims.channels, end - begin, of_cycle + begin * step, step);
      if (first >= 0 && first + count - 1 + kWidth <= pixels) continue;
      // A pixel outside an image counts as 0, whatever its factor is.
      for (int64_t t = 0; t < count; ++t) {
        const int64_t inside = std::clamp<int64_t>(-first - t, 0, kWidth);
        const int64_t outside = std::clamp(pixels - first - t, inside, kWidth);
        C* const product = of_cycle + t * step;
        std::fill(product, product + inside, C(0));
        std::fill(product + outside, product + kWidth, C(0));
      }
    }
  }

  // image.sums = the sum of the rows of products in `window`, whose first row is `first`.
  TENSORFLOW_EXT_INLINE static void AddRows(const Image& image, IndexRange window, const C* first,
                                            int64_t row) {
    const int64_t slots = RingRows(image.dims);
    for (int64_t y = window.begin + 1; y < window.end; ++y) {
      const C* more = image.ring + y % slots * row;
      const C* so_far = y == window.begin + 1 ? first : image.sums;
#pragma GCC ivdep
      for (int64_t j = 0; j < row; ++j) image.sums[j] = so_far[j] + more[j];
    }
  }

  // Computes the outputs of a window over `columns` of `sums`.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Output(const Image& image, const C* sums, IndexRange columns,
                                           T* output) {
    const int64_t count = image.dims.displacements;
    if (columns.empty()) {
      std::fill(output, output + count, T{});
      return;
    }
    const C* first = sums + columns.begin * count;
    C* total = image.outputs;
    for (int64_t j = 0; j < count; ++j) total[j] = first[j];
    for (int64_t x = columns.begin + 1; x < columns.end; ++x) {
      const C* more = sums + x * count;
      for (int64_t j = 0; j < count; ++j) total[j] += more[j];
    }
    Store<Isa>(image, total, count, output);
  }
};

}  // namespace

int64_t CorrelationCostScratch(NumericType type, const CorrelationCostDims& dims) {
  return DispatchFloating(type, [&](auto tag) -> int64_t {
    using C = ComputeType<TypeOf<decltype(tag)>>;
    int64_t rows = 2 * kMostPixels<C> * RowsAtOnce(dims);
    if (dims.kernel_size > 1) rows += (RingRows(dims) + 1) * dims.width;
    return rows * dims.displacements;
  });
}

void CorrelationCostCpu(NumericType type, const CorrelationCostDims& dims, const void* a,
                        const void* b, void* output, void* scratch, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    RunBest<CorrelateRows<T>>(dims, static_cast<const C*>(a), static_cast<const C*>(b),
                              static_cast<T*>(output), static_cast<C*>(scratch), begin, end);
  });
}

}  // namespace tensorflow_ext
