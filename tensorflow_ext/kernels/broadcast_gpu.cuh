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

// A thread takes a pack of neighbours in the innermost dimension, which is
// whole packs: their place is found once. Each operand has as many neighbours,
// or one for all.
template <typename Functor, typename T>
__global__ void __launch_bounds__(kBlockThreads)
    BroadcastPacksKernel(Broadcast<Functor::kArity> broadcast,
                         BroadcastArrays<const T, Functor::kArity> inputs,
                         BroadcastArrays<T, kOutputs<Functor>> outputs,
                         int64_t packs) {
  constexpr int kArity = Functor::kArity, kResults = kOutputs<Functor>;
  const Functor functor{};
#pragma unroll 1  // as in ElementwiseKernel
  for (int64_t p = GridIndex(); p < packs; p += GridStride()) {
    int64_t offsets[kArity];
    BroadcastOffsets(broadcast, p * Pack<T>::kSize, offsets);
    Pack<T> x[kArity], y[kResults];
#pragma unroll
    for (int k = 0; k < kArity; ++k) {
      const T* input = inputs.values[k] + offsets[k];
      if (broadcast.strides[k][broadcast.rank - 1] != 0) {
        x[k] = *reinterpret_cast<const Pack<T>*>(input);
      } else {
        const T value = *input;
#pragma unroll
        for (int j = 0; j < Pack<T>::kSize; ++j) x[k].values[j] = value;
      }
    }
    ApplyToPacks(functor, x, y);
#pragma unroll
    for (int k = 0; k < kResults; ++k) {
      reinterpret_cast<Pack<T>*>(outputs.values[k])[p] = y[k];
    }
  }
}

// Whether the innermost dimension is whole packs of all that does not repeat in
// it.
template <typename T, int kOperands, int kResults>
bool IsInPacks(const Broadcast<kOperands>& broadcast,
               const BroadcastArrays<const T, kOperands>& inputs,
               const BroadcastArrays<T, kResults>& outputs) {
  const int inner = broadcast.rank - 1;
  const auto is_aligned = [](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % sizeof(Pack<T>) == 0;
  };
  bool in_packs = broadcast.sizes[inner] % Pack<T>::kSize == 0;
  for (int k = 0; k < kOperands; ++k) {
    in_packs &=
        broadcast.strides[k][inner] == 0 || is_aligned(inputs.values[k]);
  }
  for (const T* output : outputs.values) in_packs &= is_aligned(output);
  return in_packs;
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
    const auto cuda_stream = static_cast<cudaStream_t>(stream);
    if (internal::IsInPacks(broadcast, operands, results)) {
      const int64_t packs = size / internal::Pack<T>::kSize;
      internal::BroadcastPacksKernel<Functor, T>
          <<<GridBlocks(packs), kBlockThreads, 0, cuda_stream>>>(
              broadcast, operands, results, packs);
      return cudaGetLastError();
    }
    const auto kernel = broadcast.rank == 1
                            ? internal::BroadcastKernel<true, Functor, T>
                            : internal::BroadcastKernel<false, Functor, T>;
    kernel<<<GridBlocks(size), kBlockThreads, 0, cuda_stream>>>(
        broadcast, operands, results, size);
    return cudaGetLastError();
  });
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_BROADCAST_GPU_CUH_
