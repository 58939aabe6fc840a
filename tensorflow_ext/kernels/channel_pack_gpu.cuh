// Neighbouring channels of a pixel that a GPU thread processes together, in memory accesses of 16
// bytes where channels and addresses allow it.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

template <typename T, int kSize>
struct alignas(kSize * sizeof(T)) ChannelPack {
  T values[kSize];
};

template <typename T, int kSize>
__device__ __forceinline__ void AddScaledPack(ComputeType<T> weight,
                                              const ChannelPack<T, kSize>& pack,
                                              ComputeType<T>* sums) {
#pragma unroll
  for (int k = 0; k < kSize; ++k) sums[k] += weight * ToCompute(pack.values[k]);
}

template <typename T, int kSize>
__device__ __forceinline__ ChannelPack<T, kSize> MakePack(const ComputeType<T>* sums) {
  ChannelPack<T, kSize> pack;
#pragma unroll
  for (int k = 0; k < kSize; ++k) pack.values[k] = FromCompute<T>(sums[k]);
  return pack;
}

// Adds to four neighbouring sums at an address that is a multiple of 16. Other threads may add to
// them too. One access from compute capability 9.0 on.
__device__ __forceinline__ void AtomicAddFour(float* sums, float4 terms) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float4*>(sums), terms);
#else
  atomicAdd(sums, terms.x);
  atomicAdd(sums + 1, terms.y);
  atomicAdd(sums + 2, terms.z);
  atomicAdd(sums + 3, terms.w);
#endif
}

// Adds weight * pack to neighbouring sums that other threads add to as well. The sums start at the
// address of a pack, a multiple of 16.
template <typename T, int kSize>
__device__ __forceinline__ void ScatterPack(ComputeType<T> weight,
                                            const ChannelPack<T, kSize>& pack,
                                            ComputeType<T>* sums) {
  const auto term = [&](int k) { return weight * ToCompute(pack.values[k]); };
  if constexpr (kSize % 4 == 0) {
#pragma unroll
    for (int k = 0; k < kSize; k += 4) {
      AtomicAddFour(sums + k, make_float4(term(k), term(k + 1), term(k + 2), term(k + 3)));
    }
  } else {
#pragma unroll
    for (int k = 0; k < kSize; ++k) atomicAdd(sums + k, term(k));
  }
}

// Calls launch(integral_constant<int, size of a pack>): as many channels as fill 16 bytes, or one.
// Both addresses are those of tensors with so many `channels`.
template <typename T, typename Launch>
auto WithChannelPack(int64_t channels, const void* input, const void* output, Launch&& launch) {
  constexpr int kPack = 16 / sizeof(T);
  const uintptr_t addresses =
      reinterpret_cast<uintptr_t>(input) | reinterpret_cast<uintptr_t>(output);
  if (channels % kPack == 0 && addresses % 16 == 0) {
    return launch(std::integral_constant<int, kPack>{});
  }
  return launch(std::integral_constant<int, 1>{});
}

// Calls launch(the same, dims that count a pack as a channel).
template <typename T, typename Dims, typename Launch>
auto WithPackedChannels(const Dims& dims, const void* input, const void* output, Launch&& launch) {
  return WithChannelPack<T>(dims.channels, input, output, [&](auto pack) {
    Dims packed = dims;
    packed.channels /= decltype(pack)::value;
    return launch(pack, packed);
  });
}

}  // namespace tensorflow_ext
