// Sums of scaled rows that stay in registers, for loops that RunBest runs (simd.h). A matrix-like
// product must compute many sums from few loads, or it waits for memory. The compiler's own
// vectorisation rarely uses the registers this way, so the code uses GCC's vector extension. The
// compiler must know the vectors' instruction set from the start, as a literal. This needs a macro.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// Layers of rows t = begin, begin + 1 ... end - 1. In each layer, output k uses the rows from k to
// k + width - 1, each with its own factor.
template <typename C>
struct ScaledRows {
  const C* rows;        // row `begin` of the first layer
  int64_t row_step;     // from one row to the next
  int64_t layer_step;   // from one layer to the next
  const C* factors;     // of that row for output 0, even if it skips the row
  int64_t factor_step;  // from one row to the next
  int64_t factor_layer_step;
  int64_t output_step;  // from one output to the next
  int64_t begin, end;
  int64_t width;
  int64_t layers;
};

namespace internal {

template <typename Isa, typename C, typename Sums>
struct ScaledTile;

// kSums counts the registers of sums: first all of output 0, and so on. The outputs at both ends of
// the band lack some rows of the others. All use the rows from `first` to `last` - 1.
#define TENSORFLOW_EXT_SCALED_TILE(Isa, ATTRIBUTE)                                             \
  template <typename C, int... kSums>                                                          \
  struct ScaledTile<Isa, C, std::integer_sequence<int, kSums...>> {                            \
    static constexpr int kBytes = kVectorBytes<Isa>;                                           \
    static constexpr int kWidth = kBytes / sizeof(C);                                          \
    typedef C Vector __attribute__((vector_size(kBytes)));                                     \
    typedef C Memory __attribute__((vector_size(kBytes), aligned(alignof(C))));                \
                                                                                               \
    template <int kPerRow>                                                                     \
    ATTRIBUTE static void Add(const ScaledRows<C>& in, C* sums, int64_t stride) {              \
      constexpr int64_t kOutputs = sizeof...(kSums) / kPerRow;                                 \
      Vector sum[] = {                                                                         \
          *(const Memory*)(sums + kSums / kPerRow * stride + kSums % kPerRow * kWidth)...};    \
      const int64_t last = std::min(in.width, in.end);                                         \
      const int64_t first = std::clamp(kOutputs - 1, in.begin, in.end);                        \
      for (int64_t layer = 0; layer < in.layers; ++layer) {                                    \
        Position at = {in.begin, in.rows + layer * in.layer_step,                              \
                       in.factors + layer * in.factor_layer_step};                             \
        AddUntil<kPerRow, false>(in, first, &at, sum);                                         \
        AddUntil<kPerRow, true>(in, last, &at, sum);                                           \
        AddUntil<kPerRow, false>(in, in.end, &at, sum);                                        \
      }                                                                                        \
      ((*(Memory*)(sums + kSums / kPerRow * stride + kSums % kPerRow * kWidth) = sum[kSums]),  \
       ...);                                                                                   \
    }                                                                                          \
                                                                                               \
   private:                                                                                    \
    struct Position {                                                                          \
      int64_t t;                                                                               \
      const C* row;                                                                            \
      const C* factor;                                                                         \
    };                                                                                         \
                                                                                               \
    template <int kPerRow, bool kForAll>                                                       \
    ATTRIBUTE TENSORFLOW_EXT_INLINE static void AddUntil(const ScaledRows<C>& in, int64_t end, \
                                                         Position* at, Vector* sum) {          \
      const auto width = static_cast<uint64_t>(in.width);                                      \
      for (; at->t < end; ++at->t) {                                                           \
        ((kForAll || static_cast<uint64_t>(at->t - kSums / kPerRow) < width                    \
              ? (void)(sum[kSums] += at->factor[kSums / kPerRow * in.output_step] *            \
                                     *(const Memory*)(at->row + kSums % kPerRow * kWidth))     \
              : (void)0),                                                                      \
         ...);                                                                                 \
        at->row += in.row_step;                                                                \
        at->factor += in.factor_step;                                                          \
      }                                                                                        \
    }                                                                                          \
  };

TENSORFLOW_EXT_SCALED_TILE(Baseline, )
#if defined(__x86_64__)
TENSORFLOW_EXT_SCALED_TILE(Avx2, TENSORFLOW_EXT_AVX2)
TENSORFLOW_EXT_SCALED_TILE(Avx512, TENSORFLOW_EXT_AVX512)
#endif
#undef TENSORFLOW_EXT_SCALED_TILE

}  // namespace internal

// sums[k][i] += rows[t][i] * factors[t][k], layer by layer in the order of t,
// for the rows t of output k, kOutputs outputs, `stride` apart, and
// kBytes / sizeof(C) elements i. kBytes is a multiple of kVectorBytes<Isa>.
template <typename Isa, typename C, int kOutputs, int kBytes>
TENSORFLOW_EXT_INLINE void AddScaledRows(const ScaledRows<C>& in, C* sums, int64_t stride) {
  constexpr int kPerRow = kBytes / kVectorBytes<Isa>;
  using Sums = std::make_integer_sequence<int, kOutputs * kPerRow>;
  internal::ScaledTile<Isa, C, Sums>::template Add<kPerRow>(in, sums, stride);
}

}  // namespace tensorflow_ext
