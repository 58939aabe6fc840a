// The loops pass over a row several times while it is in cache. Short rows are processed together:
// while one waits for a sum or a root, others continue.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/arithmetic.h"
#include "tensorflow_ext/kernels/lane_sums_cpu.h"
#include "tensorflow_ext/kernels/rows_cpu.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/kernels/streaming_cpu.h"
#include "tensorflow_ext/ops/normalization/normalization.h"

namespace tensorflow_ext {
namespace {

// Values of a row that are converted at a time, a multiple of LaneSums' lanes.
constexpr int64_t kRowChunk = 1024;

// The most rows that are processed together, and their largest size. Longer rows have enough work,
// and several would not fit into the first cache.
constexpr int kTogether = 4;
constexpr int64_t kShortRow = 256;

// True if the rows of an output bypass the caches. They must be whole lines, and too many to still
// be in the caches later.
template <typename T>
bool Streams(const RowDims& dims) {
  const int64_t row_bytes = dims.size * static_cast<int64_t>(sizeof(T));
  return row_bytes % internal::kLineBytes == 0 && ExceedsCaches(dims.rows * row_bytes);
}

// The terms of the sums, for LaneSums.
template <typename C>
struct ValueTerm {
  const C* x;

  template <typename V>
  TENSORFLOW_EXT_INLINE void At(int64_t i, V* terms) const {
    V value;
    Load(x + i, &value);
    terms[0] = value;
  }
};

template <typename C, typename T>
struct SquareTerm {
  const C* x;
  C mean;
  LinesAhead<T> next_x, y;

  template <typename V>
  TENSORFLOW_EXT_INLINE void At(int64_t i, V* terms) const {
    next_x.AskToRead(i);
    y.AskToWrite(i);
    V value;
    Load(x + i, &value);
    value -= mean;
    terms[0] = value * value;
  }
};

// g n, and g if centered.
template <typename Norm, typename C>
struct GradientTerms {
  const C *gradients, *x, *scale;
  C mean, inverse;

  template <typename V>
  TENSORFLOW_EXT_INLINE void At(int64_t i, V* terms) const {
    V g, weight, normal;
    Load(gradients + i, &g);
    Load(scale + i, &weight);
    Load(x + i, &normal);
    g *= weight;
    if constexpr (Norm::kCentered) normal -= mean;
    normal *= inverse;
    terms[0] = g * normal;
    if constexpr (Norm::kCentered) terms[1] = g;
  }
};

// y = n scale + offset. y may be x.
template <typename Norm, typename C>
TENSORFLOW_EXT_INLINE void Normalize(const C* x, C mean, C inverse, const C* scale, const C* offset,
                                     C* y, int64_t size) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    if constexpr (Norm::kCentered) {
      y[i] = (x[i] - mean) * inverse * scale[i] + offset[i];
    } else {
      y[i] = x[i] * inverse * scale[i];
    }
  }
}

// dx = r g + a + b n, where a and b combine the means of the formula, and the row's terms of the
// sums. dx may be dy.
template <typename Norm, typename C>
TENSORFLOW_EXT_INLINE void Differentiate(const C* dy, const C* x, const C* scale, C mean, C inverse,
                                         C a, C b, C* dx, C* scale_sums, C* offset_sums,
                                         int64_t size) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    const C g = dy[i];
    if constexpr (Norm::kCentered) {
      const C normal = (x[i] - mean) * inverse;
      offset_sums[i] += g;
      scale_sums[i] += g * normal;
      dx[i] = inverse * (g * scale[i]) + a + b * normal;
    } else {
      const C normal = x[i] * inverse;
      scale_sums[i] += g * normal;
      dx[i] = inverse * (g * scale[i]) + b * normal;
    }
  }
}

template <typename Norm, typename T>
struct ForwardLoop {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(RowDims dims, float epsilon, NormalizationTensors tensors,
                                        int64_t begin, int64_t end) {
    const bool streams = Streams<T>(dims);
    int64_t row = begin;
    if (dims.size <= kShortRow) {
      for (; row + kTogether <= end; row += kTogether) {
        Rows<Isa, kTogether>(dims, epsilon, tensors, streams, row);
      }
    }
    for (; row < end; ++row) Rows<Isa, 1>(dims, epsilon, tensors, streams, row);
    if (streams) internal::FinishStreaming();
  }

