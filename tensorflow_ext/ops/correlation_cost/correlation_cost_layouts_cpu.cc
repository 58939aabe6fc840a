// The loops that convert images to the layouts of correlation_cost_cpu.cc and
// correlation_cost_backprops_cpu.cc.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"
#include "tensorflow_ext/ops/correlation_cost/transposed_rows_cpu.h"

namespace tensorflow_ext {
namespace {

template <typename T>
struct TransposeRows {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(CorrelationCostDims dims, CorrelationArgument argument,
                                        const T* images, C* transposed, int64_t begin,
                                        int64_t end) {
    const bool in_windows = argument == CorrelationArgument::kA;
    const TransposedRow row(dims);
    const int64_t size = row.step() * dims.channels;
    const int64_t rows = dims.images * dims.height;
    if (begin == 0) std::fill_n(transposed, kMostPixels<C>, C(0));
    transposed += kMostPixels<C>;
    for (int64_t y = begin; y < end; ++y) {
      if (in_windows && dims.Windows(y % dims.height, dims.output_height).empty()) {
        continue;
      }
      const T* pixels = images + y * row.width * dims.channels;
      C* to = transposed + y * size;
      if (row.step() > row.width) std::fill_n(to, size, C(0));
      for (int64_t phase = 0; phase < row.phases; ++phase) {
        const int64_t count = row.pixels(phase);
        if (in_windows && !InAnyWindow(dims, row, phase, 0, count)) continue;
        TransposePixels<Isa>(pixels + phase * dims.channels, row.phases * dims.channels, count,
                             dims.channels, to + phase * row.columns, row.step());
      }
    }
    if (end == rows) {
      std::fill_n(transposed + rows * size, kMostPixels<C>, C(0));
    }
  }

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void TransposePixels(const T* from, int64_t from_step, int64_t count,
                                                    int64_t channels, C* to, int64_t to_step) {
    if constexpr (std::is_same_v<T, C>) {
      Transpose(from, from_step, count, channels, to, to_step);
    } else {
      constexpr int64_t kRows = 16, kColumns = 64;
      alignas(64) C block[kRows * kColumns];
      for (int64_t r = 0; r < count; r += kRows) {
        const int64_t rows = std::min(kRows, count - r);
        for (int64_t c = 0; c < channels; c += kColumns) {
          const int64_t columns = std::min(kColumns, channels - c);
          for (int64_t k = 0; k < rows; ++k) {
            Isa::Widen(from + (r + k) * from_step + c, block + k * kColumns, columns);
          }
          Transpose(block, kColumns, rows, columns, to + c * to_step + r, to_step);
        }
      }
    }
  }
};

template <typename T>
struct PackPixels {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(int64_t channels, int64_t packed, const T* from, C* to,
                                        int64_t begin, int64_t end) {
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

}  // namespace

int64_t TransposedSize(NumericType type, const CorrelationCostDims& dims) {
  return DispatchFloating(type, [&](auto tag) -> int64_t {
    using C = ComputeType<TypeOf<decltype(tag)>>;
    return dims.images * dims.height * TransposedRow(dims).step() * dims.channels +
           2 * kMostPixels<C>;
  });
}

void TransposeRowsCpu(NumericType type, const CorrelationCostDims& dims,
                      CorrelationArgument argument, const void* images, void* transposed,
                      int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<TransposeRows<T>>(dims, argument, static_cast<const T*>(images),
                              static_cast<ComputeType<T>*>(transposed), begin, end);
  });
}

int64_t PackedChannels(NumericType type, int64_t channels) {
  return DispatchFloating(type, [&](auto tag) -> int64_t {
    constexpr int64_t kBlock = 64 / sizeof(ComputeType<TypeOf<decltype(tag)>>);
    return (channels + kBlock - 1) / kBlock * kBlock;
  });
}

void PackPixelsCpu(NumericType type, int64_t channels, int64_t packed_channels, const void* pixels,
                   void* packed, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<PackPixels<T>>(channels, packed_channels, static_cast<const T*>(pixels),
                           static_cast<ComputeType<T>*>(packed), begin, end);
  });
}

}  // namespace tensorflow_ext
