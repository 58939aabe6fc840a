// The loops first find the largest element of each chunk of a row. Then they pass over the row
// several times, but only over chunks that reach above the threshold. In a long row there are soon
// few of these.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tensorflow_ext/kernels/lane_sums_cpu.h"
#include "tensorflow_ext/kernels/rows_cpu.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/sparsemax/sparsemax.h"

namespace tensorflow_ext {
namespace {

// A multiple of LaneSums' lanes. Sums over a chunk have few terms, so their rounding errors are
// small. Sums over chunks are in double or better.
constexpr int64_t kChunk = 256;

template <typename C>
struct Chunk {
  int64_t begin, size;  // of a row
  C most;
};

// *most becomes the larger one; infinity if x is NaN. V is C or a vector of C.
template <typename C, typename V>
TENSORFLOW_EXT_INLINE void TakeLarger(const V& x, V* most) {
  const V value = x == x ? x : V{} + std::numeric_limits<C>::infinity();
  *most = value > *most ? value : *most;
}

// The largest of `size` elements, or infinity if one is NaN.
template <typename Isa, typename C>
TENSORFLOW_EXT_INLINE C Largest(const C* x, int64_t size) {
  typedef C Vector __attribute__((vector_size(kVectorBytes<Isa>)));
  constexpr int kWidth = kVectorBytes<Isa> / sizeof(C);
  constexpr int kLanes = 32, kVectors = kLanes / kWidth;
  C lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<C>::infinity());
  Vector most[kVectors];
  std::memcpy(most, lanes, sizeof(most));
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int v = 0; v < kVectors; ++v) {
      Vector value;
      Load(x + i + v * kWidth, &value);
      TakeLarger<C>(value, &most[v]);
    }
  }
  std::memcpy(lanes, most, sizeof(most));
  for (int lane = 0; i < size; ++i, ++lane) {
    TakeLarger<C>(x[i], &lanes[lane]);
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      TakeLarger<C>(lanes[lane + half], &lanes[lane]);
    }
  }
  return lanes[0];
}

// The terms of the sums, for LaneSums: the excess over the threshold, and 1 for each element that
// has any excess.
template <typename C>
struct ExcessTerms {
  const C* x;
  DoubleWord<C> threshold;

  template <typename V>
  TENSORFLOW_EXT_INLINE void At(int64_t i, V* terms) const {
    V value;
    Load(x + i, &value);
    const V zero{};
    threshold.Excess(value, &terms[0]);
    terms[1] = terms[0] > zero ? zero + 1 : zero;
  }
};

// The gradient on the support, and the size of the support.
template <typename C>
struct SupportTerms {
  const C *gradients, *y;

  template <typename V>
  TENSORFLOW_EXT_INLINE void At(int64_t i, V* terms) const {
    V gradient, value;
    Load(gradients + i, &gradient);
    Load(y + i, &value);
    const V zero{};
    terms[0] = value > zero ? gradient : zero;
    CountInSupport(value, &terms[1]);
  }
};

// The threshold of a row of finite elements and -infinity, from its `count` chunks in order, which
// it overwrites. `most` is the largest element.
template <typename Isa, typename T, typename C>
TENSORFLOW_EXT_INLINE DoubleWord<C> FindThreshold(WideRow<Isa, T, kChunk>* row, C most,
                                                  Chunk<C>* chunks, int64_t count) {
  ThresholdSearch<C> search(most);
  DoubleWord<double> sum;
  double elements;
  do {
    sum = {-1, 0};
    elements = 0;
    int64_t above = 0;
    for (int64_t k = 0; k < count; ++k) {
      const Chunk<C> chunk = chunks[k];
      if (!(search.threshold.Excess(chunk.most) > 0)) continue;
      chunks[above++] = chunk;
      LaneSums<Isa, C, 2> sums;
      sums.Add(ExcessTerms<C>{row->Chunk(chunk.begin, chunk.size), search.threshold}, chunk.size);
      sum.Add(sums.Total(0));
      elements += sums.Total(1);
    }
    count = above;
  } while (search.Step(static_cast<C>(sum.high), static_cast<C>(elements)));
  return search.threshold;
}

