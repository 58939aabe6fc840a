// SPDX-License-Identifier: Apache-2.0
//
// The loops of CorrelationCostAGrad and CorrelationCostBGrad; those of
// CorrelationCost are in correlation_cost_cpu.cc.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/lane_sums_cpu.h"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"
#include "tensorflow_ext/ops/correlation_cost/scaled_rows_cpu.h"

namespace tensorflow_ext {
namespace {

// Pixels that are summed side by side, from the same pixels of the other image.
constexpr int kPixels = 4;

// Bytes of channels that the registers hold of each.
template <typename Isa>
constexpr int kChannelBytes = 2 * kVectorBytes<Isa>;
#if defined(__x86_64__)
template <>
inline constexpr int kChannelBytes<Avx512> = 4 * kVectorBytes<Avx512>;
#endif

// Which pixels of a row of a are in a window takes a division: it is looked up.
// In elements of type C.
template <typename C>
int64_t MaskSize(const CorrelationCostDims& dims) {
  return dims.width / sizeof(C) + 1;
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

// A pixel of a has one coefficient for each pixel of b that it meets: the sum
// of the gradients of the windows that both are in. A pixel's derivative is the
// sum of the pixels that it meets times their coefficients, in the order of the
// rows and columns of the other image.
template <typename T>
struct CorrelationGradRows {
  using C = ComputeType<T>;

  // What stays the same for all rows of an image.
  struct Image {
    CorrelationCostDims dims;
    CorrelationArgument argument;
    int64_t channels;  // packed
    const T* gradients;
    const C* other;
    C* sums;           // [output_width, D]: gradients of the windows of a row
    C* coefficients;   // [width, D]: of the pixels of a row of a
    C* backprops;      // [width, channels]: the row that is summed
    uint8_t* covered;  // [width]: whether a column of a is in a window
  };

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(CorrelationCostDims dims,
                                        CorrelationArgument argument,
                                        int64_t channels, const T* gradients,
                                        const C* other, T* backprops,
                                        C* scratch, int64_t begin,
                                        int64_t end) {
    Image image = {dims, argument, channels, gradients, other};
    image.sums = scratch;
    image.coefficients = image.sums + dims.output_width * dims.displacements;
    C* const row_sums = image.coefficients + dims.width * dims.displacements;
    image.covered =
        reinterpret_cast<uint8_t*>(row_sums + dims.width * channels);
    for (int64_t x = 0; x < dims.width; ++x) {
      image.covered[x] = !dims.Windows(x, dims.output_width).empty();
    }
    const int64_t image_gradients =
        dims.output_height * dims.output_width * dims.output_channels();
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / dims.height;
      image.gradients = gradients + n * image_gradients;
      image.other = other + n * dims.image_pixels() * channels;
      T* output = backprops + row * dims.width * dims.channels;
      image.backprops = row_sums;
      if constexpr (std::is_same_v<T, C>) {
        if (channels == dims.channels) image.backprops = output;
      }
      BackpropsRow<Isa>(image, row % dims.height);
      Store<Isa>(image, output);
    }
  }

  // Row `y` of the derivative into image.backprops.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void BackpropsRow(const Image& image,
                                                 int64_t y) {
    const CorrelationCostDims& dims = image.dims;
    std::fill_n(image.backprops, dims.width * image.channels, C(0));
    const IndexRange range = dims.DisplacementsInside(y, dims.height);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t other = y + dims.Displacement(i);
      // The displacement from b to a is the opposite one.
      const bool to_a = image.argument == CorrelationArgument::kA;
      const int64_t row_of_a = to_a ? y : other;
      if (dims.Windows(row_of_a, dims.output_height).empty()) continue;
      Coefficients<Isa>(image, row_of_a, to_a ? i : dims.displacements - 1 - i);
      AddRow<Isa>(image, image.other + other * dims.width * image.channels);
    }
  }