 private:
  template <typename Isa, int kRows>
  TENSORFLOW_EXT_INLINE static void Rows(const RowDims& dims, float epsilon,
                                         const NormalizationTensors& tensors, bool streams,
                                         int64_t first) {
    const C divisor = static_cast<C>(dims.divisor());
    const C* scale = static_cast<const C*>(tensors.scale);
    const C* offset = Norm::kCentered ? static_cast<const C*>(tensors.offset) : scale;
    WideRow<Isa, T, kRowChunk> x[kRows];
    for (int row = 0; row < kRows; ++row) {
      x[row].Start(static_cast<const T*>(tensors.x) + (first + row) * dims.size);
    }
    C mean[kRows] = {}, inverse[kRows];
    if constexpr (Norm::kCentered) {
      PartialSums<C> sums[kRows];
      for (int row = 0; row < kRows; ++row) {
        LaneSums<Isa, C, 1> sum;
        for (int64_t i = 0; i < dims.size; i += kRowChunk) {
          const int64_t size = std::min(kRowChunk, dims.size - i);
          sum.Add(ValueTerm<C>{x[row].Chunk(i, size)}, size);
        }
        sums[row] = sum.Partial(0);
      }
      Totals(sums, mean);
      for (int row = 0; row < kRows; ++row) mean[row] /= divisor;
      std::copy_n(mean, kRows, static_cast<C*>(tensors.mean) + first);
    }
    // Short rows whose columns are summed for the first time keep the memory busy without
    // prefetching.
    const bool asks = (Norm::kCentered || kRows == 1) && LinesAhead<T>::Fit(dims.size);
    // True if as many rows follow these.
    const bool asks_next = asks && first + 2 * kRows <= dims.rows;
    const T* next =
        static_cast<const T*>(tensors.x) + (asks_next ? first + kRows : first) * dims.size;
    T* outputs = static_cast<T*>(tensors.y) + first * dims.size;
    PartialSums<C> sums[kRows];
    for (int row = 0; row < kRows; ++row) {
      const LinesAhead<T> next_x(next + row * dims.size, asks_next);
      // Output that bypasses the caches must not be loaded into them first.
      const LinesAhead<T> y(outputs + row * dims.size, asks && !streams);
      LaneSums<Isa, C, 1> squares;
      for (int64_t i = 0; i < dims.size; i += kRowChunk) {
        const int64_t size = std::min(kRowChunk, dims.size - i);
        squares.Add(SquareTerm<C, T>{x[row].Chunk(i, size), mean[row], next_x.From(i), y.From(i)},
                    size);
      }
      sums[row] = squares.Partial(0);
    }
    C variance[kRows];
    Totals(sums, variance);
    for (int row = 0; row < kRows; ++row) {
      inverse[row] = 1 / Sqrt(variance[row] / divisor + static_cast<C>(epsilon));
    }
    std::copy_n(inverse, kRows, static_cast<C*>(tensors.inverse) + first);

    NarrowRow<Isa, T, kRowChunk> out(streams);
    for (int row = 0; row < kRows; ++row) {
      T* y = outputs + row * dims.size;
      for (int64_t i = 0; i < dims.size; i += kRowChunk) {
        const int64_t size = std::min(kRowChunk, dims.size - i);
        Normalize<Norm>(x[row].Chunk(i, size), mean[row], inverse[row], scale + i, offset + i,
                        out.Chunk(y + i), size);
        out.Store(y + i, size);
      }
    }
  }
};

template <typename Norm, typename T>
struct BackwardLoop {
  using C = ComputeType<T>;
  static constexpr int kSums = CpuRowNormalization<Norm>::kSums;

