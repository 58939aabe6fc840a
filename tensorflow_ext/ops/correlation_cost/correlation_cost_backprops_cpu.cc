// The loops of CorrelationCostAGrad and CorrelationCostBGrad. The loops of CorrelationCost are in
// correlation_cost_cpu.cc.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"
#include "tensorflow_ext/ops/correlation_cost/scaled_rows_cpu.h"

namespace tensorflow_ext {
namespace {

// Pixels that are summed together, from the same pixels of the other image.
constexpr int kPixels = 4;

// Bytes of channels of each pixel that the registers hold.
template <typename Isa>
constexpr int kMostBytes = 2 * kVectorBytes<Isa>;
#if defined(__x86_64__)
template <>
inline constexpr int kMostBytes<Avx512> = 4 * kVectorBytes<Avx512>;
#endif

// The number of rows of the other image that are read together: as many as the nearest cache can
// hold of the data that neighbouring pixels share.
int64_t RowsAtOnce(const CorrelationCostDims& dims) {
  constexpr int64_t kCache = 1 << 15;
  const int64_t bytes = 256 * (dims.displacements + kPixels - 1);
  return std::clamp<int64_t>(kCache / bytes, 1, dims.displacements);
}

// True if each pixel of a is a window. Its gradients are then its coefficients.
bool WindowsArePixels(const CorrelationCostDims& dims) {
  return dims.kernel_size == 1 && dims.stride_1 == 1;
}

// The size of the flags, in elements of type C, that mark which pixels of a row of a are in a
// window. Flags save a division.
template <typename C>
int64_t MaskSize(const CorrelationCostDims& dims) {
  return dims.width / sizeof(C) + 1;
}

// A pixel of a has one coefficient for each pixel of b that it meets: the sum of the gradients of
// the windows that contain both. A pixel's derivative is the sum of the pixels that it meets times
// their coefficients, in the order of the rows and columns of the other image.
template <typename T>
struct CorrelationGradRows {
  using C = ComputeType<T>;

  // Values that are the same for all rows of an image.
  struct Image {
    CorrelationCostDims dims;
    CorrelationArgument argument;
    int64_t channels;  // packed
    const C* gradients;
    const C* other;
    C* sums;           // [output_width, D]: gradients of the windows of a row
    C* coefficients;   // [RowsAtOnce, width, D]: for pixels of rows of a
    C* backprops;      // [width, channels]: the row being summed
    uint8_t* covered;  // [width]: true if a column of a is in a window
  };

  // Rows of the other image, at successive vertical displacements, and their coefficients for a's
  // pixels, D for each pixel.
  struct Rows {
    const C* first;  // row
    int64_t step;    // from one row to the next
    int64_t count;
    const C* coefficients;  // of pixel 0 of a, for the first row
    int64_t pixel_step;     // from one pixel to the next
    int64_t row_step;       // from one row to the next
  };

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(CorrelationCostDims dims, CorrelationArgument argument,
                                        int64_t channels, const C* gradients, const C* other,
                                        T* backprops, C* scratch, int64_t begin, int64_t end) {
    Image image = {dims, argument, channels, gradients, other};
    image.sums = scratch;
    image.coefficients = image.sums + dims.output_width * dims.displacements;
    C* const row_sums = image.coefficients + RowsAtOnce(dims) * dims.width * dims.displacements;
    image.covered = reinterpret_cast<uint8_t*>(row_sums + dims.width * channels);
    for (int64_t x = 0; x < dims.width; ++x) {
      image.covered[x] = !dims.Windows(x, dims.output_width).empty();
    }
    const int64_t image_gradients = dims.output_height * dims.output_width * dims.output_channels();
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / dims.height;
      image.gradients = gradients + n * image_gradients;
      image.other = other + n * dims.image_pixels() * channels;
      T* output = backprops + row * dims.width * dims.channels;
      image.backprops = row_sums;
      if constexpr (std::is_same_v<T, C>) {
        if (channels == dims.channels) image.backprops = output;
      }
      if (BackpropsRow<Isa>(image, row % dims.height)) {
        Store<Isa>(image, output);
      } else {
        std::fill_n(output, dims.width * dims.channels, T{});
      }
    }
  }

  // Computes row `y` of the derivative, without its scale, into image.backprops. Returns false if
  // the row is 0.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static bool BackpropsRow(const Image& image, int64_t y) {
    const CorrelationCostDims& dims = image.dims;
    const IndexRange inside = dims.DisplacementsInside(y, dims.height);
    bool is_any = false;
    for (int64_t i = inside.begin; i < inside.end;) {
      int64_t end = i;
      while (end < Smaller(inside.end, i + RowsAtOnce(dims)) &&
             !dims.Windows(RowOfA(image, y, end), dims.output_height).empty()) {
        ++end;
      }
      if (end == i) {
        ++i;
        continue;
      }
      if (!is_any) {
        std::fill_n(image.backprops, dims.width * image.channels, C(0));
      }
      is_any = true;
      AddRows<Isa>(image, RowsAt(image, y, {i, end}));
      i = end;
    }
    return is_any;
  }

