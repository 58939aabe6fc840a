#include <algorithm>

#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm.h"

namespace tensorflow_ext {
namespace {

// One launch processes many tensors. Their pointers are in a kernel parameter, at most kGroup at a
// time, because parameters may take 4 KiB.
constexpr int kGroup = 80;

struct TensorGroup {
  int64_t first_unit[kGroup + 1];  // per tensor; the last is the total
  int64_t sizes[kGroup];
  const void* values[kGroup];
  const void* gradients[kGroup];
  void* outputs[kGroup];
  int count;

  __host__ __device__ int64_t units() const { return first_unit[count]; }
};
static_assert(sizeof(TensorGroup) <= 3584, "parameters of a kernel");

// Calls fn(group, number of units in earlier groups). Returns the first error.
template <typename Fn>
cudaError_t ForGroups(const ClipTensors& tensors, Fn fn) {
  int64_t units_before = 0;
  for (int64_t first = 0; first < tensors.count; first += kGroup) {
    TensorGroup group;
    group.count = static_cast<int>(std::min<int64_t>(kGroup, tensors.count - first));
    group.first_unit[0] = 0;
    for (int i = 0; i < group.count; ++i) {
      const int64_t t = first + i;
      group.sizes[i] = tensors.sizes[t];
      group.first_unit[i + 1] = group.first_unit[i] + UnitsOf(tensors.sizes[t]);
      group.values[i] = tensors.values[t];
      group.gradients[i] = tensors.gradients == nullptr ? nullptr : tensors.gradients[t];
      group.outputs[i] = tensors.outputs[t];
    }
    if (group.units() == 0) continue;
    const cudaError_t error = fn(group, units_before);
    if (error != cudaSuccess) return error;
    units_before += group.units();
  }
  return cudaSuccess;
}

// One block per unit.
unsigned int UnitBlocks(const TensorGroup& group) {
  return GridBlocks(group.units() * kBlockThreads);
}

// The number of elements that one 16-byte memory access moves.
template <typename T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(T);
  T values[kSize];
};

// Elements [begin, begin + size) of tensor `tensor`. They form unit `unit`.
struct Unit {
  int tensor;
  int64_t begin, size;
};

__device__ __forceinline__ Unit FindUnit(const TensorGroup& group, int64_t unit) {
  int low = 0, high = group.count;  // first_unit[low] <= unit < [high]
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (group.first_unit[middle] <= unit) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const int64_t begin = (unit - group.first_unit[low]) * kUnitSize;
  return {low, begin, min(kUnitSize, group.sizes[low] - begin)};
}

// The number of full packs at the start of a unit; 0 if an operand is not aligned.
template <typename T>
__device__ __forceinline__ int PacksOf(const Unit& unit, const void* x, const void* y,
                                       const void* z) {
  const uintptr_t bits = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                         reinterpret_cast<uintptr_t>(z);
  return bits % sizeof(Pack<T>) == 0 ? static_cast<int>(unit.size / Pack<T>::kSize) : 0;
}

// The block's sum of each of `values`, in a fixed order. Thread 0 has it.
template <int kCount>
__device__ __forceinline__ void BlockSum(double (&values)[kCount]) {
  constexpr int kWarps = kBlockThreads / 32;
  __shared__ double shared[kWarps][kCount];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      values[k] += __shfl_down_sync(0xffffffff, values[k], distance);
    }
    if (lane == 0) shared[warp][k] = values[k];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      for (int w = 1; w < kWarps; ++w) values[k] += shared[w][k];
    }
  }
  __syncthreads();
}

template <typename T, bool kProducts>
__device__ __forceinline__ void AddTerms(T value, T gradient,
                                         double (&sums)[kNormSums<T, kProducts>]) {
  double terms[kNormSums<T, kProducts>];
  NormTerms<T, kProducts>(static_cast<double>(ToCompute(value)),
                          static_cast<double>(ToCompute(gradient)), terms);
#pragma unroll
  for (int k = 0; k < kNormSums<T, kProducts>; ++k) sums[k] += terms[k];
}

// sums[unit] for each unit, with one block per unit.
template <typename T, bool kProducts>
__global__ void __launch_bounds__(kBlockThreads)
    NormSumsKernel(const __grid_constant__ TensorGroup group, NormSums* sums) {
  constexpr int kSums = kNormSums<T, kProducts>;
  for (int64_t u = blockIdx.x; u < group.units(); u += gridDim.x) {
    const Unit unit = FindUnit(group, u);
    const T* values = static_cast<const T*>(group.values[unit.tensor]) + unit.begin;
    const T* gradients = values;
    if constexpr (kProducts) {
      gradients = static_cast<const T*>(group.gradients[unit.tensor]) + unit.begin;
    }
    const int size = static_cast<int>(unit.size);
    const int packs = PacksOf<T>(unit, values, gradients, nullptr);
    double own[kSums] = {};
    for (int i = threadIdx.x; i < packs; i += kBlockThreads) {
      const Pack<T> v = reinterpret_cast<const Pack<T>*>(values)[i];
      Pack<T> g;
      if constexpr (kProducts) {
        g = reinterpret_cast<const Pack<T>*>(gradients)[i];
      } else {
        g = v;
      }
#pragma unroll
      for (int j = 0; j < Pack<T>::kSize; ++j) {
        AddTerms<T, kProducts>(v.values[j], g.values[j], own);
      }
    }
    for (int i = packs * Pack<T>::kSize + threadIdx.x; i < size; i += kBlockThreads) {
      AddTerms<T, kProducts>(values[i], gradients[i], own);
    }
    BlockSum(own);
    if (threadIdx.x == 0) sums[u] = ToNormSums<T, kProducts>(own);
  }
}

