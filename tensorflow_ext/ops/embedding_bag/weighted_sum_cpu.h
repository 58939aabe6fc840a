// Weighted sums of rows anywhere in memory, for the loops of RunBest (kernels/simd.h). Each element
// is summed in the order of the rows, in every instruction set.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/prefetch_cpu.h"
#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// Stores values of the compute type as T.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE void Store(const ComputeType<T>* values, int64_t size, T* output) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    for (int64_t i = 0; i < size; ++i) output[i] = values[i];
  } else {
    Isa::Narrow(values, output, size);
  }
}

// One value in the compute type. Instruction sets convert it faster than ToCompute.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE ComputeType<T> Value(const T* from) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    return *from;
  } else {
    ComputeType<T> value;
    Isa::Widen(from, &value, 1);
    return value;
  }
}

namespace internal {

// The number of bytes to prefetch. Slow memory needs more, but too much would leave the first cache
// before its use.
constexpr int64_t kBytesAhead = 8192;

// The first or the second of each two Bfloat16, as float.
template <typename V>
TENSORFLOW_EXT_INLINE void LoadOneOfPairs(const Bfloat16* from, bool second, V* values) {
  typedef uint32_t Pairs __attribute__((vector_size(sizeof(V))));
  Pairs pairs;
  std::memcpy(&pairs, from, sizeof(pairs));
  pairs = second ? pairs & 0xffff0000u : pairs << 16;
  std::memcpy(values, &pairs, sizeof(pairs));
}

// Interleaves the elements of both.
template <typename V, size_t... kLane>
TENSORFLOW_EXT_INLINE void JoinPairs(const V& first, const V& second, V* joined,
                                     std::index_sequence<kLane...>) {
  using Lanes = decltype(V{} < V{});
  constexpr int kLanes = sizeof...(kLane);
  joined[0] = __builtin_shuffle(first, second, Lanes{(kLane / 2 + kLane % 2 * kLanes)...});
  joined[1] =
      __builtin_shuffle(first, second, Lanes{((kLanes + kLane) / 2 + kLane % 2 * kLanes)...});
}

// sum + factor * value. If the product is exact, a fused operation changes nothing, because one
// rounding gives the same as two.
template <typename Isa, bool kIsExact>
struct Product {
  template <typename C, typename V, typename Sum>
  TENSORFLOW_EXT_INLINE static void AddTo(C factor, const V& value, Sum* sum) {
    *sum += factor * value;
  }
};
#if defined(__x86_64__)
template <>
struct Product<Avx2, true> {
  template <typename Sum>
  TENSORFLOW_EXT_AVX2 static void AddTo(float factor, const __m256& value, Sum* sum) {
    *sum = _mm256_fmadd_ps(_mm256_set1_ps(factor), value, *sum);
  }
};
template <>
struct Product<Avx512, true> {
  template <typename Sum>
  TENSORFLOW_EXT_AVX512 static void AddTo(float factor, const __m512& value, Sum* sum) {
    *sum = _mm512_fmadd_ps(_mm512_set1_ps(factor), value, *sum);
  }
};
#endif

// Vectors that cover some elements of each row; kSums counts the vectors. The last vector ends
// where the elements do, so it may overlap the one before it. Pairs need full vectors: one vector
// has the first of each two Bfloat16 and the next has the second. This halves the cost of widening
// them in order.
template <typename Isa, typename T, bool kInPairs, typename Sums>
struct VectorSums;

// The sums stay in registers. For this, a function must know its instruction set from the start, as
// a literal. This needs a macro.
#define TENSORFLOW_EXT_VECTOR_SUMS(Isa, ATTRIBUTE)                                                 \
  template <typename T, bool kInPairs, int... kSums>                                               \
  struct VectorSums<Isa, T, kInPairs, std::integer_sequence<int, kSums...>> {                      \
    using C = ComputeType<T>;                                                                      \
    static constexpr int kLast = sizeof...(kSums) - 1;                                             \
    static constexpr int64_t kWidth = kVectorBytes<Isa> / sizeof(C);                               \
    static constexpr int64_t kSize = sizeof...(kSums) * kWidth;                                    \
    static constexpr int64_t kAhead = kBytesAhead / (kSize * sizeof(T)) + 2;                       \
    typedef C Vector __attribute__((vector_size(kVectorBytes<Isa>)));                              \
    template <typename Terms>                                                                      \
    ATTRIBUTE static void Run(const Terms& terms, int64_t count, int64_t known, int64_t offset,    \
                              int64_t size, C scale, T* output) {                                  \
      const int64_t last = size - kWidth;                                                          \
      Vector sum[] = {((void)kSums, Vector{})...};                                                 \
      for (int64_t k = 0; k < count; ++k) {                                                        \
        if (k + kAhead < known) {                                                                  \
          Prefetch(terms.Row(k + kAhead) + offset, kSize);                                         \
        }                                                                                          \
        const T* row = terms.Row(k) + offset;                                                      \
        const C factor = terms.template Factor<Isa>(k);                                            \
        if constexpr (kInPairs) {                                                                  \
          Vector value;                                                                            \
          ((LoadOneOfPairs(row + kSums / 2 * 2 * kWidth, kSums % 2 != 0, &value),                  \
            sum[kSums] += factor * value),                                                         \
           ...);                                                                                   \
        } else {                                                                                   \
          (Product<Isa, Terms::kExactProducts>::AddTo(                                             \
               factor, Isa::Load(row + (kSums < kLast ? kSums * kWidth : last)), &sum[kSums]),     \
           ...);                                                                                   \
        }                                                                                          \
      }                                                                                            \
      ((sum[kSums] *= scale), ...);                                                                \
      C sums[kSize];                                                                               \
      if constexpr (kInPairs) {                                                                    \
        Vector joined[sizeof...(kSums)];                                                           \
        (JoinPairs(sum[kSums / 2 * 2], sum[kSums / 2 * 2 + 1], joined + kSums / 2 * 2,             \
                   std::make_index_sequence<kWidth>()),                                            \
         ...);                                                                                     \
        std::memcpy(sums, joined, sizeof(sums));                                                   \
      } else {                                                                                     \
        (std::memcpy(sums + (kSums < kLast ? kSums * kWidth : last), &sum[kSums], sizeof(Vector)), \
         ...);                                                                                     \
      }                                                                                            \
      Store<Isa>(sums, size, output + offset);                                                     \
    }                                                                                              \
  };

TENSORFLOW_EXT_VECTOR_SUMS(Baseline, )
#if defined(__x86_64__)
TENSORFLOW_EXT_VECTOR_SUMS(Avx2, TENSORFLOW_EXT_AVX2)
TENSORFLOW_EXT_VECTOR_SUMS(Avx512, TENSORFLOW_EXT_AVX512)
#endif
#undef TENSORFLOW_EXT_VECTOR_SUMS

// The instruction set with vectors of half the size.
template <typename Isa>
struct HalfOf {
  using type = Isa;
};
#if defined(__x86_64__)
template <>
struct HalfOf<Avx512> {
  using type = Avx2;
};
#endif

}  // namespace internal

