// Kernels with faults that the emulator must find. A test that reports no other kernel must report
// these.

#include <cuda_runtime.h>

#include <string_view>

#include "tests/gpu/kernels_alone/launchers.h"

namespace {

constexpr int kBlock = 64;

// Correct: reverses a block's values.
__global__ void Reverse(const float* input, float* output) {
  __shared__ float values[kBlock];
  values[threadIdx.x] = input[threadIdx.x];
  __syncthreads();
  output[threadIdx.x] = values[kBlock - 1 - threadIdx.x];
}

__global__ void ForgetsBarrier(const float* input, float* output) {
  __shared__ float values[kBlock];
  values[threadIdx.x] = input[threadIdx.x];
  output[threadIdx.x] = values[kBlock - 1 - threadIdx.x];
}

__global__ void LeavesBeforeBarrier(const float* input, float* output) {
  if (threadIdx.x == 7) return;
  __syncthreads();
  output[threadIdx.x] = input[threadIdx.x];
}

__global__ void WaitsElsewhere(const float* input, float* output) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  output[threadIdx.x] = input[threadIdx.x];
}

__global__ void LeavesBeforeExchange(const float* input, float* output) {
  if (threadIdx.x == 40) return;
  output[threadIdx.x] = __shfl_xor_sync(0xffffffff, input[threadIdx.x], 1);
}

__global__ void NamesFewerLanes(const float* input, float* output) {
  output[threadIdx.x] = __shfl_xor_sync(0xffff, input[threadIdx.x], 1);
}

__global__ void ExchangesInHalfAWarp(const float* input, float* output) {
  output[threadIdx.x] = __shfl_xor_sync(0xffffffff, input[threadIdx.x], 1);
}

__global__ void ReadsBehind(const float* input, float* output) {
  output[threadIdx.x] = input[threadIdx.x + 1];
}

__global__ void WritesBehindShared(const float* input, float* output) {
  __shared__ float values[kBlock];
  values[threadIdx.x + 1] = input[threadIdx.x];
  output[threadIdx.x] = values[threadIdx.x];
}

struct {
  std::string_view name;
  void (*kernel)(const float*, float*);
  int threads;
} constexpr kKernels[] = {
    {"Reverse", Reverse, kBlock},
    {"ForgetsBarrier", ForgetsBarrier, kBlock},
    {"LeavesBeforeBarrier", LeavesBeforeBarrier, kBlock},
    {"WaitsElsewhere", WaitsElsewhere, kBlock},
    {"LeavesBeforeExchange", LeavesBeforeExchange, kBlock},
    {"NamesFewerLanes", NamesFewerLanes, kBlock},
    {"ExchangesInHalfAWarp", ExchangesInHalfAWarp, kBlock - 16},
    {"ReadsBehind", ReadsBehind, kBlock},
    {"WritesBehindShared", WritesBehindShared, kBlock},
    {"TooManyThreads", Reverse, 1056},
};

// Input and output have 64 elements. Returns a cudaError_t, or -1 for an unknown name.
int LaunchFaulty(const char* name, const float* input, float* output, cudaStream_t stream) {
  for (const auto& entry : kKernels) {
    if (entry.name != name) continue;
    const auto kernel = entry.kernel;
    kernel<<<1, entry.threads, 0, stream>>>(input, output);
    return cudaGetLastError();
  }
  return -1;
}

}  // namespace

EXPORT_LAUNCHER(Faulty, LaunchFaulty)