  // The row of a that row `y` meets at vertical displacement `i`.
  TENSORFLOW_EXT_INLINE static int64_t RowOfA(const Image& image, int64_t y, int64_t i) {
    const bool is_a = image.argument == CorrelationArgument::kA;
    return is_a ? y : y + image.dims.Displacement(i);
  }
  // That displacement as seen from a. From b to a it is the opposite one.
  TENSORFLOW_EXT_INLINE static int64_t SeenFromA(const Image& image, int64_t i) {
    const bool is_a = image.argument == CorrelationArgument::kA;
    return is_a ? i : image.dims.displacements - 1 - i;
  }

  // The rows at vertical displacements `range` from row `y` of the derivative.
  TENSORFLOW_EXT_INLINE static Rows RowsAt(const Image& image, int64_t y, IndexRange range) {
    const CorrelationCostDims& dims = image.dims;
    const int64_t count = dims.displacements;
    // If stride_2 exceeds the height, there is only one row.
    const int64_t apart = Smaller(dims.stride_2, dims.height);
    const int64_t row_size = dims.width * image.channels;
    Rows rows;
    rows.first = image.other + (y + dims.Displacement(range.begin)) * row_size;
    rows.step = apart * row_size;
    rows.count = range.end - range.begin;
    if (WindowsArePixels(dims)) {
      const int64_t of_pixel = dims.output_channels();
      const int64_t of_row = dims.output_width * of_pixel;
      // The gradients begin at the first pixel, in rows as in columns.
      const int64_t row = RowOfA(image, y, range.begin) - dims.first_pixel();
      const int64_t column = -dims.first_pixel();
      const int64_t channel = SeenFromA(image, range.begin) * count;
      rows.coefficients = image.gradients + row * of_row + column * of_pixel + channel;
      rows.pixel_step = of_pixel;
      rows.row_step = image.argument == CorrelationArgument::kA ? count : apart * of_row - count;
      return rows;
    }
    rows.coefficients = image.coefficients;
    rows.pixel_step = count;
    rows.row_step = dims.width * count;
    for (int64_t i = range.begin; i < range.end; ++i) {
      SumGradients(image, RowOfA(image, y, i), SeenFromA(image, i),
                   image.coefficients + (i - range.begin) * rows.row_step);
    }
    return rows;
  }

  // The coefficients of row `y` of a at vertical displacement `i`.
  TENSORFLOW_EXT_INLINE static void SumGradients(const Image& image, int64_t y, int64_t i,
                                                 C* coefficients) {
    const CorrelationCostDims& dims = image.dims;
    const int64_t count = dims.displacements;
    const IndexRange rows = dims.Windows(y, dims.output_height);
    const int64_t row = dims.output_width * dims.output_channels();
    for (int64_t x = 0; x < dims.output_width; ++x) {
      Sum(image.gradients + x * dims.output_channels() + i * count, row, rows, count,
          image.sums + x * count);
    }
    for (int64_t x = 0; x < dims.width; ++x) {
      if (!image.covered[x]) continue;
      Sum(image.sums, count, dims.Windows(x, dims.output_width), count, coefficients + x * count);
    }
  }

  // sums = the sum of `terms`, `step` apart, in `range`, which is not empty.
  TENSORFLOW_EXT_INLINE static void Sum(const C* terms, int64_t step, IndexRange range,
                                        int64_t count, C* sums) {
    const C* first = terms + range.begin * step;
    for (int64_t j = 0; j < count; ++j) sums[j] = first[j];
    for (int64_t k = range.begin + 1; k < range.end; ++k) {
      const C* more = terms + k * step;
      for (int64_t j = 0; j < count; ++j) sums[j] += more[j];
    }
  }

  // The functions from here to the loops of scaled_rows_cpu.h gain nothing from an instruction set,
  // so they are ordinary functions.

  // image.backprops += coefficients * `rows`.
  template <typename Isa>
  static void AddRows(const Image& image, const Rows& rows) {
    int64_t c = 0;
    c = AddChannels<Isa, kMostBytes<Isa>>(image, rows, c);
    if constexpr (kMostBytes<Isa> > 128) {
      c = AddChannels<Isa, 128>(image, rows, c);
    }
    if constexpr (kMostBytes<Isa> > 64) {
      AddChannels<Isa, 64>(image, rows, c);
    }
  }

  // Processes the channels starting at `c`, while kBytes of them are left. Returns the first
  // channel that is left. Pixels that are stride_2 apart meet the same pixels.
  template <typename Isa, int kBytes>
  static int64_t AddChannels(const Image& image, const Rows& rows, int64_t c) {
    constexpr int64_t kBlock = kBytes / sizeof(C);
    const int64_t width = image.dims.width;
    const int64_t step = std::min(image.dims.stride_2, width);
    for (; c + kBlock <= image.channels; c += kBlock) {
      for (int64_t phase = 0; phase < step; ++phase) {
        int64_t x = phase;
        for (; x + (kPixels - 1) * step < width; x += kPixels * step) {
          int summed = 0;
          for (int k = 0; k < kPixels; ++k) {
            summed += IsSummed(image, x + k * step);
          }
          if (summed == kPixels) {
            AddPixels<Isa, kPixels, kBytes>(image, rows, c, x);
          } else if (summed > 0) {
            for (int k = 0; k < kPixels; ++k) {
              AddPixel<Isa, kBytes>(image, rows, c, x + k * step);
            }
          }
        }
        for (; x < width; x += step) AddPixel<Isa, kBytes>(image, rows, c, x);
      }
    }
    return c;
  }

