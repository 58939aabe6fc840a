// The elementwise loop on the GPU. A *_gpu.cu.cc includes this file, and broadcast_gpu.cuh if
// operands broadcast, and instantiates the loops of its ops (elementwise.h):
//
//   TENSORFLOW_EXT_ACTIVATIONS(INSTANTIATE_GPU_ELEMENTWISE)

#pragma once

#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/kernels/launch.cuh"

namespace tensorflow_ext {
namespace internal {

// kCount arrays, passed by value.
template <typename T, int kCount>
struct Arrays {
  T* data[kCount];
};

template <typename Functor, typename T>
__device__ __forceinline__ void ApplyStored(const Functor& functor, const T* x, T* y) {
  ComputeType<T> arguments[Functor::kArity], results[kOutputs<Functor>];
#pragma unroll
  for (int k = 0; k < Functor::kArity; ++k) arguments[k] = ToCompute(x[k]);
  Apply(functor, arguments, results);
#pragma unroll
  for (int k = 0; k < kOutputs<Functor>; ++k) y[k] = FromCompute<T>(results[k]);
}

// The same for each element of packs.
template <typename Functor, typename T, int kElements>
__device__ __forceinline__ void ApplyToPacks(const Functor& functor, const Pack<T, kElements>* x,
                                             Pack<T, kElements>* y) {
  constexpr int kArity = Functor::kArity, kResults = kOutputs<Functor>;
#pragma unroll
  for (int j = 0; j < kElements; ++j) {
    T element[kArity], result[kResults];
#pragma unroll
    for (int k = 0; k < kArity; ++k) element[k] = x[k].values[j];
    ApplyStored(functor, element, result);
#pragma unroll
    for (int k = 0; k < kResults; ++k) y[k].values[j] = result[k];
  }
}

// Processes `packs` whole packs from element `head` on, where every operand is aligned, and the
// elements before and after them one by one. The thread that writes an element also reads it, so an
// output may be one of the inputs.
//
// A thread nearly always takes one pack. An unrolled loop would start with a 64-bit division for
// its count and would never be used.
//
// A formula that computes for longer may use all registers: where it calls a function, the compiler
// would rather spill one than give up a warp.
template <typename Functor, typename T>
__global__ void __launch_bounds__(kBlockThreads, kComputesLong<Functor> ? 1 : 0)
    ElementwiseKernel(Functor functor, Arrays<const T, Functor::kArity> inputs,
                      Arrays<T, kOutputs<Functor>> outputs, int64_t head, int64_t packs,
                      int64_t size) {
  constexpr int kArity = Functor::kArity;
  constexpr int kResults = kOutputs<Functor>;
#pragma unroll 1
  for (int64_t p = GridIndex(); p < packs; p += GridStride()) {
    Pack<T> x[kArity], y[kResults];
#pragma unroll
    for (int k = 0; k < kArity; ++k) {
      x[k] = reinterpret_cast<const Pack<T>*>(inputs.data[k] + head)[p];
    }
    ApplyToPacks(functor, x, y);
#pragma unroll
    for (int k = 0; k < kResults; ++k) {
      reinterpret_cast<Pack<T>*>(outputs.data[k] + head)[p] = y[k];
    }
  }

  const int64_t packed = packs * Pack<T>::kSize;
#pragma unroll 1
  for (int64_t s = GridIndex(); s < size - packed; s += GridStride()) {
    const int64_t i = s < head ? s : s + packed;
    T element[kArity], result[kResults];
#pragma unroll
    for (int k = 0; k < kArity; ++k) element[k] = inputs.data[k][i];
    ApplyStored(functor, element, result);
#pragma unroll
    for (int k = 0; k < kResults; ++k) outputs.data[k][i] = result[k];
  }
}

// Processes `size` > 0 elements of one type by one formula.
template <typename T, typename Formula>
int LaunchElementwise(const Formula& formula, const void* const* inputs, void* const* outputs,
                      int64_t size, void* stream) {
  const auto misalignment = [](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % sizeof(Pack<T>);
  };
  Arrays<const T, Formula::kArity> operands;
  Arrays<T, kOutputs<Formula>> results;
  bool same_alignment = true;
  for (int k = 0; k < Formula::kArity; ++k) {
    operands.data[k] = static_cast<const T*>(inputs[k]);
    same_alignment &= misalignment(inputs[k]) == misalignment(outputs[0]);
  }
  for (int k = 0; k < kOutputs<Formula>; ++k) {
    results.data[k] = static_cast<T*>(outputs[k]);
    same_alignment &= misalignment(outputs[k]) == misalignment(outputs[0]);
  }
  int64_t head = size;
  if (same_alignment) {
    head = (sizeof(Pack<T>) - misalignment(outputs[0])) % sizeof(Pack<T>) / sizeof(T);
    if (head > size) head = size;
  }
  const int64_t packs = (size - head) / Pack<T>::kSize;
  const int64_t items = packs > 0 ? packs : size;
  ElementwiseKernel<Formula, T>
      <<<GridBlocks(items), kBlockThreads, 0, static_cast<cudaStream_t>(stream)>>>(
          formula, operands, results, head, packs, size);
  return cudaGetLastError();
}

}  // namespace internal

template <typename Functor>
int GpuElementwise<Functor, false>::Launch(const Functor& functor, NumericType type,
                                           const void* const* inputs, void* const* outputs,
                                           int64_t size, void* stream) {
  if (size == 0) return cudaSuccess;
  return WithFormula(functor, [&](const auto& formula) -> int {
    return DispatchFloating(type, [&](auto tag) -> int {
      using T = TypeOf<decltype(tag)>;
      return internal::LaunchElementwise<T>(formula, inputs, outputs, size, stream);
    });
  });
}

#define INSTANTIATE_GPU_ELEMENTWISE(op, Functor) \
  template struct ::tensorflow_ext::GpuElementwise<Functor>;

}  // namespace tensorflow_ext
