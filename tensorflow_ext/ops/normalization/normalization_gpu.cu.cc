#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/rows_gpu.cuh"
#include "tensorflow_ext/ops/normalization/column_sums_gpu.cuh"
#include "tensorflow_ext/ops/normalization/normalization.h"

namespace tensorflow_ext {
namespace internal {

// The number of blocks per multiprocessor makes the compiler use all registers that these blocks
// have, and no more. With fewer it would spill.
template <typename Norm, typename T, typename Shape>
__global__ void __launch_bounds__(kBlockThreads, Shape::kHoldsMuch ? 3 : 4)
    NormalizeRowsKernel(RowDims dims, float epsilon, NormalizationTensors tensors) {
  using C = ComputeType<T>;
  using Pack = internal::Pack<T, Shape::kPack>;
  const C divisor = static_cast<C>(dims.divisor());
  const Pack* scale = static_cast<const Pack*>(tensors.scale);
  const Pack* offset = static_cast<const Pack*>(tensors.offset);
  for (int64_t first = FirstRow<Shape>(); first < dims.rows; first += RowStride<Shape>()) {
    const int64_t row = first + RowOfBlock<Shape>();
    const bool is_row = IsRow<Shape>(row, dims.rows);
    const int64_t packs = is_row ? dims.size / Shape::kPack : 0;
    DeviceRow<Shape, T> x(tensors.x, row, dims.size);
    C sum = 0;
    ForEachPack<Shape>(packs, [&](int k, int64_t p) {
      const Pack pack = x.Read(k, p);
#pragma unroll
      for (int j = 0; j < Shape::kPack; ++j) {
        const C value = ToCompute(pack.values[j]);
        sum += Norm::kCentered ? value : value * value;
      }
    });
    sum = RowSum<Shape>(sum) / divisor;
    const C mean = Norm::kCentered ? sum : C(0);
    C variance = sum;
    if constexpr (Norm::kCentered) {
      variance = 0;
      ForEachPack<Shape>(packs, [&](int k, int64_t p) {
        const Pack pack = x.Again(k, p);
#pragma unroll
        for (int j = 0; j < Shape::kPack; ++j) {
          const C centered = ToCompute(pack.values[j]) - mean;
          variance += centered * centered;
        }
      });
      variance = RowSum<Shape>(variance) / divisor;
    }
    const C inverse = 1 / std::sqrt(variance + static_cast<C>(epsilon));
    if (is_row && IsFirstOfRow<Shape>()) {
      if constexpr (Norm::kCentered) static_cast<C*>(tensors.mean)[row] = mean;
      static_cast<C*>(tensors.inverse)[row] = inverse;
    }

    Pack* y = reinterpret_cast<Pack*>(static_cast<T*>(tensors.y) + row * dims.size);
    ForEachPack<Shape>(packs, [&](int k, int64_t p) {
      const Pack pack = x.Again(k, p), weight = scale[p];
      Pack shift{}, result;
      if constexpr (Norm::kCentered) shift = offset[p];
#pragma unroll
      for (int j = 0; j < Shape::kPack; ++j) {
        const C normal = (ToCompute(pack.values[j]) - mean) * inverse;
        const C scaled = normal * ToCompute(weight.values[j]);
        result.values[j] =
            FromCompute<T>(Norm::kCentered ? scaled + ToCompute(shift.values[j]) : scaled);
      }
      y[p] = result;
    });
  }
}

// Blocks per multiprocessor, as in NormalizeRowsKernel.
template <typename Shape>
constexpr int kDifferentiateBlocks =
    Shape::kHoldsMuch || (kSumsColumns<Shape> && Shape::kHeld > 2) ? 2 : 3;

// Computes x_backprops, which may be gradients: one thread reads and writes an element. If
// kSumsColumns, also the partial sums, one part per block.
template <typename Norm, typename T, typename Shape>
__global__ void __launch_bounds__(kBlockThreads, kDifferentiateBlocks<Shape>)
    DifferentiateRowsKernel(RowDims dims, NormalizationGradTensors tensors) {
  using C = ComputeType<T>;
  using Pack = internal::Pack<T, Shape::kPack>;
  const C divisor = static_cast<C>(dims.divisor());
  const Pack* scale = static_cast<const Pack*>(tensors.scale);
  std::conditional_t<kSumsColumns<Shape>, ColumnSums<Norm, C, Shape>, NoSums> columns;
  for (int64_t first = FirstRow<Shape>(); first < dims.rows; first += RowStride<Shape>()) {
    const int64_t row = first + RowOfBlock<Shape>();
    const bool is_row = IsRow<Shape>(row, dims.rows);
    const int64_t packs = is_row ? dims.size / Shape::kPack : 0;
    const auto of_row = [&](const void* values) {
      return is_row ? static_cast<const C*>(values)[row] : C(0);
    };
    DeviceRow<Shape, T> x(tensors.x, row, dims.size);
    DeviceRow<Shape, T> dy(tensors.gradients, row, dims.size);
    const C inverse = of_row(tensors.inverse);
    C mean = 0;
    if constexpr (Norm::kCentered) mean = of_row(tensors.mean);
    C sum_g = 0, sum_gn = 0;
    ForEachPack<Shape>(packs, [&](int k, int64_t p) {
      const Pack value = x.Read(k, p), gradient = dy.Read(k, p);
      const Pack weight = scale[p];
#pragma unroll
      for (int j = 0; j < Shape::kPack; ++j) {
        const C upstream = ToCompute(gradient.values[j]);
        const C g = upstream * ToCompute(weight.values[j]);
        const C normal = (ToCompute(value.values[j]) - mean) * inverse;
        if constexpr (Norm::kCentered) sum_g += g;
        sum_gn += g * normal;
        columns.Add(k, j, upstream, normal);
      }
    });
    // dx = r g + a + b n, where a and b combine the means of the formula.
    C a = 0;
    if constexpr (Norm::kCentered) {
      a = of_row(tensors.mean_gradients) / divisor - inverse * (RowSum<Shape>(sum_g) / divisor);
    }
    const C dr = of_row(tensors.inverse_gradients);
    const C b = -inverse * (RowSum<Shape>(sum_gn) / divisor + dr * inverse / divisor);

    Pack* dx = reinterpret_cast<Pack*>(static_cast<T*>(tensors.x_backprops) + row * dims.size);
    ForEachPack<Shape>(packs, [&](int k, int64_t p) {
      const Pack value = x.Again(k, p), gradient = dy.Again(k, p);
      const Pack weight = scale[p];
      Pack result;
#pragma unroll
      for (int j = 0; j < Shape::kPack; ++j) {
        const C g = ToCompute(gradient.values[j]) * ToCompute(weight.values[j]);
        const C normal = (ToCompute(value.values[j]) - mean) * inverse;
        result.values[j] = FromCompute<T>(inverse * g + a + b * normal);
      }
      dx[p] = result;
    });
  }
  columns.Store(dims.size, static_cast<C*>(tensors.partial_sums) +
                               int64_t{blockIdx.x} * GpuRowNormalization<Norm>::kSums * dims.size);
}

}  // namespace internal

template <typename Norm>
int GpuRowNormalization<Norm>::Forward(NumericType type, const RowDims& dims, float epsilon,
                                       const NormalizationTensors& tensors, void* stream) {
  if (dims.rows == 0) return cudaSuccess;
  const bool aligned = internal::AreAligned({tensors.x, tensors.scale, tensors.offset, tensors.y});
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return internal::DispatchRowShape<T>(dims.size, aligned, [&](auto shape) -> int {
      using Shape = decltype(shape);
      internal::NormalizeRowsKernel<Norm, T, Shape>
          <<<internal::RowBlocks<Shape>(dims.rows), kBlockThreads, 0,
             static_cast<cudaStream_t>(stream)>>>(dims, epsilon, tensors);
      return cudaGetLastError();
    });
  });
}