  // True if a pixel meets any other.
  static bool IsSummed(const Image& image, int64_t x) {
    return image.argument == CorrelationArgument::kB || image.covered[x];
  }

  template <typename Isa, int kBytes>
  static void AddPixel(const Image& image, const Rows& rows, int64_t c, int64_t x) {
    if (IsSummed(image, x)) AddPixels<Isa, 1, kBytes>(image, rows, c, x);
  }

  // Processes pixel x and pixels x + stride_2, x + 2 * stride_2 ... From x, the pixels that they
  // meet are at displacements t = 0, 1 ... D + kCount - 2.
  template <typename Isa, int kCount, int kBytes>
  static void AddPixels(const Image& image, const Rows& rows, int64_t c, int64_t x) {
    const CorrelationCostDims& dims = image.dims;
    const IndexRange inside = {
        dims.DisplacementsInside(x, dims.width).begin,
        std::min(dims.displacements + kCount - 1,
                 dims.displacements / 2 + Steps(dims.width - 1 - x, dims.stride_2) + 1)};
    if (image.argument == CorrelationArgument::kA) {
      AddRun<Isa, kCount, kBytes>(image, rows, c, x, inside);
      return;
    }
    const uint8_t* covered = image.covered + x;
    for (int64_t t = inside.begin; t < inside.end;) {
      int64_t end = t;
      while (end < inside.end && covered[dims.Displacement(end)]) ++end;
      if (end > t) AddRun<Isa, kCount, kBytes>(image, rows, c, x, {t, end});
      t = end + 1;
    }
  }

  // Processes the pixels at displacements `run`.
  template <typename Isa, int kCount, int kBytes>
  static void AddRun(const Image& image, const Rows& rows, int64_t c, int64_t x, IndexRange run) {
    const CorrelationCostDims& dims = image.dims;
    const int64_t count = dims.displacements, step = dims.stride_2;
    const int64_t first = x + dims.Displacement(run.begin);  // the pixel met
    ScaledRows<C> in;
    in.rows = rows.first + first * image.channels + c;
    in.row_step = step * image.channels;
    in.layer_step = rows.step;
    in.factor_layer_step = rows.row_step;
    in.begin = run.begin;
    in.end = run.end;
    in.width = count;
    in.layers = rows.count;
    // The coefficient of pixel p of a at displacement j is p * pixel_step + j. Here p = x + k *
    // step, and j is t - k or its opposite.
    if (image.argument == CorrelationArgument::kA) {
      in.factors = rows.coefficients + x * rows.pixel_step + run.begin;
      in.factor_step = 1;
      in.output_step = step * rows.pixel_step - 1;
    } else {
      in.factors = rows.coefficients + first * rows.pixel_step + count - 1 - run.begin;
      in.factor_step = step * rows.pixel_step - 1;
      in.output_step = 1;
    }
    AddScaledRows<Isa, C, kCount, kBytes>(in, image.backprops + x * image.channels + c,
                                          step * image.channels);
  }

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Store(const Image& image, T* output) {
    const int64_t channels = image.dims.channels;
    const C scale = static_cast<C>(image.dims.scale());
    for (int64_t x = 0; x < image.dims.width; ++x, output += channels) {
      C* pixel = image.backprops + x * image.channels;
      if constexpr (std::is_same_v<T, C>) {
        for (int64_t c = 0; c < channels; ++c) output[c] = pixel[c] * scale;
      } else {
        for (int64_t c = 0; c < channels; ++c) pixel[c] *= scale;
        Isa::Narrow(pixel, output, channels);
      }
    }
  }
};

}  // namespace

int64_t CorrelationCostGradScratch(NumericType type, const CorrelationCostDims& dims) {
  return DispatchFloating(type, [&](auto tag) -> int64_t {
    using C = ComputeType<TypeOf<decltype(tag)>>;
    return (dims.output_width + RowsAtOnce(dims) * dims.width) * dims.displacements +
           dims.width * PackedChannels(type, dims.channels) + MaskSize<C>(dims);
  });
}

void CorrelationCostGradCpu(NumericType type, const CorrelationCostDims& dims,
                            CorrelationArgument argument, const void* gradients, const void* other,
                            void* backprops, void* scratch, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    RunBest<CorrelationGradRows<T>>(dims, argument, PackedChannels(type, dims.channels),
                                    static_cast<const C*>(gradients), static_cast<const C*>(other),
                                    static_cast<T*>(backprops), static_cast<C*>(scratch), begin,
                                    end);
  });
}

}  // namespace tensorflow_ext