template <typename T>
struct ForwardLoop {
  using C = ComputeType<T>;

  // `chunks` is scratch for the chunks of one row.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(int64_t size, const T* logits, T* y, Chunk<C>* chunks,
                                        int64_t begin, int64_t end) {
    WideRow<Isa, T, kChunk> x;
    NarrowRow<Isa, T, kChunk> out;
    for (int64_t row = begin; row < end; ++row) {
      x.Start(logits + row * size);
      C most = -ThresholdSearch<C>::kInfinity;
      int64_t count = 0;
      for (int64_t i = 0; i < size; i += kChunk) {
        const int64_t length = std::min(kChunk, size - i);
        const C largest = Largest<Isa>(x.Chunk(i, length), length);
        most = std::max(most, largest);
        chunks[count++] = {i, length, largest};
      }
      T* const result = y + row * size;
      if (most - most != 0) {  // not finite
        const T nan = FromCompute<T>(std::numeric_limits<C>::quiet_NaN());
        std::fill_n(result, size, nan);
        continue;
      }
      const DoubleWord<C> threshold = FindThreshold(&x, most, chunks, count);
      for (int64_t i = 0; i < size; i += kChunk) {
        const int64_t length = std::min(kChunk, size - i);
        const C* from = x.Chunk(i, length);
        C* to = out.Chunk(result + i);
#pragma GCC ivdep
        for (int64_t j = 0; j < length; ++j) to[j] = threshold.Excess(from[j]);
        out.Store(result + i, length);
      }
    }
  }
};

template <typename T>
struct BackwardLoop {
  using C = ComputeType<T>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(int64_t size, const T* gradients, const T* y, T* backprops,
                                        int64_t begin, int64_t end) {
    WideRow<Isa, T, kChunk> dy, values;
    NarrowRow<Isa, T, kChunk> out;
    for (int64_t row = begin; row < end; ++row) {
      dy.Start(gradients + row * size);
      values.Start(y + row * size);
      double sum = 0, count = 0;
      for (int64_t i = 0; i < size; i += kChunk) {
        const int64_t length = std::min(kChunk, size - i);
        LaneSums<Isa, C, 2> sums;
        sums.Add(SupportTerms<C>{dy.Chunk(i, length), values.Chunk(i, length)}, length);
        sum += sums.Total(0);
        count += sums.Total(1);
      }
      const C mean = static_cast<C>(sum / count);
      const C beyond = BeyondSupport(static_cast<C>(count));
      T* const result = backprops + row * size;
      for (int64_t i = 0; i < size; i += kChunk) {
        const int64_t length = std::min(kChunk, size - i);
        const C* gradient = dy.Chunk(i, length);
        const C* value = values.Chunk(i, length);
        C* to = out.Chunk(result + i);
#pragma GCC ivdep
        for (int64_t j = 0; j < length; ++j) {
          const C centered = gradient[j] - mean;
          to[j] = value[j] > 0 ? centered : beyond;
        }
        out.Store(result + i, length);
      }
    }
  }
};

}  // namespace

void CpuSparsemax::Forward(NumericType type, const RowDims& dims, const void* logits, void* y,
                           int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    std::vector<Chunk<ComputeType<T>>> chunks((dims.size + kChunk - 1) / kChunk);
    RunBest<ForwardLoop<T>>(dims.size, static_cast<const T*>(logits), static_cast<T*>(y),
                            chunks.data(), begin, end);
  });
}

void CpuSparsemax::Backward(NumericType type, const RowDims& dims, const void* gradients,
                            const void* y, void* backprops, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<BackwardLoop<T>>(dims.size, static_cast<const T*>(gradients), static_cast<const T*>(y),
                             static_cast<T*>(backprops), begin, end);
  });
}

}  // namespace tensorflow_ext
