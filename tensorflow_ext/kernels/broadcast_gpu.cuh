// SPDX-License-Identifier: Apache-2.0
//
// The broadcasting loop on the GPU; an <op>_gpu.cu.cc includes this and
// instantiates GpuBroadcast for its functors.

#ifndef TENSORFLOW_EXT_KERNELS_BROADCAST_GPU_CUH_
#define TENSORFLOW_EXT_KERNELS_BROADCAST_GPU_CUH_

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/kernels/launch.cuh"

namespace tensorflow_ext {
namespace internal {

template <typename T, int kCount>
struct BroadcastArrays {
  T* values[kCount];
};

// kFlat: one dimension, of which some operand is a scalar, where the offsets
// need no division.
template <bool kFlat, typename Functor, typename T>
__global__ void __launch_bounds__(kBlockThreads)
    BroadcastKernel(Broadcast<Functor::kArity> broadcast,
                    BroadcastArrays<const T, Functor::kArity> inputs,
                    BroadcastArrays<T, kOutputs<Functor>> outputs,
                    int64_t size) {
  constexpr int kArity = Functor::kArity;
  const Functor functor{};
#pragma unroll 1  // as in ElementwiseKernel
  for (int64_t i = GridIndex(); i < size; i += GridStride()) {
    int64_t offsets[kArity];
    if constexpr (kFlat) {
#pragma unroll
      for (int k = 0; k < kArity; ++k) {
        offsets[k] = i * broadcast.strides[k][0];
      }
    } else {
      BroadcastOffsets(broadcast, i, offsets);
    }
    ComputeType<T> x[kArity], results[kOutputs<Functor>];
#pragma unroll
    for (int k = 0; k < kArity; ++k) {
      x[k] = ToCompute(inputs.values[k][offsets[k]]);
    }
    Apply(functor, x, results);
#pragma unroll
    for (int k = 0; k < kOutputs<Functor>; ++k) {
      outputs.values[k][i] = FromCompute<T>(results[k]);
    }
  }
}

// Whether no operand repeats: all have the output's shape.
template <int kOperands>
bool IsElementwise(const Broadcast<kOperands>& broadcast) {
  if (broadcast.rank != 1) return false;
  for (int k = 0; k < kOperands; ++k) {
    if (broadcast.strides[k][0] != 1) return false;
  }
  return true;
}

}  // namespace internal

template <typename Functor>
int GpuBroadcast<Functor>::Launch(NumericType type,
                                  const Broadcast<Functor::kArity>& broadcast,
                                  const void* const* inputs,
                                  void* const* outputs, int64_t size,
                                  void* stream) {
  if (size == 0) return cudaSuccess;
  return DispatchFor<Functor>(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    if (internal::IsElementwise(broadcast)) {  // in packs
      return internal::LaunchElementwise<T>(Functor{}, inputs, outputs, size,
                                            stream);
    }
    internal::BroadcastArrays<const T, Functor::kArity> operands;
    internal::BroadcastArrays<T, kOutputs<Functor>> results;
    for (int k = 0; k < Functor::kArity; ++k) {
      operands.values[k] = static_cast<const T*>(inputs[k]);
    }
    for (int k = 0; k < kOutputs<Functor>; ++k) {
      results.values[k] = static_cast<T*>(outputs[k]);
    }
    const auto kernel = broadcast.rank == 1
                            ? internal::BroadcastKernel<true, Functor, T>
                            : internal::BroadcastKernel<false, Functor, T>;
    kernel<<<GridBlocks(size), kBlockThreads, 0,
             static_cast<cudaStream_t>(stream)>>>(broadcast, operands, results,
                                                  size);
    return cudaGetLastError();
  });
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_BROADCAST_GPU_CUH_
