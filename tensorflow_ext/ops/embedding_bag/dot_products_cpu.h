// Dot products of one vector with several others, for loops that RunBest runs (simd.h). A product
// is summed in kDotLanes<C> lanes, with element i in lane i % kDotLanes<C>. The lanes are then
// added as a tree, so every instruction set gives the same result to the last bit.

#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// C is a compute type, float or double.
template <typename C>
constexpr int kDotLanes = 64 / sizeof(C);

// The most products that one call computes.
constexpr int kMaxDots = 16;

// The lanes of up to kMaxDots products, product by product.
template <typename C>
struct DotSums {
  alignas(64) C lanes[kMaxDots * kDotLanes<C>];
};

namespace internal {

// The most products whose lanes the registers hold beside their operands.
template <typename Isa>
constexpr int kDotsAtOnce = kVectorBytes<Isa> / 8;

template <typename Isa, typename C, typename Sums>
struct ProductTile;

// kSums counts the registers of sums: first all of row 0, and so on. The compiler must know their
// instruction set from the start, as a literal. This needs a macro.
#define TENSORFLOW_EXT_PRODUCT_TILE(Isa, ATTRIBUTE)                                             \
  template <typename C, int... kSums>                                                           \
  struct ProductTile<Isa, C, std::integer_sequence<int, kSums...>> {                            \
    static constexpr int kBytes = kVectorBytes<Isa>;                                            \
    static constexpr int kWidth = kBytes / sizeof(C);                                           \
    static constexpr int kPerRow = 64 / kBytes;                                                 \
    static constexpr int kRows = sizeof...(kSums) / kPerRow;                                    \
    ATTRIBUTE static void Add(const C* x, const C* const* rows, int64_t size, C* lanes) {       \
      typedef C Vector __attribute__((vector_size(kBytes)));                                    \
      typedef C Memory __attribute__((vector_size(kBytes), aligned(alignof(C))));               \
      const C* row[kRows];                                                                      \
      Vector sum[] = {*(const Memory*)(lanes + kSums * kWidth)...};                             \
      for (int r = 0; r < kRows; ++r) row[r] = rows[r];                                         \
      for (int64_t i = 0; i < size; i += kPerRow * kWidth) {                                    \
        ((sum[kSums] += *(const Memory*)(x + i + kSums % kPerRow * kWidth) *                    \
                        *(const Memory*)(row[kSums / kPerRow] + i + kSums % kPerRow * kWidth)), \
         ...);                                                                                  \
      }                                                                                         \
      ((*(Memory*)(lanes + kSums * kWidth) = sum[kSums]), ...);                                 \
    }                                                                                           \
  };

TENSORFLOW_EXT_PRODUCT_TILE(Baseline, )
#if defined(__x86_64__)
TENSORFLOW_EXT_PRODUCT_TILE(Avx2, TENSORFLOW_EXT_AVX2)
TENSORFLOW_EXT_PRODUCT_TILE(Avx512, TENSORFLOW_EXT_AVX512)
#endif
#undef TENSORFLOW_EXT_PRODUCT_TILE

}  // namespace internal

// lanes[r][l] += x[i + l] * rows[r][i + l] for i = 0, L, 2 L ... below size, a multiple of L = 64 /
// sizeof(C). The shape of lanes is [kRows, L].
template <typename Isa, typename C, int kRows>
TENSORFLOW_EXT_INLINE void AddProducts(const C* x, const C* const* rows, int64_t size, C* lanes) {
  using Sums = std::make_integer_sequence<int, kRows * 64 / kVectorBytes<Isa>>;
  internal::ProductTile<Isa, C, Sums>::Add(x, rows, size, lanes);
}

// Sets the lanes of the first `count` products to 0, rounded up to a multiple of 8 because
// FinishDots may process 8 products together.
template <typename C>
TENSORFLOW_EXT_INLINE void ClearDots(int count, DotSums<C>* sums) {
  const int size = (count + 7) / 8 * 8 * kDotLanes<C>;
  for (int i = 0; i < size; ++i) sums->lanes[i] = 0;
}

