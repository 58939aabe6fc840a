// The broadcasting loop on the GPU (elementwise_gpu.cuh).

#pragma once

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/kernels/launch.cuh"

namespace tensorflow_ext {
namespace internal {

template <typename T, int kCount>
struct BroadcastArrays {
  T* values[kCount];
};

// The packs of kSize elements that a thread of BroadcastRowsKernel takes together: as many as the
// registers and the operands in flight allow.
template <typename Functor, typename T, int kSize>
constexpr int kBroadcastSteps = kSize == 1 ? (kOutputs<Functor> == 1 ? 16 : 8) / sizeof(T) : 2;

// kFlat: one dimension, with some operand a scalar. Offsets then need no division.
template <bool kFlat, typename Functor, typename T>
__global__ void __launch_bounds__(kBlockThreads)
    BroadcastKernel(Broadcast<Functor::kArity> broadcast,
                    BroadcastArrays<const T, Functor::kArity> inputs,
                    BroadcastArrays<T, kOutputs<Functor>> outputs, int64_t size) {
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

// Pack `p` of an operand, or its only value repeated.
template <typename T, int kSize>
__device__ __forceinline__ void ReadPack(const T* input, int64_t p, bool repeats,
                                         Pack<T, kSize>* pack) {
  if (!repeats) {
    *pack = reinterpret_cast<const Pack<T, kSize>*>(input)[p];
    return;
  }
  const T value = *input;
#pragma unroll
  for (int j = 0; j < kSize; ++j) pack->values[j] = value;
}

// A thread takes a pack of neighbours in the innermost dimension, whose size is a whole number of
// packs, so it computes their offsets once. Each operand has as many neighbours, or one value for
// all.
template <typename Functor, typename T>
__global__ void __launch_bounds__(kBlockThreads)
    BroadcastPacksKernel(Broadcast<Functor::kArity> broadcast,
                         BroadcastArrays<const T, Functor::kArity> inputs,
                         BroadcastArrays<T, kOutputs<Functor>> outputs, int64_t packs) {
  constexpr int kArity = Functor::kArity, kResults = kOutputs<Functor>;
  const Functor functor{};
#pragma unroll 1  // as in ElementwiseKernel
  for (int64_t p = GridIndex(); p < packs; p += GridStride()) {
    int64_t offsets[kArity];
    BroadcastOffsets(broadcast, p * Pack<T>::kSize, offsets);
    Pack<T> x[kArity], y[kResults];
#pragma unroll
    for (int k = 0; k < kArity; ++k) {
      const bool repeats = broadcast.strides[k][broadcast.rank - 1] == 0;
      ReadPack(inputs.values[k] + offsets[k], 0, repeats, &x[k]);
    }
    ApplyToPacks(functor, x, y);
#pragma unroll
    for (int k = 0; k < kResults; ++k) {
      reinterpret_cast<Pack<T>*>(outputs.values[k])[p] = y[k];
    }
  }
}

// A row is the innermost dimension. A warp takes neighbours within one row, in packs of kSize, and
// computes their offsets once. A thread has kSteps packs in flight. For rows at least as wide as a
// warp.
template <int kSize, typename Functor, typename T>
__global__ void __launch_bounds__(kBlockThreads, 1)  // as in ElementwiseKernel
    BroadcastRowsKernel(Broadcast<Functor::kArity> broadcast,
                        BroadcastArrays<const T, Functor::kArity> inputs,
                        BroadcastArrays<T, kOutputs<Functor>> outputs, int64_t packs_of_a_row,
                        int64_t parts_of_a_row, int64_t parts) {
  constexpr int kArity = Functor::kArity, kResults = kOutputs<Functor>;
  constexpr int kSteps = kBroadcastSteps<Functor, T, kSize>;
  const Functor functor{};
  const int inner = broadcast.rank - 1;
  const int lane = threadIdx.x % kWarpThreads;
#pragma unroll 1  // as in ElementwiseKernel
  for (int64_t part = GridIndex() / kWarpThreads; part < parts;
       part += GridStride() / kWarpThreads) {
    const int64_t row = Quotient(part, parts_of_a_row);
    const int64_t first = (part - row * parts_of_a_row) * (kSteps * kWarpThreads) + lane;
    int64_t offsets[kArity];
    OuterOffsets(broadcast, inner, row, offsets);
    // Read everything before writing: an output may share memory with an input.
    Pack<T, kSize> x[kSteps][kArity], y[kResults];
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int64_t p = first + s * kWarpThreads;
      if (p >= packs_of_a_row) continue;
#pragma unroll
      for (int k = 0; k < kArity; ++k) {
        const bool repeats = broadcast.strides[k][inner] == 0;
        ReadPack(inputs.values[k] + offsets[k], p, repeats, &x[s][k]);
      }
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int64_t p = first + s * kWarpThreads;
      if (p >= packs_of_a_row) continue;
      ApplyToPacks(functor, x[s], y);
#pragma unroll
      for (int k = 0; k < kResults; ++k) {
        reinterpret_cast<Pack<T, kSize>*>(outputs.values[k])[row * packs_of_a_row + p] = y[k];
      }
    }
  }
}

// True if the innermost dimension is a whole number of packs in all tensors that do not repeat in
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
    in_packs &= broadcast.strides[k][inner] == 0 || is_aligned(inputs.values[k]);
  }
  for (const T* output : outputs.values) in_packs &= is_aligned(output);
  return in_packs;
}