  // The coefficients of row `y` of a at vertical displacement `i`.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Coefficients(const Image& image, int64_t y,
                                                 int64_t i) {
    const CorrelationCostDims& dims = image.dims;
    const int64_t count = dims.displacements;
    const IndexRange rows = dims.Windows(y, dims.output_height);
    for (int64_t x = 0; x < dims.output_width; ++x) {
      C* sum = image.sums + x * count;
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        const T* gradient =
            image.gradients +
            (row * dims.output_width + x) * dims.output_channels() + i * count;
        AddGradients<Isa>(gradient, count, row == rows.begin, sum);
      }
    }
    const C scale = static_cast<C>(dims.scale());
    for (int64_t x = 0; x < dims.width; ++x) {
      if (!image.covered[x]) continue;
      const IndexRange columns = dims.Windows(x, dims.output_width);
      C* coefficient = image.coefficients + x * count;
      const C* first = image.sums + columns.begin * count;
      for (int64_t j = 0; j < count; ++j) coefficient[j] = first[j];
      for (int64_t column = columns.begin + 1; column < columns.end; ++column) {
        const C* more = image.sums + column * count;
        for (int64_t j = 0; j < count; ++j) coefficient[j] += more[j];
      }
      for (int64_t j = 0; j < count; ++j) coefficient[j] *= scale;
    }
  }

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void AddGradients(const T* gradients,
                                                 int64_t count, bool first,
                                                 C* sums) {
    if (first) {
      if constexpr (std::is_same_v<T, C>) {
        for (int64_t j = 0; j < count; ++j) sums[j] = gradients[j];
      } else {
        Isa::Widen(gradients, sums, count);
      }
    } else {
      for (int64_t j = 0; j < count; ++j) sums[j] += ToCompute(gradients[j]);
    }
  }

  // Nothing between here and the loops of scaled_rows_cpu.h gains by an
  // instruction set: ordinary functions.

  // image.backprops += coefficients * `row` of the other image. Pixels that are
  // stride_2 apart meet the same pixels.
  template <typename Isa>
  static void AddRow(const Image& image, const C* row) {
    const int64_t width = image.dims.width;
    const int64_t step = std::min(image.dims.stride_2, width);
    for (int64_t phase = 0; phase < step; ++phase) {
      int64_t x = phase;
      for (; x + (kPixels - 1) * step < width; x += kPixels * step) {
        int summed = 0;
        for (int k = 0; k < kPixels; ++k)
          summed += IsSummed(image, x + k * step);
        if (summed == kPixels) {
          AddPixels<Isa, kPixels>(image, row, x);
        } else if (summed > 0) {
          for (int k = 0; k < kPixels; ++k)
            AddPixel<Isa>(image, row, x + k * step);
        }
      }
      for (; x < width; x += step) AddPixel<Isa>(image, row, x);
    }
  }

  // Whether a pixel meets others.
  static bool IsSummed(const Image& image, int64_t x) {
    return image.argument == CorrelationArgument::kB || image.covered[x];
  }

  template <typename Isa>
  static void AddPixel(const Image& image, const C* row, int64_t x) {
    if (IsSummed(image, x)) AddPixels<Isa, 1>(image, row, x);
  }

  // For pixel x and those stride_2, 2 * stride_2 ... behind it. Seen from x,
  // the pixels that they meet are at displacements t = 0, 1 ... D + kCount - 2.
  template <typename Isa, int kCount>
  static void AddPixels(const Image& image, const C* row, int64_t x) {
    const CorrelationCostDims& dims = image.dims;
    const IndexRange inside = {
        dims.DisplacementsInside(x, dims.width).begin,
        std::min(dims.displacements + kCount - 1,
                 dims.displacements / 2 +
                     Steps(dims.width - 1 - x, dims.stride_2) + 1)};
    if (image.argument == CorrelationArgument::kA) {
      AddRun<Isa, kCount>(image, row, x, inside);
      return;
    }
    const uint8_t* covered = image.covered + x;
    for (int64_t t = inside.begin; t < inside.end;) {
      int64_t end = t;
      while (end < inside.end && covered[dims.Displacement(end)]) ++end;
      if (end > t) AddRun<Isa, kCount>(image, row, x, {t, end});
      t = end + 1;
    }
  }

  // For the pixels at displacements `run`. Where some of the outputs do not
  // meet them, at both ends, output by output.
  template <typename Isa, int kCount>
  static void AddRun(const Image& image, const C* row, int64_t x,
                     IndexRange run) {
    if constexpr (kCount == 1) {
      AddShared<Isa, 1>(image, row, x, 0, run);
    } else {
      const int64_t count = image.dims.displacements;
      for (int k = 0; k < kCount; ++k) {
        AddShared<Isa, 1>(
            image, row, x, k,
            {Larger(run.begin, k),
             std::min<int64_t>({run.end, kCount - 1, count + k})});
      }
      AddShared<Isa, kCount>(
          image, row, x, 0,
          {Larger(run.begin, kCount - 1), Smaller(run.end, count)});
      for (int k = 0; k < kCount; ++k) {
        AddShared<Isa, 1>(image, row, x, k,
                          {std::max<int64_t>({run.begin, kCount - 1, count}),
                           Smaller(run.end, count + k)});
      }
    }
  }

  // For the outputs k, k + 1 ... k + kCount - 1, all of which meet the pixels
  // at displacements `run`.
  template <typename Isa, int kCount>
  static void AddShared(const Image& image, const C* row, int64_t x, int k,
                        IndexRange run) {
    if (run.empty()) return;
    const CorrelationCostDims& dims = image.dims;
    const int64_t count = dims.displacements, step = dims.stride_2;
    const int64_t first = x + dims.Displacement(run.begin);  // pixel met
    ScaledRows<C> in;
    in.row_step = step * image.channels;
    in.count = run.end - run.begin;
    // The coefficient of pixel p of a with the one at displacement j is at
    // p * count + j; here j = t - k for p = x + k * step, or its opposite.
    if (image.argument == CorrelationArgument::kA) {
      in.factors = image.coefficients + (x + k * step) * count + run.begin - k;
      in.factor_step = 1;
      in.output_step = step * count - 1;
    } else {
      in.factors =
          image.coefficients + first * count + count - 1 - run.begin + k;
      in.factor_step = step * count - 1;
      in.output_step = 1;
    }
    C* sums = image.backprops + (x + k * step) * image.channels;
    const int64_t stride = step * image.channels;
    const C* pixels = row + first * image.channels;
    constexpr int64_t kBlock = kChannelBytes<Isa> / sizeof(C);
    constexpr int64_t kSmallBlock = 64 / sizeof(C);
    int64_t c = 0;
    for (; c + kBlock <= image.channels; c += kBlock) {
      in.rows = pixels + c;
      AddScaledRows<Isa, C, kCount, kChannelBytes<Isa>>(in, sums + c, stride);
    }
    for (; c < image.channels; c += kSmallBlock) {
      in.rows = pixels + c;
      AddScaledRows<Isa, C, kCount, 64>(in, sums + c, stride);
    }
  }

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Store(const Image& image, T* output) {
    const int64_t channels = image.dims.channels;
    for (int64_t x = 0; x < image.dims.width; ++x, output += channels) {
      const C* pixel = image.backprops + x * image.channels;
      if constexpr (std::is_same_v<T, C>) {
        if (pixel == output) return;
        for (int64_t c = 0; c < channels; ++c) output[c] = pixel[c];
      } else {
        Isa::Narrow(pixel, output, channels);
      }
    }
  }
};

}  // namespace

int64_t PackedChannels(NumericType type, int64_t channels) {
  return DispatchFloating(type, [&](auto tag) -> int64_t {
    constexpr int64_t kBlock = 64 / sizeof(ComputeType<TypeOf<decltype(tag)>>);
    return (channels + kBlock - 1) / kBlock * kBlock;
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

int64_t CorrelationCostGradScratch(NumericType type,
                                   const CorrelationCostDims& dims) {
  return DispatchFloating(type, [&](auto tag) -> int64_t {
    using C = ComputeType<TypeOf<decltype(tag)>>;
    return (dims.output_width + dims.width) * dims.displacements +
           dims.width * PackedChannels(type, dims.channels) + MaskSize<C>(dims);
  });
}

void CorrelationCostGradCpu(NumericType type, const CorrelationCostDims& dims,
                            CorrelationArgument argument, const void* gradients,
                            const void* other, void* backprops, void* scratch,
                            int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    RunBest<CorrelationGradRows<T>>(
        dims, argument, PackedChannels(type, dims.channels),
        static_cast<const T*>(gradients), static_cast<const C*>(other),
        static_cast<T*>(backprops), static_cast<C*>(scratch), begin, end);
  });
}

}  // namespace tensorflow_ext
