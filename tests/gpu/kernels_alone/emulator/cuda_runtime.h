// Replaces CUDA's cuda_runtime.h. It has only what the kernels and device_cuda.cc use, with the
// names, the values and the meaning of the CUDA C++ Programming Guide and the CUDA Runtime API. The
// device's memory is host memory.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tests/gpu/kernels_alone/emulator/emulator.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

// The runtime.

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureImplicit = 906,
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

struct cudaDeviceProp {
  char name[256];
  int multiProcessorCount, major, minor;
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDriverGetVersion(int* version);

enum cudaMemcpyKind { cudaMemcpyDeviceToDevice = 3, cudaMemcpyDefault = 4 };

using cudaStream_t = emulator::Stream*;

cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
// Exactly `size` bytes, so AddressSanitizer sees where they end.
cudaError_t cudaMalloc(void** memory, size_t size);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, size_t size, cudaStream_t stream);

constexpr unsigned int cudaStreamNonBlocking = 1;
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal = 0 };
using cudaGraph_t = size_t*;  // the number of its nodes
using cudaGraphNode_t = void*;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

using cudaEvent_t = double*;  // the time of its recording, in milliseconds

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t last);

// Functions for kernels.

using dim3 = emulator::Dimensions;

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

// The defaults are evaluated at the caller, and name the place where it waits.

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::WaitForBlock({file, line});
}

template <typename T>
T __shfl_xor_sync(unsigned int mask, T value, int lane_mask, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  const int from = emulator::Lane() ^ lane_mask;
  return emulator::Exchange(mask, value, from, {file, line});
}

// A lane without a source lane gets its own value.
template <typename T>
T __shfl_down_sync(unsigned int mask, T value, unsigned int delta,
                   const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const int lane = emulator::Lane(), from = lane + static_cast<int>(delta);
  return emulator::Exchange(mask, value, from < 32 ? from : lane, {file, line});
}

inline unsigned int __ballot_sync(unsigned int mask, int predicate,
                                  const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
  const uint64_t* lanes = emulator::WaitForWarp(mask, predicate != 0, {file, line});
  unsigned int bits = 0;
  for (int lane = 0; lane < 32; ++lane) {
    bits |= static_cast<unsigned int>(lanes[lane]) << lane;
  }
  return bits;
}

inline int __ffs(int bits) { return __builtin_ffs(bits); }

template <typename T>
T atomicAdd(T* address, T value) {
  const T before = *address;
  *address += value;
  return before;
}

struct alignas(16) float4 {
  float x, y, z, w;

  float4& operator+=(const float4& other) {
    x += other.x, y += other.y, z += other.z, w += other.w;
    return *this;
  }
};

inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

template <typename T>
T min(T a, T b) {
  return b < a ? b : a;
}

template <typename T>
T max(T a, T b) {
  return a < b ? b : a;
}
