// The maximum of a bin and its position, for each channel, for the loops of RunBest
// (kernels/simd.h). Both stay in registers during the loop over the bin's pixels.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"

namespace tensorflow_ext {

// A bin of at least one pixel of an image, and its results.
template <typename T>
struct Bin {
  const T* image;
  PixelRange rows, columns;
  int32_t width, channels;  // of the image
  T* pooled;
  int32_t* argmax;
};

namespace internal {

// Processes channels [first, first + size), in as many vectors as kVectors has numbers. The last
// vector ends with the channels, so it may overlap the one before it.
template <typename Isa, typename T, typename Vectors>
struct MaximumVectors;

// A function must know its instruction set from the start, as a literal, to keep GCC's vectors in
// registers. This needs a macro. As in ReplacesMaximum, the first of equals stays, and so does the
// first NaN.
#define TENSORFLOW_EXT_MAXIMUM_VECTORS(Isa, ATTRIBUTE)                                           \
  template <typename T, int... kVectors>                                                         \
  struct MaximumVectors<Isa, T, std::integer_sequence<int, kVectors...>> {                       \
    using C = ComputeType<T>;                                                                    \
    using Integer = std::conditional_t<sizeof(C) == 4, int32_t, int64_t>;                        \
    static constexpr int kBytes = kVectorBytes<Isa>;                                             \
    static constexpr int kWidth = kBytes / sizeof(C);                                            \
    static constexpr int kLast = sizeof...(kVectors) - 1;                                        \
    typedef C Vector __attribute__((vector_size(kBytes)));                                       \
    typedef Integer Integers __attribute__((vector_size(kBytes)));                               \
                                                                                                 \
    ATTRIBUTE static void Run(const Bin<T>& bin, int32_t first, int32_t size) {                  \
      const int32_t last = size - kWidth;                                                        \
      const int32_t begin = bin.rows.begin * bin.width + bin.columns.begin;                      \
      const T* pixel = Pixel(bin, begin) + first;                                                \
      Vector maximum[] = {Isa::Load(pixel + Offset(kVectors, last))...};                         \
      Integers where[] = {((void)kVectors, Integers{} + begin)...};                              \
      for (int32_t h = bin.rows.begin; h < bin.rows.end; ++h) {                                  \
        for (int32_t w = bin.columns.begin; w < bin.columns.end; ++w) {                          \
          const int32_t position = h * bin.width + w;                                            \
          const Integers here = Integers{} + position;                                           \
          pixel = Pixel(bin, position) + first;                                                  \
          Vector value;                                                                          \
          Integers replaces;                                                                     \
          ((value = Isa::Load(pixel + Offset(kVectors, last)),                                   \
            replaces = ~(value <= maximum[kVectors]) & (maximum[kVectors] == maximum[kVectors]), \
            maximum[kVectors] = replaces ? value : maximum[kVectors],                            \
            where[kVectors] = replaces ? here : where[kVectors]),                                \
           ...);                                                                                 \
        }                                                                                        \
      }                                                                                          \
      C values[(kLast + 1) * kWidth];                                                            \
      Integer positions[(kLast + 1) * kWidth];                                                   \
      ((std::memcpy(values + Offset(kVectors, last), &maximum[kVectors], kBytes),                \
        std::memcpy(positions + Offset(kVectors, last), &where[kVectors], kBytes)),              \
       ...);                                                                                     \
      for (int32_t c = 0; c < size; ++c) {                                                       \
        bin.pooled[first + c] = FromCompute<T>(values[c]);                                       \
        bin.argmax[first + c] = static_cast<int32_t>(positions[c]) * bin.channels + first + c;   \
      }                                                                                          \
    }                                                                                            \
                                                                                                 \
   private:                                                                                      \
    TENSORFLOW_EXT_INLINE static int32_t Offset(int vector, int32_t last) {                      \
      return vector < kLast ? vector * kWidth : last;                                            \
    }                                                                                            \
    TENSORFLOW_EXT_INLINE static const T* Pixel(const Bin<T>& bin, int64_t position) {           \
      return bin.image + position * bin.channels;                                                \
    }                                                                                            \
  };

TENSORFLOW_EXT_MAXIMUM_VECTORS(Baseline, )
#if defined(__x86_64__)
TENSORFLOW_EXT_MAXIMUM_VECTORS(Avx2, TENSORFLOW_EXT_AVX2)
TENSORFLOW_EXT_MAXIMUM_VECTORS(Avx512, TENSORFLOW_EXT_AVX512)
#endif
#undef TENSORFLOW_EXT_MAXIMUM_VECTORS

// The instruction set with narrower vectors.
template <typename Isa>
struct NarrowerThan {
  using type = Baseline;
};
#if defined(__x86_64__)
template <>
struct NarrowerThan<Avx512> {
  using type = Avx2;
};
#endif

// Processes fewer channels than a vector has.
template <int kChannels, typename T>
TENSORFLOW_EXT_INLINE void MaximumOfFew(const Bin<T>& bin) {
  using C = ComputeType<T>;
  const int32_t begin = bin.rows.begin * bin.width + bin.columns.begin;
  C maximum[kChannels];
  int32_t where[kChannels];
#pragma GCC unroll 4
  for (int c = 0; c < kChannels; ++c) {
    maximum[c] = ToCompute(bin.image[int64_t{begin} * kChannels + c]);
    where[c] = begin;
  }
  for (int32_t h = bin.rows.begin; h < bin.rows.end; ++h) {
    for (int32_t w = bin.columns.begin; w < bin.columns.end; ++w) {
      const int32_t position = h * bin.width + w;
      const T* pixel = bin.image + int64_t{position} * kChannels;
#pragma GCC unroll 4
      for (int c = 0; c < kChannels; ++c) {
        const C value = ToCompute(pixel[c]);
        const bool replaces = ReplacesMaximum(value, maximum[c]);
        maximum[c] = replaces ? value : maximum[c];
        where[c] = replaces ? position : where[c];
      }
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    bin.pooled[c] = FromCompute<T>(maximum[c]);
    bin.argmax[c] = where[c] * kChannels + c;
  }
}

}  // namespace internal

// Writes the maxima of a bin and their elements in the image.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE void BinMaximum(const Bin<T>& bin) {
  using Narrower = typename internal::NarrowerThan<Isa>::type;
  constexpr int32_t kWidth = kVectorBytes<Isa> / sizeof(ComputeType<T>);
  constexpr int32_t kMost = 4;  // vectors, two registers each
  // Each vector waits for the comparison with the pixel before, so a few wide vectors take longer
  // than more narrow ones.
  if constexpr (!std::is_same_v<Isa, Baseline>) {
    if (bin.channels < kWidth || (kVectorBytes<Isa> == 64 && bin.channels <= 2 * kWidth)) {
      return BinMaximum<Narrower>(bin);
    }
  } else if (bin.channels < kWidth) {
    if (bin.channels == 1) return internal::MaximumOfFew<1>(bin);
    if (bin.channels == 2) return internal::MaximumOfFew<2>(bin);
    return internal::MaximumOfFew<3>(bin);
  }
  for (int32_t first = 0; first < bin.channels; first += kMost * kWidth) {
    const int32_t size = std::min(kMost * kWidth, bin.channels - first);
#define TENSORFLOW_EXT_VECTORS(kVectors) \
  internal::MaximumVectors<Isa, T, std::make_integer_sequence<int, kVectors>>
    if (size > 3 * kWidth) {
      TENSORFLOW_EXT_VECTORS(4)::Run(bin, first, size);
    } else if (size > 2 * kWidth) {
      TENSORFLOW_EXT_VECTORS(3)::Run(bin, first, size);
    } else if (size > kWidth) {
      TENSORFLOW_EXT_VECTORS(2)::Run(bin, first, size);
    } else {
      // The last vector may start before the other vectors end.
      TENSORFLOW_EXT_VECTORS(1)::Run(bin, bin.channels - kWidth, kWidth);
    }
#undef TENSORFLOW_EXT_VECTORS
  }
}

}  // namespace tensorflow_ext
