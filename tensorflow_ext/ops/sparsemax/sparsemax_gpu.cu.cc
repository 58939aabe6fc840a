#include <cstdint>

#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/rows_gpu.cuh"
#include "tensorflow_ext/ops/sparsemax/sparsemax.h"

namespace tensorflow_ext {
namespace internal {

// NaN needs no test. No largest element is NaN, but the excess of a NaN is, and so is that of
// infinity over infinity. This makes the threshold NaN.
//
// With two blocks per multiprocessor, the compiler may use enough registers to avoid spilling.
template <typename T, typename Shape>
__global__ void __launch_bounds__(kBlockThreads, 2)
    SparsemaxKernel(RowDims dims, const void* logits, void* y) {
  using C = ComputeType<T>;
  using Pack = internal::Pack<T, Shape::kPack>;
  for (int64_t first = FirstRow<Shape>(); first < dims.rows; first += RowStride<Shape>()) {
    const int64_t row = first + RowOfBlock<Shape>();
    const bool is_row = IsRow<Shape>(row, dims.rows);
    const int64_t packs = is_row ? dims.size / Shape::kPack : 0;
    DeviceRow<Shape, T> x(logits, row, dims.size);
    C most = -ThresholdSearch<C>::kInfinity;
    ForEachPack<Shape>(packs, [&](int k, int64_t p) {
      const Pack pack = x.Read(k, p);
#pragma unroll
      for (int j = 0; j < Shape::kPack; ++j) {
        const C value = ToCompute(pack.values[j]);
        most = value > most ? value : most;
      }
    });
    ThresholdSearch<C> search(RowMaximum<Shape>(most));
    C sum;
    int64_t count;
    // All threads of a row have the same sums. Rows of one warp continue together until all are
    // done.
    bool goes_on = is_row;
    do {
      // The sum over a pack has few terms, so its rounding errors are small.
      DoubleWord<C> sums{0, 0};
      count = 0;
      ForEachPack<Shape>(packs, [&](int k, int64_t p) {
        const Pack pack = x.Again(k, p);
        C sum_of_pack = 0;
#pragma unroll
        for (int j = 0; j < Shape::kPack; ++j) {
          const C excess = search.threshold.Excess(ToCompute(pack.values[j]));
          sum_of_pack += excess;
          count += excess > 0;
        }
        sums.Add(sum_of_pack);
      });
      sum = RowSum<Shape>(sums.high);
      count = RowSum<Shape>(count);
      goes_on = goes_on && search.Step(sum - 1, static_cast<C>(count));
    } while (__ballot_sync(0xffffffffu, goes_on) != 0);

    Pack* result = reinterpret_cast<Pack*>(static_cast<T*>(y) + row * dims.size);
    ForEachPack<Shape>(packs, [&](int k, int64_t p) {
      const Pack pack = x.Again(k, p);
      Pack rounded;
#pragma unroll
      for (int j = 0; j < Shape::kPack; ++j) {
        rounded.values[j] = FromCompute<T>(search.threshold.Excess(ToCompute(pack.values[j])));
      }
      result[p] = rounded;
    });
  }
}

// backprops may be gradients: one thread reads and writes an element.
template <typename T, typename Shape>
__global__ void __launch_bounds__(kBlockThreads)
    SparsemaxGradKernel(RowDims dims, const void* gradients, const void* y, void* backprops) {
  using C = ComputeType<T>;
  using Pack = internal::Pack<T, Shape::kPack>;
  for (int64_t first = FirstRow<Shape>(); first < dims.rows; first += RowStride<Shape>()) {
    const int64_t row = first + RowOfBlock<Shape>();
    const bool is_row = IsRow<Shape>(row, dims.rows);
    const int64_t packs = is_row ? dims.size / Shape::kPack : 0;
    DeviceRow<Shape, T> dy(gradients, row, dims.size);
    DeviceRow<Shape, T> values(y, row, dims.size);
    C sum = 0, count = 0;
    ForEachPack<Shape>(packs, [&](int k, int64_t p) {
      const Pack gradient = dy.Read(k, p), value = values.Read(k, p);
#pragma unroll
      for (int j = 0; j < Shape::kPack; ++j) {
        const C element = ToCompute(value.values[j]);
        if (element > 0) sum += ToCompute(gradient.values[j]);
        C counts;
        CountInSupport(element, &counts);
        count += counts;
      }
    });
    sum = RowSum<Shape>(sum);
    count = RowSum<Shape>(count);
    const C mean = sum / count, beyond = BeyondSupport(count);

    Pack* result = reinterpret_cast<Pack*>(static_cast<T*>(backprops) + row * dims.size);
    ForEachPack<Shape>(packs, [&](int k, int64_t p) {
      const Pack gradient = dy.Again(k, p), value = values.Again(k, p);
      Pack rounded;
#pragma unroll
      for (int j = 0; j < Shape::kPack; ++j) {
        const C centered = ToCompute(gradient.values[j]) - mean;
        rounded.values[j] = FromCompute<T>(ToCompute(value.values[j]) > 0 ? centered : beyond);
      }
      result[p] = rounded;
    });
  }
}

}  // namespace internal

int GpuSparsemax::Forward(NumericType type, const RowDims& dims, const void* logits, void* y,
                          void* stream) {
  if (dims.rows == 0 || dims.size == 0) return cudaSuccess;
  const bool aligned = internal::AreAligned({logits, y});
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return internal::DispatchRowShape<T>(dims.size, aligned, [&](auto shape) -> int {
      using Shape = decltype(shape);
      internal::SparsemaxKernel<T, Shape><<<internal::RowBlocks<Shape>(dims.rows), kBlockThreads, 0,
                                            static_cast<cudaStream_t>(stream)>>>(dims, logits, y);
      return cudaGetLastError();
    });
  });
}

int GpuSparsemax::Backward(NumericType type, const RowDims& dims, const void* gradients,
                           const void* y, void* backprops, void* stream) {
  if (dims.rows == 0 || dims.size == 0) return cudaSuccess;
  const bool aligned = internal::AreAligned({gradients, y, backprops});
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return internal::DispatchRowShape<T>(dims.size, aligned, [&](auto shape) -> int {
      using Shape = decltype(shape);
      internal::SparsemaxGradKernel<T, Shape>
          <<<internal::RowBlocks<Shape>(dims.rows), kBlockThreads, 0,
             static_cast<cudaStream_t>(stream)>>>(dims, gradients, y, backprops);
      return cudaGetLastError();
    });
  });
}

}  // namespace tensorflow_ext