// The factors and the op's scalar output, from the sums of all units. It runs in one block.
template <typename T, bool kGradient>
__global__ void __launch_bounds__(kBlockThreads)
    ClipFactorsKernel(const NormSums* sums, int64_t units, double clip_norm, const T* norm_gradient,
                      ClipGradFactors* factors, T* scalar) {
  double own[6] = {};
  for (int64_t u = threadIdx.x; u < units; u += kBlockThreads) {
#pragma unroll
    for (int r = 0; r < 3; ++r) {
      own[r] += sums[u].squares[r];
      own[3 + r] += sums[u].products[r];
    }
  }
  BlockSum(own);
  if (threadIdx.x != 0) return;
  const GlobalNorm global = ToGlobalNorm({{own[0], own[1], own[2]}, {own[3], own[4], own[5]}});
  double result;
  if constexpr (kGradient) {
    *factors =
        MakeClipGradFactors(global, clip_norm, static_cast<double>(ToCompute(*norm_gradient)));
    result = factors->clip_norm;
  } else {
    *factors = {ClipScale(global.norm, clip_norm), 0, 0};
    result = global.norm;
  }
  *scalar = FromCompute<T>(static_cast<ComputeType<T>>(result));
}

template <typename T>
__device__ __forceinline__ T Combine(T x, T y, const ClipGradFactors& factors) {
  return FromCompute<T>(static_cast<ComputeType<T>>(ClipGradValue(
      static_cast<double>(ToCompute(x)), static_cast<double>(ToCompute(y)), factors)));
}

template <typename T>
__device__ __forceinline__ T Scaled(T x, double scale) {
  return FromCompute<T>(static_cast<ComputeType<T>>(scale * static_cast<double>(ToCompute(x))));
}

// The outputs, with one block per unit. The thread that writes an element also reads it, so the
// output may be an input. In that case, nothing is written if the values do not change.
template <typename T, bool kGradient>
__global__ void __launch_bounds__(kBlockThreads)
    ClipOutputsKernel(const __grid_constant__ TensorGroup group,
                      const ClipGradFactors* all_factors) {
  const ClipGradFactors factors = *all_factors;
  const bool unchanged = factors.scale == 1 && factors.along == 0;
  for (int64_t u = blockIdx.x; u < group.units(); u += gridDim.x) {
    const Unit unit = FindUnit(group, u);
    const T* values = static_cast<const T*>(group.values[unit.tensor]) + unit.begin;
    const T* x = values;  // the values that are scaled
    if constexpr (kGradient) {
      x = static_cast<const T*>(group.gradients[unit.tensor]) + unit.begin;
    }
    T* output = static_cast<T*>(group.outputs[unit.tensor]) + unit.begin;
    if (unchanged && output == x) continue;
    const int size = static_cast<int>(unit.size);
    const int packs = PacksOf<T>(unit, values, x, output);
#pragma unroll 1  // More unrolling would spill registers.
    for (int i = threadIdx.x; i < packs; i += kBlockThreads) {
      Pack<T> own = reinterpret_cast<const Pack<T>*>(x)[i];
      Pack<T> value;
      if constexpr (kGradient) {
        value = reinterpret_cast<const Pack<T>*>(values)[i];
      }
#pragma unroll
      for (int j = 0; j < Pack<T>::kSize; ++j) {
        if constexpr (kGradient) {
          own.values[j] = Combine(own.values[j], value.values[j], factors);
        } else {
          own.values[j] = Scaled(own.values[j], factors.scale);
        }
      }
      reinterpret_cast<Pack<T>*>(output)[i] = own;
    }
    for (int i = packs * Pack<T>::kSize + threadIdx.x; i < size; i += kBlockThreads) {
      if constexpr (kGradient) {
        output[i] = Combine(x[i], values[i], factors);
      } else {
        output[i] = Scaled(x[i], factors.scale);
      }
    }
  }
}

// Computes the sums of all units, the factors and the outputs, for both ops.
template <bool kGradient>
int Launch(NumericType type, const ClipTensors& tensors, const void* norm_gradient,
           double clip_norm, NormSums* sums, ClipGradFactors* factors, void* scalar,
           cudaStream_t stream) {
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    cudaError_t error = ForGroups(tensors, [&](const TensorGroup& group, int64_t first) {
      NormSumsKernel<T, kGradient>
          <<<UnitBlocks(group), kBlockThreads, 0, stream>>>(group, sums + first);
      return cudaGetLastError();
    });
    if (error != cudaSuccess) return error;
    ClipFactorsKernel<T, kGradient><<<1, kBlockThreads, 0, stream>>>(
        sums, TotalUnits(tensors), clip_norm, static_cast<const T*>(norm_gradient), factors,
        static_cast<T*>(scalar));
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    return ForGroups(tensors, [&](const TensorGroup& group, int64_t) {
      ClipOutputsKernel<T, kGradient>
          <<<UnitBlocks(group), kBlockThreads, 0, stream>>>(group, factors);
      return cudaGetLastError();
    });
  });
}

}  // namespace

int LaunchClipByGlobalNorm(NumericType type, const ClipTensors& tensors, double clip_norm,
                           NormSums* sums, ClipGradFactors* factors, void* norm, void* stream) {
  return Launch<false>(type, tensors, nullptr, clip_norm, sums, factors, norm,
                       static_cast<cudaStream_t>(stream));
}

int LaunchClipByGlobalNormGrad(NumericType type, const ClipTensors& tensors,
                               const void* norm_gradient, double clip_norm, NormSums* sums,
                               ClipGradFactors* factors, void* clip_norm_backprop, void* stream) {
  return Launch<true>(type, tensors, norm_gradient, clip_norm, sums, factors, clip_norm_backprop,
                      static_cast<cudaStream_t>(stream));
}

}  // namespace tensorflow_ext
