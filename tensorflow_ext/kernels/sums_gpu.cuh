// Gradients that many threads add to. The sums have the compute type and are rounded at the end if
// the output has another type.

#pragma once

#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    RoundKernel(const ComputeType<T>* sums, T* output, int64_t size) {
  for (int64_t i = GridIndex(); i < size; i += GridStride()) {
    output[i] = FromCompute<T>(sums[i]);
  }
}

// Sets `size` > 0 sums to 0, calls `add(sum)` to launch the kernel that adds to them, and writes
// them to `output`. The sums are in the output itself or, for the 16-bit types, in `sums`.
template <typename T, typename Add>
cudaError_t LaunchSums(float* sums, void* output, int64_t size, cudaStream_t stream, Add&& add) {
  using C = ComputeType<T>;
  constexpr bool kApart = !std::is_same_v<T, C>;
  C* sum;
  if constexpr (kApart) {
    sum = sums;
  } else {
    sum = static_cast<C*>(output);
  }
  cudaError_t error = cudaMemsetAsync(sum, 0, size * sizeof(C), stream);
  if (error == cudaSuccess) error = add(sum);
  if constexpr (kApart) {
    if (error == cudaSuccess) {
      RoundKernel<<<GridBlocks(size), kBlockThreads, 0, stream>>>(sum, static_cast<T*>(output),
                                                                  size);
      error = cudaGetLastError();
    }
  }
  return error;
}

// Calls use(i) for the candidates i in [0, count) for which test(i) holds, in ascending order. Each
// thread of the block tests some, and all threads use all of them. use(i) finds at i %
// kBlockThreads what test(i) left in shared memory at threadIdx.x. All kBlockThreads threads of the
// block must call this.
template <typename Test, typename Use>
__device__ __forceinline__ void ForEachInOrder(int64_t count, Test&& test, Use&& use) {
  constexpr int kWarps = kBlockThreads / 32;
  __shared__ unsigned int hits[kWarps];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t first = 0; first < count; first += kBlockThreads) {
    const bool hit = first + thread < count && test(first + thread);
    const unsigned int bits = __ballot_sync(0xffffffffu, hit);
    if (thread % 32 == 0) hits[thread / 32] = bits;
    __syncthreads();
    for (int warp = 0; warp < kWarps; ++warp) {
      for (unsigned int left = hits[warp]; left != 0; left &= left - 1) {
        use(first + warp * 32 + __ffs(static_cast<int>(left)) - 1);
      }
    }
    __syncthreads();
  }
}

}  // namespace tensorflow_ext