template <typename Norm>
int GpuRowNormalization<Norm>::Backward(NumericType type, const RowDims& dims,
                                        const NormalizationGradTensors& tensors, void* stream) {
  if (dims.size == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  const bool aligned =
      internal::AreAligned({tensors.x, tensors.scale, tensors.gradients, tensors.x_backprops});
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    const dim3 block(internal::kColumns, internal::kRowLanes);
    const unsigned int columns = internal::ColumnBlocks(dims.size);
    unsigned int parts = 0;
    if (dims.rows > 0) {
      const int error = internal::DispatchRowShape<T>(dims.size, aligned, [&](auto shape) -> int {
        using Shape = decltype(shape);
        parts = static_cast<unsigned int>(Parts(dims));
        unsigned int blocks = internal::RowBlocks<Shape>(dims.rows);
        if constexpr (internal::kSumsColumns<Shape>) {
          blocks = parts = std::min(blocks, parts);
        } else {
          // The columns come first: x_backprops may overwrite gradients.
          const cudaError_t error =
              internal::LaunchSumColumns<Norm, T>(dims, aligned, tensors, cuda_stream);
          if (error != cudaSuccess) return error;
        }
        internal::DifferentiateRowsKernel<Norm, T, Shape>
            <<<blocks, kBlockThreads, 0, cuda_stream>>>(dims, tensors);
        return cudaGetLastError();
      });
      if (error != cudaSuccess) return error;
    }
    internal::SumPartsKernel<Norm, T><<<dim3(columns, kSums), block, 0, cuda_stream>>>(
        static_cast<const C*>(tensors.partial_sums), parts, dims.size,
        static_cast<T*>(tensors.scale_backprops), static_cast<T*>(tensors.offset_backprops));
    return cudaGetLastError();
  });
}

template struct GpuRowNormalization<LayerNorm>;
template struct GpuRowNormalization<RmsNorm>;

}  // namespace tensorflow_ext
