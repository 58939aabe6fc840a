// Dot products of neighbouring pixels, one pixel in each lane of a vector, for loops that RunBest
// runs (simd.h). The order of each sum is the same in every instruction set and every lane.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// The number of pixels in one vector.
template <typename Isa, typename C>
constexpr int kPixelsAtOnce = kVectorBytes<Isa> / sizeof(C);

namespace internal {

// Channels are added in blocks of this size, and then the sums of the blocks are added. One long
// sum would have larger rounding errors.
constexpr int64_t kChannelBlock = 16;

// The most products that the registers hold at once. There are 16 registers, which also hold a's
// pixels, b's pixels and a product.
constexpr int kProductsAtOnce = 12;

template <typename Isa, typename C, typename Products>
struct CorrelationTile;

// The compiler must know a vector's instruction set from the start, as a literal. This needs a
// macro.
#define TENSORFLOW_EXT_TILE(Isa, ATTRIBUTE)                                                        \
  template <typename C, int... kProduct>                                                           \
  struct CorrelationTile<Isa, C, std::integer_sequence<int, kProduct...>> {                        \
    ATTRIBUTE static void Run(const C* a, const C* b, int64_t step, int64_t channels, C* products, \
                              int64_t product_step) {                                              \
      constexpr int kBytes = kVectorBytes<Isa>;                                                    \
      typedef C Vector __attribute__((vector_size(kBytes)));                                       \
      typedef C Memory __attribute__((vector_size(kBytes), aligned(alignof(C))));                  \
      Vector total[sizeof...(kProduct)] = {};                                                      \
      for (int64_t c = 0; c < channels;) {                                                         \
        const int64_t end = std::min(c + kChannelBlock, channels);                                 \
        Vector sum[sizeof...(kProduct)] = {};                                                      \
        for (; c < end; ++c) {                                                                     \
          const Vector pixels = *(const Memory*)a;                                                 \
          ((sum[kProduct] += pixels * *(const Memory*)(b + kProduct)), ...);                       \
          a += step;                                                                               \
          b += step;                                                                               \
        }                                                                                          \
        ((total[kProduct] += sum[kProduct]), ...);                                                 \
      }                                                                                            \
      ((*(Memory*)(products + kProduct * product_step) = total[kProduct]), ...);                   \
    }                                                                                              \
  };

TENSORFLOW_EXT_TILE(Baseline, )
#if defined(__x86_64__)
TENSORFLOW_EXT_TILE(Avx2, TENSORFLOW_EXT_AVX2)
TENSORFLOW_EXT_TILE(Avx512, TENSORFLOW_EXT_AVX512)
#endif
#undef TENSORFLOW_EXT_TILE

}  // namespace internal

// products[j * product_step + k] = the sum over c of a[c * step + k] * b[c * step + k + j], for
// `count` displacements j and kPixelsAtOnce pixels k.
template <typename Isa, typename C>
TENSORFLOW_EXT_INLINE void CorrelatePixels(const C* a, const C* b, int64_t step, int64_t channels,
                                           int64_t count, C* products, int64_t product_step) {
  constexpr int kAtOnce = internal::kProductsAtOnce;
  // Even parts: a small part would wait for its own sums.
  int64_t parts = (count + kAtOnce - 1) / kAtOnce;
  for (; count > 0; --parts) {
    const int64_t part = (count + parts - 1) / parts;
#define TENSORFLOW_EXT_CASE(kProducts)                                                  \
  case kProducts:                                                                       \
    internal::CorrelationTile<Isa, C, std::make_integer_sequence<int, kProducts>>::Run( \
        a, b, step, channels, products, product_step);                                  \
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
      TENSORFLOW_EXT_CASE(9)
      TENSORFLOW_EXT_CASE(10)
      TENSORFLOW_EXT_CASE(11)
      TENSORFLOW_EXT_CASE(12)
    }
#undef TENSORFLOW_EXT_CASE
    b += part;
    products += part * product_step;
    count -= part;
  }
}

}  // namespace tensorflow_ext
