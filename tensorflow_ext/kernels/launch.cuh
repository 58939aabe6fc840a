// Launch geometry of the kernels in .cu.cc files, and the data of one access.

#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tensorflow_ext/kernels/launch.h"

namespace tensorflow_ext {

constexpr int kBlockThreads = 256;
constexpr int kWarpThreads = 32;

// The number of blocks for a grid-stride loop over `items` > 0. The bound keeps the grid legal;
// above it a thread takes more than one item.
inline unsigned int GridBlocks(int64_t items) {
  constexpr int64_t kMaxBlocks = int64_t{1} << 20;
  const int64_t blocks = (items + kBlockThreads - 1) / kBlockThreads;
  return static_cast<unsigned int>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

// This thread's first item of a grid-stride loop, and the stride, in 64 bits.
__device__ __forceinline__ int64_t GridIndex() {
  return int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t GridStride() { return int64_t{gridDim.x} * blockDim.x; }

namespace internal {

// At most as many elements as one 16-byte memory access moves.
template <typename T, int kElements = 16 / sizeof(T)>
struct alignas(kElements * sizeof(T)) Pack {
  static constexpr int kSize = kElements;
  T values[kSize];
};

}  // namespace internal
}  // namespace tensorflow_ext
