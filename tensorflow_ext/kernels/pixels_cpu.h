// SPDX-License-Identifier: Apache-2.0
//
// Weighted sums of pixels, channel by channel, on the CPU. For use in the loops
// of RunBest (simd.h). A sum is made in the order in which pixels come, four of
// them at a time, whatever the instruction set.

#ifndef TENSORFLOW_EXT_KERNELS_PIXELS_CPU_H_
#define TENSORFLOW_EXT_KERNELS_PIXELS_CPU_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// Channels go in blocks of this many: their sums stay in the first cache.
constexpr int64_t kChannelBlock = 64;

// The values of some channels in the compute type: as they lie in memory, or
// converted into `wide`.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE const ComputeType<T>* Values(const T* pixel,
                                                   int64_t channels,
                                                   ComputeType<T>* wide) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    return pixel;
  } else {
    Isa::Widen(pixel, wide, channels);
    return wide;
  }
}

// Writes sums of the compute type as T.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE void StoreSums(const ComputeType<T>* sums,
                                     int64_t channels, T* output) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    std::memcpy(output, sums, channels * sizeof(T));
  } else {
    Isa::Narrow(sums, output, channels);
  }
}

// sums[c] += weight * values[c].
template <typename C>
TENSORFLOW_EXT_INLINE void AddScaled(C weight, const C* values,
                                     int64_t channels, C* sums) {
  for (int64_t c = 0; c < channels; ++c) sums[c] += weight * values[c];
}

// Up to four pixels, `channels` <= kChannelBlock of each, on their way to sums.
template <typename Isa, typename T>
class PixelSums {
 public:
  using C = ComputeType<T>;

  TENSORFLOW_EXT_INLINE PixelSums(int64_t channels, C* sums)
      : channels_(channels), sums_(sums) {
    for (int64_t c = 0; c < channels; ++c) sums[c] = 0;
  }

  // sums[c] += weight * pixel[c], in time.
  TENSORFLOW_EXT_INLINE void Add(const T* pixel, C weight) {
    pixels_[waiting_] = pixel;
    weights_[waiting_] = weight;
    if (++waiting_ < 4) return;
    C wide[4][kChannelBlock];
    const C* a = Values<Isa>(pixels_[0], channels_, wide[0]);
    const C* b = Values<Isa>(pixels_[1], channels_, wide[1]);
    const C* c = Values<Isa>(pixels_[2], channels_, wide[2]);
    const C* d = Values<Isa>(pixels_[3], channels_, wide[3]);
    for (int64_t k = 0; k < channels_; ++k) {
      sums_[k] += (weights_[0] * a[k] + weights_[1] * b[k]) +
                  (weights_[2] * c[k] + weights_[3] * d[k]);
    }
    waiting_ = 0;
  }

  // Adds those that are left.
  TENSORFLOW_EXT_INLINE void Finish() {
    for (int k = 0; k < waiting_; ++k) {
      C wide[kChannelBlock];
      AddScaled(weights_[k], Values<Isa>(pixels_[k], channels_, wide),
                channels_, sums_);
    }
  }

 private:
  const int64_t channels_;
  C* const sums_;
  int waiting_ = 0;
  const T* pixels_[4];
  C weights_[4];
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_PIXELS_CPU_H_
