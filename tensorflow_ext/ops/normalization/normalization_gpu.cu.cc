// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>

#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/rows_gpu.cuh"
#include "tensorflow_ext/ops/normalization/normalization.h"

namespace tensorflow_ext {
namespace internal {

// With a number of blocks a multiprocessor the compiler takes the registers
// that those have, neither more nor, spilling some, less.
template <typename Norm, typename T, typename Shape>
__global__ void __launch_bounds__(kBlockThreads, Shape::kHoldsMuch ? 3 : 4)
    NormalizeRowsKernel(RowDims dims, float epsilon,
                        NormalizationTensors tensors) {
  using C = ComputeType<T>;
  using Pack = internal::Pack<T, Shape::kPack>;
  const C divisor = static_cast<C>(dims.divisor());
  const Pack* scale = static_cast<const Pack*>(tensors.scale);
  const Pack* offset = static_cast<const Pack*>(tensors.offset);
  for (int64_t first = FirstRow<Shape>(); first < dims.rows;
       first += RowStride<Shape>()) {
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

    Pack* y =
        reinterpret_cast<Pack*>(static_cast<T*>(tensors.y) + row * dims.size);
    ForEachPack<Shape>(packs, [&](int k, int64_t p) {
      const Pack pack = x.Again(k, p), weight = scale[p];
      Pack shift{}, result;
      if constexpr (Norm::kCentered) shift = offset[p];
#pragma unroll
      for (int j = 0; j < Shape::kPack; ++j) {
        const C normal = (ToCompute(pack.values[j]) - mean) * inverse;
        const C scaled = normal * ToCompute(weight.values[j]);
        result.values[j] = FromCompute<T>(
            Norm::kCentered ? scaled + ToCompute(shift.values[j]) : scaled);
      }
      y[p] = result;
    });
  }
}

// x_backprops, which may be gradients: an element is read by the thread that
// writes it.
template <typename Norm, typename T, typename Shape>
__global__ void __launch_bounds__(kBlockThreads, Shape::kHoldsMuch ? 2 : 3)
    DifferentiateRowsKernel(RowDims dims, NormalizationGradTensors tensors) {
  using C = ComputeType<T>;
  using Pack = internal::Pack<T, Shape::kPack>;
  const C divisor = static_cast<C>(dims.divisor());
  const Pack* scale = static_cast<const Pack*>(tensors.scale);
  for (int64_t first = FirstRow<Shape>(); first < dims.rows;
       first += RowStride<Shape>()) {
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
        const C g = ToCompute(gradient.values[j]) * ToCompute(weight.values[j]);
        const C normal = (ToCompute(value.values[j]) - mean) * inverse;
        if constexpr (Norm::kCentered) sum_g += g;
        sum_gn += g * normal;
      }
    });
    // dx = r g + a + b n, which gathers the means of the formula in a and b.
    C a = 0;
    if constexpr (Norm::kCentered) {
      a = of_row(tensors.mean_gradients) / divisor -
          inverse * (RowSum<Shape>(sum_g) / divisor);
    }
    const C dr = of_row(tensors.inverse_gradients);
    const C b =
        -inverse * (RowSum<Shape>(sum_gn) / divisor + dr * inverse / divisor);

    Pack* dx = reinterpret_cast<Pack*>(static_cast<T*>(tensors.x_backprops) +
                                       row * dims.size);
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
}

// Sums of columns: a block takes 32 neighbouring ones, or packs of them, of a
// part of the rows, a warp every eighth row.
constexpr int kColumns = kWarpThreads;
constexpr int kRowLanes = kBlockThreads / kColumns;

// The sum of `value` over the row lanes, in lane 0.
template <typename C>
__device__ __forceinline__ C LaneSum(C value) {
  __shared__ C sums[kRowLanes][kColumns];
  __syncthreads();  // The sums before these have been read.
  sums[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.y == 0) {
#pragma unroll
    for (int lane = 1; lane < kRowLanes; ++lane) {
      value += sums[lane][threadIdx.x];
    }
  }
  return value;
}

