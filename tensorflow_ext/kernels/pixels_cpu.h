// Weighted sums of pixels, channel by channel, on the CPU. For loops of RunBest (simd.h). Pixels
// are added in the order in which they come, four at a time, on every instruction set.

#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tensorflow_ext/kernels/lane_sums_cpu.h"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// The channels in a block; their sums stay in the first cache.
constexpr int64_t kChannelBlock = 64;

// The values of some channels in the compute type: in place, or converted to `wide`.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE const ComputeType<T>* Values(const T* pixel, int64_t channels,
                                                   ComputeType<T>* wide) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    return pixel;
  } else {
    Isa::Widen(pixel, wide, channels);
    return wide;
  }
}

// Writes sums in the compute type as T.
template <typename Isa, typename T>
TENSORFLOW_EXT_INLINE void StoreSums(const ComputeType<T>* sums, int64_t channels, T* output) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    std::memcpy(output, sums, channels * sizeof(T));
  } else {
    Isa::Narrow(sums, output, channels);
  }
}

// sums[c] += weight * values[c].
template <typename C>
TENSORFLOW_EXT_INLINE void AddScaled(C weight, const C* values, int64_t channels, C* sums) {
  for (int64_t c = 0; c < channels; ++c) sums[c] += weight * values[c];
}

// Sums of weighted pixels over `channels` <= kChannelBlock channels, in memory.
template <typename Isa, typename T>
class ChannelSums {
 public:
  using C = ComputeType<T>;
  using Pixel = const T*;

  TENSORFLOW_EXT_INLINE explicit ChannelSums(int64_t channels) : channels_(channels) {
    for (int64_t c = 0; c < channels; ++c) sums_[c] = 0;
  }

  TENSORFLOW_EXT_INLINE void AddFour(const Pixel* pixels, const C* weights) {
    C wide[4][kChannelBlock];
    const C* a = Values<Isa>(pixels[0], channels_, wide[0]);
    const C* b = Values<Isa>(pixels[1], channels_, wide[1]);
    const C* c = Values<Isa>(pixels[2], channels_, wide[2]);
    const C* d = Values<Isa>(pixels[3], channels_, wide[3]);
    for (int64_t k = 0; k < channels_; ++k) {
      sums_[k] += (weights[0] * a[k] + weights[1] * b[k]) + (weights[2] * c[k] + weights[3] * d[k]);
    }
  }

  TENSORFLOW_EXT_INLINE void AddOne(Pixel pixel, C weight) {
    C wide[kChannelBlock];
    AddScaled(weight, Values<Isa>(pixel, channels_, wide), channels_, sums_);
  }

  TENSORFLOW_EXT_INLINE void Store(T* output) const { StoreSums<Isa>(sums_, channels_, output); }

 private:
  const int64_t channels_;
  C sums_[kChannelBlock];
};

// The same over kChannelBlock channels, in registers.
template <typename Isa, typename T>
class BlockSums {
 public:
  using C = ComputeType<T>;
  using Pixel = const T*;

  TENSORFLOW_EXT_INLINE void AddFour(const Pixel* pixels, const C* weights) {
    C wide[4][kChannelBlock];
    const C* a = Values<Isa>(pixels[0], kChannelBlock, wide[0]);
    const C* b = Values<Isa>(pixels[1], kChannelBlock, wide[1]);
    const C* c = Values<Isa>(pixels[2], kChannelBlock, wide[2]);
    const C* d = Values<Isa>(pixels[3], kChannelBlock, wide[3]);
#pragma GCC unroll 32
    for (int v = 0; v < kVectors; ++v) {
      Vector p, q, r, s;
      Load(a + v * kWidth, &p);
      Load(b + v * kWidth, &q);
      Load(c + v * kWidth, &r);
      Load(d + v * kWidth, &s);
      sums_[v] += (weights[0] * p + weights[1] * q) + (weights[2] * r + weights[3] * s);
    }
  }

  TENSORFLOW_EXT_INLINE void AddOne(Pixel pixel, C weight) {
    C wide[kChannelBlock];
    const C* values = Values<Isa>(pixel, kChannelBlock, wide);
#pragma GCC unroll 32
    for (int v = 0; v < kVectors; ++v) {
      Vector value;
      Load(values + v * kWidth, &value);
      sums_[v] += weight * value;
    }
  }

  TENSORFLOW_EXT_INLINE void Store(T* output) const {
    C sums[kChannelBlock];
    std::memcpy(sums, sums_, sizeof(sums));
    StoreSums<Isa>(sums, kChannelBlock, output);
  }

 private:
  static constexpr int kWidth = kVectorBytes<Isa> / sizeof(C);
  static constexpr int kVectors = kChannelBlock / kWidth;
  typedef C Vector __attribute__((vector_size(kVectorBytes<Isa>)));

  Vector sums_[kVectors] = {};
};

// Collects up to four pixels for Sums to add at once.
template <typename Sums>
class PixelSums {
 public:
  template <typename... Channels>
  TENSORFLOW_EXT_INLINE explicit PixelSums(Channels... channels) : sums_(channels...) {}

  // sums[c] += weight * pixel[c], in this call or in a later one.
  TENSORFLOW_EXT_INLINE void Add(typename Sums::Pixel pixel, typename Sums::C weight) {
    pixels_[waiting_] = pixel;
    weights_[waiting_] = weight;
    if (++waiting_ < 4) return;
    sums_.AddFour(pixels_, weights_);
    waiting_ = 0;
  }

  // Adds the remaining pixels and writes the sums.
  template <typename T>
  TENSORFLOW_EXT_INLINE void Finish(T* output) {
    for (int k = 0; k < waiting_; ++k) sums_.AddOne(pixels_[k], weights_[k]);
    sums_.Store(output);
  }

 private:
  Sums sums_;
  int waiting_ = 0;
  typename Sums::Pixel pixels_[4];
  typename Sums::C weights_[4];
};

}  // namespace tensorflow_ext