// output[0, width) = scale * the sum over k in [0, count) of Factor<Isa>(k) * Row(k). `terms` has
// entries up to `known`, which may exceed `count`, for prefetching.
template <typename Isa, typename T, typename Terms>
class WeightedSum {
 public:
  using C = ComputeType<T>;

  TENSORFLOW_EXT_INLINE WeightedSum(const Terms& terms, int64_t count, int64_t known, int64_t width,
                                    C scale, T* output)
      : terms_(terms),
        count_(count),
        known_(known),
        width_(width),
        scale_(scale),
        output_(output) {}

  TENSORFLOW_EXT_INLINE void Run() const {
    using Smaller = typename internal::HalfOf<Isa>::type;
    constexpr int64_t kSmaller = kVectorBytes<Smaller> / sizeof(C);
    constexpr int64_t kWidth = kVectorBytes<Isa> / sizeof(C);
    if (width_ >= kWidth) {
      Wide();
    } else if (width_ >= kSmaller) {
      Vectors<Smaller, 2>(0, width_);
    } else {
      switch (width_) {
#define TENSORFLOW_EXT_CASE(kElements)                                \
  case kElements:                                                     \
    if constexpr (kElements < kSmaller) return Elements<kElements>(); \
    break;
        TENSORFLOW_EXT_CASE(1)
        TENSORFLOW_EXT_CASE(2)
        TENSORFLOW_EXT_CASE(3)
        TENSORFLOW_EXT_CASE(4)
        TENSORFLOW_EXT_CASE(5)
        TENSORFLOW_EXT_CASE(6)
        TENSORFLOW_EXT_CASE(7)
#undef TENSORFLOW_EXT_CASE
      }
    }
  }

 private:
  // Rows of at least one vector.
  TENSORFLOW_EXT_INLINE void Wide() const {
    constexpr int64_t kWidth = kVectorBytes<Isa> / sizeof(C);
    constexpr bool kInPairs = std::is_same_v<T, Bfloat16>;
    // Half of the registers.
    constexpr int kMost = kVectorBytes<Isa> == 64 ? 16 : 8;
    int64_t done = 0;
    for (; done + kMost * kWidth <= width_; done += kMost * kWidth) {
      Vectors<Isa, kMost, kInPairs>(done, kMost * kWidth);
    }
    for (; done + 4 * kWidth <= width_; done += 4 * kWidth) {
      Vectors<Isa, 4, kInPairs>(done, 4 * kWidth);
    }
    const int64_t left = width_ - done;
    if (left == 0) return;
    if (left > 3 * kWidth) {
      Vectors<Isa, 4>(done, left);
    } else if (left > 2 * kWidth) {
      Vectors<Isa, 3>(done, left);
    } else if (left > kWidth) {
      Vectors<Isa, 2>(done, left);
    } else {  // A vector that ends with the row; it may start earlier.
      Vectors<Isa, 1>(width_ - kWidth, kWidth);
    }
  }

  // Elements [offset, offset + size), with the vectors of instruction set V.
  template <typename V, int kVectors, bool kInPairs = false>
  TENSORFLOW_EXT_INLINE void Vectors(int64_t offset, int64_t size) const {
    using Sums = std::make_integer_sequence<int, kVectors>;
    internal::VectorSums<V, T, kInPairs, Sums>::Run(terms_, count_, known_, offset, size, scale_,
                                                    output_);
  }

  // Rows of kElements elements.
  template <int kElements>
  TENSORFLOW_EXT_INLINE void Elements() const {
    constexpr int64_t kAhead = internal::kBytesAhead / 64;
    C sums[kElements] = {};
    for (int64_t k = 0; k < count_; ++k) {
      if (k + kAhead < known_) Prefetch(terms_.Row(k + kAhead), 1);
      const C factor = terms_.template Factor<Isa>(k);
      const T* row = terms_.Row(k);
#pragma GCC unroll 8
      for (int i = 0; i < kElements; ++i) {
        sums[i] += factor * Value<Isa>(row + i);
      }
    }
    for (C& sum : sums) sum *= scale_;
    Store<Isa>(sums, kElements, output_);
  }

  const Terms& terms_;
  const int64_t count_, known_, width_;
  const C scale_;
  T* const output_;
};

}  // namespace tensorflow_ext
