// SPDX-License-Identifier: Apache-2.0
//
// Two loops whose sums stay in registers, for what RunBest runs (simd.h): many
// sums from few loads, without which a matrix-like product waits for memory.
// The compiler's own vectorisation finds the registers only now and then, so
// here they are vectors of GCC's vector extension. It has to know their
// instruction set from the start, as a literal: hence the macro.

#ifndef TENSORFLOW_EXT_KERNELS_REGISTER_TILES_CPU_H_
#define TENSORFLOW_EXT_KERNELS_REGISTER_TILES_CPU_H_

#include <cstdint>
#include <utility>

#include "tensorflow_ext/kernels/lane_sums_cpu.h"
#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// `count` rows, each with a factor for every output.
template <typename C>
struct ScaledRows {
  const C* rows;
  int64_t row_step;  // from one row to the next
  const C* factors;
  int64_t factor_step;  // likewise
  int64_t output_step;  // from an output's factor to the next output's
  int64_t count;
};

namespace internal {

template <typename Isa, typename C, typename Sums>
struct ProductTile;

template <typename Isa, typename C, typename Sums>
struct ScaledTile;

// kSums counts the registers of sums: all of the first row, and so on.
#define TENSORFLOW_EXT_TILES(Isa, ATTRIBUTE)                                  \
  template <typename C, int... kSums>                                         \
  struct ProductTile<Isa, C, std::integer_sequence<int, kSums...>> {          \
    static constexpr int kBytes = kVectorBytes<Isa>;                          \
    static constexpr int kWidth = kBytes / sizeof(C);                         \
    static constexpr int kPerRow = 64 / kBytes;                               \
    static constexpr int kRows = sizeof...(kSums) / kPerRow;                  \
    ATTRIBUTE static void Add(const C* x, const C* const* rows, int64_t size, \
                              C* lanes) {                                     \
      typedef C Vector __attribute__((vector_size(kBytes)));                  \
      typedef C Memory                                                        \
          __attribute__((vector_size(kBytes), aligned(alignof(C))));          \
      const C* row[kRows];                                                    \
      Vector sum[] = {*(const Memory*)(lanes + kSums * kWidth)...};           \
      for (int r = 0; r < kRows; ++r) row[r] = rows[r];                       \
      for (int64_t i = 0; i < size; i += kPerRow * kWidth) {                  \
        ((sum[kSums] += *(const Memory*)(x + i + kSums % kPerRow * kWidth) *  \
                        *(const Memory*)(row[kSums / kPerRow] + i +           \
                                         kSums % kPerRow * kWidth)),          \
         ...);                                                                \
      }                                                                       \
      ((*(Memory*)(lanes + kSums * kWidth) = sum[kSums]), ...);               \
    }                                                                         \
  };                                                                          \
                                                                              \
  template <typename C, int... kSums>                                         \
  struct ScaledTile<Isa, C, std::integer_sequence<int, kSums...>> {           \
    static constexpr int kBytes = kVectorBytes<Isa>;                          \
    static constexpr int kWidth = kBytes / sizeof(C);                         \
    template <int kPerRow>                                                    \
    ATTRIBUTE static void Add(const ScaledRows<C>& in, C* sums,               \
                              int64_t stride) {                               \
      typedef C Vector __attribute__((vector_size(kBytes)));                  \
      typedef C Memory                                                        \
          __attribute__((vector_size(kBytes), aligned(alignof(C))));          \
      Vector sum[] = {*(const Memory*)(sums + kSums / kPerRow * stride +      \
                                       kSums % kPerRow * kWidth)...};         \
      const C* row = in.rows;                                                 \
      const C* factor = in.factors;                                           \
      for (int64_t t = 0; t < in.count; ++t) {                                \
        ((sum[kSums] += factor[kSums / kPerRow * in.output_step] *            \
                        *(const Memory*)(row + kSums % kPerRow * kWidth)),    \
         ...);                                                                \
        row += in.row_step;                                                   \
        factor += in.factor_step;                                             \
      }                                                                       \
      ((*(Memory*)(sums + kSums / kPerRow * stride +                          \
                   kSums % kPerRow * kWidth) = sum[kSums]),                   \
       ...);                                                                  \
    }                                                                         \
  };

TENSORFLOW_EXT_TILES(Baseline, )
#if defined(__x86_64__)
TENSORFLOW_EXT_TILES(Avx2, TENSORFLOW_EXT_AVX2)
TENSORFLOW_EXT_TILES(Avx512, TENSORFLOW_EXT_AVX512)
#endif
#undef TENSORFLOW_EXT_TILES

}  // namespace internal

// lanes[r][l] += x[i + l] * rows[r][i + l] for i = 0, L, 2 L ... below size, a
// multiple of L = 64 / sizeof(C). lanes is [kRows, L].
template <typename Isa, typename C, int kRows>
TENSORFLOW_EXT_INLINE void AddProducts(const C* x, const C* const* rows,
                                       int64_t size, C* lanes) {
  using Sums = std::make_integer_sequence<int, kRows * 64 / kVectorBytes<Isa>>;
  internal::ProductTile<Isa, C, Sums>::Add(x, rows, size, lanes);
}

// sums[k][i] += rows[t][i] * factors[t][k] for t = 0, 1 ... count - 1, of
// kOutputs outputs k, `stride` apart, and kBytes / sizeof(C) elements i. kBytes
// is a multiple of kVectorBytes<Isa>.
template <typename Isa, typename C, int kOutputs, int kBytes>
TENSORFLOW_EXT_INLINE void AddScaledRows(const ScaledRows<C>& in, C* sums,
                                         int64_t stride) {
  constexpr int kPerRow = kBytes / kVectorBytes<Isa>;
  using Sums = std::make_integer_sequence<int, kOutputs * kPerRow>;
  internal::ScaledTile<Isa, C, Sums>::template Add<kPerRow>(in, sums, stride);
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_REGISTER_TILES_CPU_H_