// Adds the products of x[0, size) with each of `count` rows, at most kMaxDots. `size` is a multiple
// of kDotLanes<C>.
template <typename Isa, typename C>
TENSORFLOW_EXT_INLINE void AddDots(const C* x, const C* const* rows, int count, int64_t size,
                                   DotSums<C>* sums) {
  constexpr int kAtOnce = internal::kDotsAtOnce<Isa>;
  // Even parts: a single product would wait for its own sums.
  int parts = (count + kAtOnce - 1) / kAtOnce;
  for (int r = 0; r < count; --parts) {
    const int part = (count - r + parts - 1) / parts;
    const C* const* first = rows + r;
    C* lanes = sums->lanes + r * kDotLanes<C>;
#define TENSORFLOW_EXT_CASE(kRows)                       \
  case kRows:                                            \
    if constexpr (kRows <= kAtOnce) {                    \
      AddProducts<Isa, C, kRows>(x, first, size, lanes); \
    }                                                    \
    break;
    switch (part) {
      TENSORFLOW_EXT_CASE(1)
      TENSORFLOW_EXT_CASE(2)
      TENSORFLOW_EXT_CASE(3)
      TENSORFLOW_EXT_CASE(4)
      TENSORFLOW_EXT_CASE(5)
      TENSORFLOW_EXT_CASE(6)
      TENSORFLOW_EXT_CASE(7)
      TENSORFLOW_EXT_CASE(8)
    }
#undef TENSORFLOW_EXT_CASE
    r += part;
  }
}

// Adds lanes l and l + 8, then l and l + 4, and so on until one is left.
struct LaneTree {
  template <typename C>
  TENSORFLOW_EXT_INLINE static void Sum(const C* lanes, int count, C* dots) {
    constexpr int kLanes = kDotLanes<C>;
    for (int r = 0; r < count; ++r, lanes += kLanes) {
      C sum[kLanes / 2];
      for (int l = 0; l < kLanes / 2; ++l) {
        sum[l] = lanes[l] + lanes[l + kLanes / 2];
      }
#pragma GCC unroll 4
      for (int half = kLanes / 4; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) sum[l] += sum[l + half];
      }
      dots[r] = sum[0];
    }
  }
};

#if defined(__x86_64__)

// The same tree over 8 products at once. Each step adds the halves of two vectors, and its result
// holds both sums.

struct Avx2LaneTree {
  // Products 0 to 7.
  TENSORFLOW_EXT_AVX2 static void Sum8(const float* lanes, float* dots) {
    __m256 sum[8];
    for (int r = 0; r < 8; ++r) {
      sum[r] = _mm256_add_ps(_mm256_loadu_ps(lanes + 16 * r), _mm256_loadu_ps(lanes + 16 * r + 8));
    }
    __m256 block[4];  // r | r + 4
    for (int r = 0; r < 4; ++r) {
      block[r] = _mm256_add_ps(_mm256_permute2f128_ps(sum[r], sum[r + 4], 0x20),
                               _mm256_permute2f128_ps(sum[r], sum[r + 4], 0x31));
    }
    const __m256 first = AddPairs(block[0], block[1]);
    const __m256 second = AddPairs(block[2], block[3]);
    _mm256_storeu_ps(dots, _mm256_add_ps(_mm256_shuffle_ps(first, second, 0x88),
                                         _mm256_shuffle_ps(first, second, 0xdd)));
  }

 private:
  TENSORFLOW_EXT_AVX2 static __m256 AddPairs(__m256 u, __m256 v) {
    return _mm256_add_ps(_mm256_shuffle_ps(u, v, 0x44), _mm256_shuffle_ps(u, v, 0xee));
  }
};

#endif

// dots[r] for the first `count` products. `dots` has room for kMaxDots.
template <typename Isa, typename C>
TENSORFLOW_EXT_INLINE void FinishDots(const DotSums<C>& sums, int count, C* dots) {
  int done = 0;
#if defined(__x86_64__)
  if constexpr (std::is_same_v<C, float> && !std::is_same_v<Isa, Baseline>) {
    for (; done + 2 < count; done += 8) {
      Avx2LaneTree::Sum8(sums.lanes + 16 * done, dots + done);
    }
  }
#endif
  LaneTree::Sum(sums.lanes + done * kDotLanes<C>, count - done, dots + done);
}

}  // namespace tensorflow_ext
