#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/rrelu/rrelu.h"

namespace tensorflow_ext {
namespace {

// Arguments of the kernel. kOfItself: x is also `values`. Without kDraws, all slopes are the lower
// bound.
template <typename T>
struct RreluArrays {
  const T* values;
  const T* x;
  T* output;
};

// Computes y[0] and y[1] of a pair of elements; `count` of them exist.
template <typename T, bool kDraws>
__device__ __forceinline__ void LeakPair(const SlopeRange<ComputeType<T>>& range,
                                         Pair<uint32_t> key, int64_t pair, const T* values,
                                         const T* x, T* y, int count) {
  using C = ComputeType<T>;
  Pair<C> slopes{range.lower, range.lower};
  if constexpr (kDraws) {
    const Pair<C> uniform = UniformPair<C>(key, CounterOfPair(pair));
    slopes = {range(uniform.first), range(uniform.second)};
  }
  y[0] = FromCompute<T>(LeakValue(slopes.first, ToCompute(values[0]), ToCompute(x[0])));
  if (count == 1) return;
  y[1] = FromCompute<T>(LeakValue(slopes.second, ToCompute(values[1]), ToCompute(x[1])));
}

// Processes `packs` whole packs if all arrays are aligned, and the elements after them in pairs.
// The thread that writes an element also reads it, so the output may be one of the other arrays.
template <typename T, bool kOfItself, bool kDraws>
__global__ void __launch_bounds__(kBlockThreads)
    RreluKernel(SlopeRange<ComputeType<T>> range, Pair<uint32_t> key, RreluArrays<T> arrays,
                int64_t packs, int64_t size) {
  using Pack = internal::Pack<T>;
  for (int64_t p = GridIndex(); p < packs; p += GridStride()) {
    const Pack x = reinterpret_cast<const Pack*>(arrays.x)[p];
    Pack values = x, y;
    if constexpr (!kOfItself) {
      values = reinterpret_cast<const Pack*>(arrays.values)[p];
    }
#pragma unroll
    for (int j = 0; j < Pack::kSize; j += 2) {
      LeakPair<T, kDraws>(range, key, (p * Pack::kSize + j) / 2, values.values + j, x.values + j,
                          y.values + j, 2);
    }
    reinterpret_cast<Pack*>(arrays.output)[p] = y;
  }

  const int64_t pairs = (size + 1) / 2;
  for (int64_t pair = packs * (Pack::kSize / 2) + GridIndex(); pair < pairs; pair += GridStride()) {
    const int64_t i = 2 * pair;
    LeakPair<T, kDraws>(range, key, pair, arrays.values + i, arrays.x + i, arrays.output + i,
                        size - i == 1 ? 1 : 2);
  }
}

template <typename T, bool kOfItself, bool kDraws>
int Launch(const Slopes& slopes, const RreluArrays<T>& arrays, int64_t size, void* stream) {
  using Pack = internal::Pack<T>;
  const auto is_aligned = [](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % sizeof(Pack) == 0;
  };
  const int64_t packs =
      is_aligned(arrays.values) && is_aligned(arrays.x) && is_aligned(arrays.output)
          ? size / Pack::kSize
          : 0;
  const SlopeRange<ComputeType<T>> range(slopes.lower, slopes.upper);
  RreluKernel<T, kOfItself, kDraws>
      <<<GridBlocks(packs > 0 ? packs : (size + 1) / 2), kBlockThreads, 0,
         static_cast<cudaStream_t>(stream)>>>(range, slopes.key, arrays, packs, size);
  return cudaGetLastError();
}

}  // namespace

int LaunchRrelu(NumericType type, const Slopes& slopes, const void* values, const void* x,
                void* output, int64_t size, void* stream) {
  if (size == 0) return cudaSuccess;
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    const RreluArrays<T> arrays{static_cast<const T*>(values), static_cast<const T*>(x),
                                static_cast<T*>(output)};
    const bool of_itself = values == x;
    if (slopes.lower == slopes.upper) {
      return of_itself ? Launch<T, true, false>(slopes, arrays, size, stream)
                       : Launch<T, false, false>(slopes, arrays, size, stream);
    }
    return of_itself ? Launch<T, true, true>(slopes, arrays, size, stream)
                     : Launch<T, false, true>(slopes, arrays, size, stream);
  });
}

}  // namespace tensorflow_ext