// Each thread takes kPack neighbouring columns, of which size is a multiple.
template <typename Norm, typename T, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    SumColumnsKernel(RowDims dims, NormalizationGradTensors tensors,
                     int64_t rows_of_a_part) {
  using C = ComputeType<T>;
  using Pack = internal::Pack<T, kPack>;
  constexpr int kSums = GpuRowNormalization<Norm>::kSums;
  const int64_t first = int64_t{blockIdx.y} * rows_of_a_part;
  const int64_t end = min(dims.rows, first + rows_of_a_part);
  C* sums = static_cast<C*>(tensors.partial_sums) +
            int64_t{blockIdx.y} * kSums * dims.size;
  const int64_t packs = dims.size / kPack;
  for (int64_t left = int64_t{blockIdx.x} * kColumns; left < packs;
       left += int64_t{gridDim.x} * kColumns) {
    const int64_t p = left + threadIdx.x;
    C scale_sums[kPack] = {}, offset_sums[kPack] = {};
    if (p < packs) {
#pragma unroll 4
      for (int64_t row = first + threadIdx.y; row < end; row += kRowLanes) {
        const int64_t i = row * packs + p;
        const Pack gradients = static_cast<const Pack*>(tensors.gradients)[i];
        const Pack x = static_cast<const Pack*>(tensors.x)[i];
        const C inverse = static_cast<const C*>(tensors.inverse)[row];
        C mean = 0;
        if constexpr (Norm::kCentered) {
          mean = static_cast<const C*>(tensors.mean)[row];
        }
#pragma unroll
        for (int j = 0; j < kPack; ++j) {
          const C g = ToCompute(gradients.values[j]);
          C normal = ToCompute(x.values[j]);
          if constexpr (Norm::kCentered) {
            normal -= mean;
            offset_sums[j] += g;
          }
          normal *= inverse;
          scale_sums[j] += g * normal;
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      const C scale_sum = LaneSum(scale_sums[j]);
      C offset_sum = 0;
      if constexpr (Norm::kCentered) offset_sum = LaneSum(offset_sums[j]);
      if (threadIdx.y == 0 && p < packs) {
        sums[p * kPack + j] = scale_sum;
        if constexpr (Norm::kCentered) {
          sums[dims.size + p * kPack + j] = offset_sum;
        }
      }
    }
  }
}

// The sum over the parts; blockIdx.y says of what: scale or offset.
template <typename Norm, typename T>
__global__ void __launch_bounds__(kBlockThreads)
    SumPartsKernel(const ComputeType<T>* sums, int64_t parts, int64_t size,
                   T* scale_backprops, T* offset_backprops) {
  using C = ComputeType<T>;
  T* result = blockIdx.y == 0 ? scale_backprops : offset_backprops;
  sums += blockIdx.y * size;
  for (int64_t left = int64_t{blockIdx.x} * kColumns; left < size;
       left += int64_t{gridDim.x} * kColumns) {
    const int64_t column = left + threadIdx.x;
    C sum = 0;
    if (column < size) {
#pragma unroll 4
      for (int64_t part = threadIdx.y; part < parts; part += kRowLanes) {
        sum += sums[part * gridDim.y * size + column];
      }
    }
    sum = LaneSum(sum);
    if (threadIdx.y == 0 && column < size) result[column] = FromCompute<T>(sum);
  }
}

// Blocks for `size` > 0 columns, or packs of them.
inline unsigned int ColumnBlocks(int64_t size) {
  return GridBlocks((size + kColumns - 1) / kColumns * kBlockThreads);
}

// A thread takes as many columns as have 4 bytes, or one.
template <typename Norm, typename T>
cudaError_t LaunchSumColumns(const RowDims& dims, bool aligned,
                             const NormalizationGradTensors& tensors,
                             cudaStream_t stream) {
  using Shape = GpuRowNormalization<Norm>;
  const dim3 block(kColumns, kRowLanes);
  const unsigned int parts = static_cast<unsigned int>(Shape::Parts(dims));
  constexpr int kPack = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  if (aligned && dims.size % kPack == 0) {
    SumColumnsKernel<Norm, T, kPack>
        <<<dim3(ColumnBlocks(dims.size / kPack), parts), block, 0, stream>>>(
            dims, tensors, Shape::PartSize(dims));
  } else {
    SumColumnsKernel<Norm, T, 1>
        <<<dim3(ColumnBlocks(dims.size), parts), block, 0, stream>>>(
            dims, tensors, Shape::PartSize(dims));
  }
  return cudaGetLastError();
}

}  // namespace internal

template <typename Norm>
int GpuRowNormalization<Norm>::Forward(NumericType type, const RowDims& dims,
                                       float epsilon,
                                       const NormalizationTensors& tensors,
                                       void* stream) {
  if (dims.rows == 0) return cudaSuccess;
  const bool aligned = internal::AreAligned(
      {tensors.x, tensors.scale, tensors.offset, tensors.y});
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return internal::DispatchRowShape<T>(
        dims.size, aligned, [&](auto shape) -> int {
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
                                        const NormalizationGradTensors& tensors,
                                        void* stream) {
  if (dims.size == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  const bool aligned = internal::AreAligned(
      {tensors.x, tensors.scale, tensors.gradients, tensors.x_backprops});
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    const dim3 block(internal::kColumns, internal::kRowLanes);
    const unsigned int columns = internal::ColumnBlocks(dims.size);
    const unsigned int parts = static_cast<unsigned int>(Parts(dims));
    // The columns first: x_backprops may overwrite gradients.
    if (dims.rows > 0) {
      cudaError_t error = internal::LaunchSumColumns<Norm, T>(
          dims, aligned, tensors, cuda_stream);
      if (error != cudaSuccess) return error;
      error = static_cast<cudaError_t>(internal::DispatchRowShape<T>(
          dims.size, aligned, [&](auto shape) -> int {
            using Shape = decltype(shape);
            internal::DifferentiateRowsKernel<Norm, T, Shape>
                <<<internal::RowBlocks<Shape>(dims.rows), kBlockThreads, 0,
                   cuda_stream>>>(dims, tensors);
            return cudaGetLastError();
          }));
      if (error != cudaSuccess) return error;
    }
    internal::SumPartsKernel<Norm, T>
        <<<dim3(columns, kSums), block, 0, cuda_stream>>>(
            static_cast<const C*>(tensors.partial_sums), parts, dims.size,
            static_cast<T*>(tensors.scale_backprops),
            static_cast<T*>(tensors.offset_backprops));
    return cudaGetLastError();
  });
}

template struct GpuRowNormalization<LayerNorm>;
template struct GpuRowNormalization<RmsNorm>;

}  // namespace tensorflow_ext