// True if no operand repeats: all have the output's shape.
template <int kOperands>
bool IsElementwise(const Broadcast<kOperands>& broadcast) {
  if (broadcast.rank != 1) return false;
  for (int k = 0; k < kOperands; ++k) {
    if (broadcast.strides[k][0] != 1) return false;
  }
  return true;
}

template <int kSize, typename Functor, typename T>
int LaunchBroadcastRows(const Broadcast<Functor::kArity>& broadcast,
                        const BroadcastArrays<const T, Functor::kArity>& inputs,
                        const BroadcastArrays<T, kOutputs<Functor>>& outputs, int64_t size,
                        cudaStream_t stream) {
  constexpr int kWidth = kBroadcastSteps<Functor, T, kSize> * kWarpThreads;
  const int64_t columns = broadcast.sizes[broadcast.rank - 1];
  const int64_t packs_of_a_row = columns / kSize;
  const int64_t parts_of_a_row = (packs_of_a_row + kWidth - 1) / kWidth;
  const int64_t parts = size / columns * parts_of_a_row;
  BroadcastRowsKernel<kSize, Functor, T>
      <<<GridBlocks(parts * kWarpThreads), kBlockThreads, 0, stream>>>(
          broadcast, inputs, outputs, packs_of_a_row, parts_of_a_row, parts);
  return cudaGetLastError();
}

}  // namespace internal

template <typename Functor>
int GpuElementwise<Functor, true>::Launch(NumericType type,
                                          const Broadcast<Functor::kArity>& broadcast,
                                          const void* const* inputs, void* const* outputs,
                                          int64_t size, void* stream) {
  if (size == 0) return cudaSuccess;
  return DispatchFor<Functor>(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    if (internal::IsElementwise(broadcast)) {  // in packs
      return internal::LaunchElementwise<T>(Functor{}, inputs, outputs, size, stream);
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
    constexpr int kPack = internal::Pack<T>::kSize;
    const bool in_packs = internal::IsInPacks(broadcast, operands, results);
    const int64_t columns = broadcast.sizes[broadcast.rank - 1];
    const bool fill_warps = broadcast.rank > 1 && columns >= kWarpThreads * (in_packs ? kPack : 1);
    if (fill_warps && !in_packs) {
      return internal::LaunchBroadcastRows<1, Functor, T>(broadcast, operands, results, size,
                                                          cuda_stream);
    }
    // More tensors in packs leave no registers for a second step; BroadcastPacksKernel is faster
    // then.
    if constexpr (Functor::kArity == 2 && kOutputs<Functor> == 1) {
      if (fill_warps) {
        return internal::LaunchBroadcastRows<kPack, Functor, T>(broadcast, operands, results, size,
                                                                cuda_stream);
      }
    }
    if (in_packs) {
      const int64_t packs = size / kPack;
      internal::BroadcastPacksKernel<Functor, T>
          <<<GridBlocks(packs), kBlockThreads, 0, cuda_stream>>>(broadcast, operands, results,
                                                                 packs);
      return cudaGetLastError();
    }
    const auto kernel = broadcast.rank == 1 ? internal::BroadcastKernel<true, Functor, T>
                                            : internal::BroadcastKernel<false, Functor, T>;
    kernel<<<GridBlocks(size), kBlockThreads, 0, cuda_stream>>>(broadcast, operands, results, size);
    return cudaGetLastError();
  });
}

}  // namespace tensorflow_ext