  // Processes rows [begin, end) and adds them to the sums of a part.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(RowDims dims, NormalizationGradTensors tensors,
                                        C* scale_sums, C* offset_sums, int64_t begin, int64_t end) {
    const bool streams = Streams<T>(dims);
    int64_t row = begin;
    if (dims.size <= kShortRow) {
      for (; row + kTogether <= end; row += kTogether) {
        Rows<Isa, kTogether>(dims, tensors, scale_sums, offset_sums, streams, row);
      }
    }
    for (; row < end; ++row) {
      Rows<Isa, 1>(dims, tensors, scale_sums, offset_sums, streams, row);
    }
    if (streams) internal::FinishStreaming();
  }

 private:
  template <typename Isa, int kRows>
  TENSORFLOW_EXT_INLINE static void Rows(const RowDims& dims,
                                         const NormalizationGradTensors& tensors, C* scale_sums,
                                         C* offset_sums, bool streams, int64_t first) {
    const C* scale = static_cast<const C*>(tensors.scale);
    const C divisor = static_cast<C>(dims.divisor());
    C mean[kRows] = {}, inverse[kRows];
    WideRow<Isa, T, kRowChunk> x[kRows], dy[kRows];
    for (int row = 0; row < kRows; ++row) {
      const int64_t start = (first + row) * dims.size;
      x[row].Start(static_cast<const T*>(tensors.x) + start);
      dy[row].Start(static_cast<const T*>(tensors.gradients) + start);
      inverse[row] = static_cast<const C*>(tensors.inverse)[first + row];
      if constexpr (Norm::kCentered) {
        mean[row] = static_cast<const C*>(tensors.mean)[first + row];
      }
    }
    PartialSums<C> sums[kSums][kRows];
    for (int row = 0; row < kRows; ++row) {
      LaneSums<Isa, C, kSums> row_sums;
      for (int64_t i = 0; i < dims.size; i += kRowChunk) {
        const int64_t size = std::min(kRowChunk, dims.size - i);
        row_sums.Add(GradientTerms<Norm, C>{dy[row].Chunk(i, size), x[row].Chunk(i, size),
                                            scale + i, mean[row], inverse[row]},
                     size);
      }
      for (int k = 0; k < kSums; ++k) {
        sums[k][row] = row_sums.Partial(k);
      }
    }
    C totals[kSums][kRows], a[kRows] = {}, b[kRows];
    for (int k = 0; k < kSums; ++k) Totals(sums[k], totals[k]);
    if constexpr (Norm::kCentered) {
      const C* gradients = static_cast<const C*>(tensors.mean_gradients) + first;
      for (int row = 0; row < kRows; ++row) {
        a[row] = gradients[row] / divisor - inverse[row] * (totals[1][row] / divisor);
      }
    }
    const C* gradients = static_cast<const C*>(tensors.inverse_gradients) + first;
    for (int row = 0; row < kRows; ++row) {
      b[row] = -inverse[row] * (totals[0][row] / divisor + gradients[row] * inverse[row] / divisor);
    }

    NarrowRow<Isa, T, kRowChunk> out(streams);
    for (int row = 0; row < kRows; ++row) {
      T* dx = static_cast<T*>(tensors.x_backprops) + (first + row) * dims.size;
      for (int64_t i = 0; i < dims.size; i += kRowChunk) {
        const int64_t size = std::min(kRowChunk, dims.size - i);
        Differentiate<Norm>(dy[row].Chunk(i, size), x[row].Chunk(i, size), scale + i, mean[row],
                            inverse[row], a[row], b[row], out.Chunk(dx + i), scale_sums + i,
                            offset_sums + i, size);
        out.Store(dx + i, size);
      }
    }
  }
};

// Sums columns [begin, end) over the parts. The sums of successive parts are `stride` apart.
template <typename T>
struct SumPartsLoop {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(const C* sums, int64_t parts, int64_t stride, T* result,
                                        int64_t begin, int64_t end) {
    C total[kRowChunk];
    for (int64_t i = begin; i < end; i += kRowChunk) {
      const int64_t size = std::min(kRowChunk, end - i);
      std::fill_n(total, size, C(0));
      for (int64_t part = 0; part < parts; ++part) {
        const C* from = sums + part * stride + i;
        for (int64_t k = 0; k < size; ++k) total[k] += from[k];
      }
      if constexpr (std::is_same_v<T, C>) {
        std::copy_n(total, size, result + i);
      } else {
        Isa::Narrow(total, result + i, size);
      }
    }
  }
};

}  // namespace

template <typename Norm>
void CpuRowNormalization<Norm>::Forward(NumericType type, const RowDims& dims, float epsilon,
                                        const NormalizationTensors& tensors, int64_t begin,
                                        int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<ForwardLoop<Norm, T>>(dims, epsilon, tensors, begin, end);
  });
}

template <typename Norm>
void CpuRowNormalization<Norm>::Backward(NumericType type, const RowDims& dims,
                                         const NormalizationGradTensors& tensors, int64_t begin,
                                         int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    const int64_t rows = PartSize(dims);
    for (int64_t part = begin; part < end; ++part) {
      C* sums = static_cast<C*>(tensors.partial_sums) + part * kSums * dims.size;
      std::fill_n(sums, kSums * dims.size, C(0));
      RunBest<BackwardLoop<Norm, T>>(dims, tensors, sums, sums + (kSums - 1) * dims.size,
                                     part * rows, std::min(dims.rows, (part + 1) * rows));
    }
  });
}

template <typename Norm>
void CpuRowNormalization<Norm>::SumParts(NumericType type, const RowDims& dims,
                                         const NormalizationGradTensors& tensors, int64_t begin,
                                         int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    void* const results[] = {tensors.scale_backprops, tensors.offset_backprops};
    for (int k = 0; k < kSums; ++k) {
      RunBest<SumPartsLoop<T>>(static_cast<const C*>(tensors.partial_sums) + k * dims.size,
                               Parts(dims), kSums * dims.size, static_cast<T*>(results[k]), begin,
                               end);
    }
  });
}

template <typename Norm>
void CpuRowNormalization<Norm>::Widen(NumericType type, const void* from, void* to, int64_t size) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* values = static_cast<const T*>(from);
    for (int64_t i = 0; i < size; ++i) {
      static_cast<ComputeType<T>*>(to)[i] = ToCompute(values[i]);
    }
  });
}

template struct CpuRowNormalization<LayerNorm>;
template struct CpuRowNormalization<RmsNorm>;

}  // namespace tensorflow_ext
