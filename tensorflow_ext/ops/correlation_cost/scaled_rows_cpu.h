// SPDX-License-Identifier: Apache-2.0
//
// Sums of scaled rows that stay in registers, for loops that RunBest runs
// (simd.h): many sums from few loads, without which a matrix-like product waits
// for memory. The compiler's own vectorisation finds the registers only now and
// then, so here they are vectors of GCC's vector extension. It has to know
// their instruction set from the start, as a literal: hence the macro.

#ifndef TENSORFLOW_EXT_OPS_CORRELATION_COST_SCALED_ROWS_CPU_H_
#define TENSORFLOW_EXT_OPS_CORRELATION_COST_SCALED_ROWS_CPU_H_

#include <cstdint>
#include <utility>

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
struct ScaledTile;

// kSums counts the registers of sums: all of the first output, and so on.
#define TENSORFLOW_EXT_SCALED_TILE(Isa, ATTRIBUTE)                         \
  template <typename C, int... kSums>                                      \
  struct ScaledTile<Isa, C, std::integer_sequence<int, kSums...>> {        \
    static constexpr int kBytes = kVectorBytes<Isa>;                       \
    static constexpr int kWidth = kBytes / sizeof(C);                      \
    template <int kPerRow>                                                 \
    ATTRIBUTE static void Add(const ScaledRows<C>& in, C* sums,            \
                              int64_t stride) {                            \
      typedef C Vector __attribute__((vector_size(kBytes)));               \
      typedef C Memory                                                     \
          __attribute__((vector_size(kBytes), aligned(alignof(C))));       \
      Vector sum[] = {*(const Memory*)(sums + kSums / kPerRow * stride +   \
                                       kSums % kPerRow * kWidth)...};      \
      const C* row = in.rows;                                              \
      const C* factor = in.factors;                                        \
      for (int64_t t = 0; t < in.count; ++t) {                             \
        ((sum[kSums] += factor[kSums / kPerRow * in.output_step] *         \
                        *(const Memory*)(row + kSums % kPerRow * kWidth)), \
         ...);                                                             \
        row += in.row_step;                                                \
        factor += in.factor_step;                                          \
      }                                                                    \
      ((*(Memory*)(sums + kSums / kPerRow * stride +                       \
                   kSums % kPerRow * kWidth) = sum[kSums]),                \
       ...);                                                               \
    }                                                                      \
  };

TENSORFLOW_EXT_SCALED_TILE(Baseline, )
#if defined(__x86_64__)
TENSORFLOW_EXT_SCALED_TILE(Avx2, TENSORFLOW_EXT_AVX2)
TENSORFLOW_EXT_SCALED_TILE(Avx512, TENSORFLOW_EXT_AVX512)
#endif
#undef TENSORFLOW_EXT_SCALED_TILE

}  // namespace internal

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

#endif  // TENSORFLOW_EXT_OPS_CORRELATION_COST_SCALED_ROWS_CPU_H_
