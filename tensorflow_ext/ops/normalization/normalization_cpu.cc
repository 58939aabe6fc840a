// SPDX-License-Identifier: Apache-2.0
//
// A row is gone over several times, while it is in cache.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/arithmetic.h"
#include "tensorflow_ext/kernels/lane_sums_cpu.h"
#include "tensorflow_ext/kernels/rows_cpu.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/normalization/normalization.h"

namespace tensorflow_ext {
namespace {

// Values of a row that are converted at a time; a multiple of LaneSums' lanes.
constexpr int64_t kRowChunk = 1024;

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

template <typename C>
struct SquareTerm {
  const C* x;
  C mean;

  template <typename V>
  TENSORFLOW_EXT_INLINE void At(int64_t i, V* terms) const {
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
TENSORFLOW_EXT_INLINE void Normalize(const C* x, C mean, C inverse,
                                     const C* scale, const C* offset, C* y,
                                     int64_t size) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    if constexpr (Norm::kCentered) {
      y[i] = (x[i] - mean) * inverse * scale[i] + offset[i];
    } else {
      y[i] = x[i] * inverse * scale[i];
    }
  }
}

// dx = r g + a + b n, which gathers the means of the formula in a and b, and
// the row's terms of the sums. dx may be dy.
template <typename Norm, typename C>
TENSORFLOW_EXT_INLINE void Differentiate(const C* dy, const C* x,
                                         const C* scale, C mean, C inverse, C a,
                                         C b, C* dx, C* scale_sums,
                                         C* offset_sums, int64_t size) {
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
  TENSORFLOW_EXT_INLINE static void Run(RowDims dims, float epsilon,
                                        NormalizationTensors tensors,
                                        int64_t begin, int64_t end) {
    const C* scale = static_cast<const C*>(tensors.scale);
    const C* offset =
        Norm::kCentered ? static_cast<const C*>(tensors.offset) : scale;
    const C divisor = static_cast<C>(dims.divisor());
    WideRow<Isa, T, kRowChunk> x;
    NarrowRow<Isa, T, kRowChunk> out;
    for (int64_t row = begin; row < end; ++row) {
      x.Start(static_cast<const T*>(tensors.x) + row * dims.size);
      C mean = 0;
      if constexpr (Norm::kCentered) {
        LaneSums<Isa, C, 1> sum;
        for (int64_t i = 0; i < dims.size; i += kRowChunk) {
          const int64_t size = std::min(kRowChunk, dims.size - i);
          sum.Add(ValueTerm<C>{x.Chunk(i, size)}, size);
        }
        mean = sum.Total(0) / divisor;
        static_cast<C*>(tensors.mean)[row] = mean;
      }
      LaneSums<Isa, C, 1> squares;
      for (int64_t i = 0; i < dims.size; i += kRowChunk) {
        const int64_t size = std::min(kRowChunk, dims.size - i);
        squares.Add(SquareTerm<C>{x.Chunk(i, size), mean}, size);
      }
      const C variance = squares.Total(0) / divisor;
      const C inverse = 1 / Sqrt(variance + static_cast<C>(epsilon));
      static_cast<C*>(tensors.inverse)[row] = inverse;

      T* y = static_cast<T*>(tensors.y) + row * dims.size;
      for (int64_t i = 0; i < dims.size; i += kRowChunk) {
        const int64_t size = std::min(kRowChunk, dims.size - i);
        Normalize<Norm>(x.Chunk(i, size), mean, inverse, scale + i, offset + i,
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

  // Rows [begin, end), added to the sums of a part.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(RowDims dims,
                                        NormalizationGradTensors tensors,
                                        C* scale_sums, C* offset_sums,
                                        int64_t begin, int64_t end) {
    const C* scale = static_cast<const C*>(tensors.scale);
    const C divisor = static_cast<C>(dims.divisor());
    WideRow<Isa, T, kRowChunk> x, dy;
    NarrowRow<Isa, T, kRowChunk> out;
    for (int64_t row = begin; row < end; ++row) {
      x.Start(static_cast<const T*>(tensors.x) + row * dims.size);
      dy.Start(static_cast<const T*>(tensors.gradients) + row * dims.size);
      const C inverse = static_cast<const C*>(tensors.inverse)[row];
      C mean = 0;
      if constexpr (Norm::kCentered) {
        mean = static_cast<const C*>(tensors.mean)[row];
      }
      LaneSums<Isa, C, kSums> sums;
      for (int64_t i = 0; i < dims.size; i += kRowChunk) {
        const int64_t size = std::min(kRowChunk, dims.size - i);
        sums.Add(GradientTerms<Norm, C>{dy.Chunk(i, size), x.Chunk(i, size),
                                        scale + i, mean, inverse},
                 size);
      }
      C a = 0;
      if constexpr (Norm::kCentered) {
        a = static_cast<const C*>(tensors.mean_gradients)[row] / divisor -
            inverse * (sums.Total(1) / divisor);
      }
      const C dr = static_cast<const C*>(tensors.inverse_gradients)[row];
      const C b = -inverse * (sums.Total(0) / divisor + dr * inverse / divisor);

      T* dx = static_cast<T*>(tensors.x_backprops) + row * dims.size;
      for (int64_t i = 0; i < dims.size; i += kRowChunk) {
        const int64_t size = std::min(kRowChunk, dims.size - i);
        Differentiate<Norm>(dy.Chunk(i, size), x.Chunk(i, size), scale + i,
                            mean, inverse, a, b, out.Chunk(dx + i),
                            scale_sums + i, offset_sums + i, size);
        out.Store(dx + i, size);
      }
    }
  }
};

// Columns [begin, end) of the sum over the parts, whose sums lie `stride`
// apart.
template <typename T>
struct SumPartsLoop {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(const C* sums, int64_t parts,
                                        int64_t stride, T* result,
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
void CpuRowNormalization<Norm>::Forward(NumericType type, const RowDims& dims,
                                        float epsilon,
                                        const NormalizationTensors& tensors,
                                        int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<ForwardLoop<Norm, T>>(dims, epsilon, tensors, begin, end);
  });
}

template <typename Norm>
void CpuRowNormalization<Norm>::Backward(
    NumericType type, const RowDims& dims,
    const NormalizationGradTensors& tensors, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    const int64_t rows = PartSize(dims);
    for (int64_t part = begin; part < end; ++part) {
      C* sums =
          static_cast<C*>(tensors.partial_sums) + part * kSums * dims.size;
      std::fill_n(sums, kSums * dims.size, C(0));
      RunBest<BackwardLoop<Norm, T>>(
          dims, tensors, sums, sums + (kSums - 1) * dims.size, part * rows,
          std::min(dims.rows, (part + 1) * rows));
    }
  });
}

template <typename Norm>
void CpuRowNormalization<Norm>::SumParts(
    NumericType type, const RowDims& dims,
    const NormalizationGradTensors& tensors, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    void* const results[] = {tensors.scale_backprops, tensors.offset_backprops};
    for (int k = 0; k < kSums; ++k) {
      RunBest<SumPartsLoop<T>>(
          static_cast<const C*>(tensors.partial_sums) + k * dims.size,
          Parts(dims), kSums * dims.size, static_cast<T*>(results[k]), begin,
          end);
    }
  });
}

template <typename Norm>
void CpuRowNormalization<Norm>::Widen(NumericType type, const void* from,
                                      void* to, int64_t size) {
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
