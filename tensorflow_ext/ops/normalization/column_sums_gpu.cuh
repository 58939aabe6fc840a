// The gradients of scale and offset on the GPU: sums of columns over all rows. Each block sums a
// part of the rows, either in the pass that differentiates them or in a separate pass. Then the
// parts are added, in one order.

#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/rows_gpu.cuh"
#include "tensorflow_ext/ops/normalization/normalization.h"

namespace tensorflow_ext {
namespace internal {

// True if a block that differentiates rows also sums their columns in the same pass. A thread's
// sums must fit into registers beside its part of a row.
template <typename Shape>
constexpr bool kSumsColumns = Shape::kHeld > 0 && !Shape::kHoldsMuch;

// The sums of this thread's columns over its rows.
template <typename Norm, typename C, typename Shape>
class ColumnSums {
 public:
  // Adds the upstream gradient g and the normal value of element j of pack k.
  __device__ __forceinline__ void Add(int k, int j, C g, C normal) {
    sums_[0][k][j] += g * normal;
    if constexpr (Norm::kCentered) sums_[1][k][j] += g;
  }

  // Stores the sums of all rows of the block, with `size` columns each. All threads of the block
  // must call it.
  __device__ __forceinline__ void Store(int64_t size, C* sums) const {
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
#pragma unroll
      for (int k = 0; k < Shape::kHeld; ++k) {
        const int64_t first = k * int64_t{kRowColumns};
        StorePacks(sums_[s][k], size - first, sums + s * size + first);
      }
    }
  }

 private:
  static constexpr int kSums = GpuRowNormalization<Norm>::kSums;
  static constexpr int kPack = Shape::kPack;
  // Columns of packs k over all threads of a row.
  static constexpr int kRowColumns = Shape::kThreads * kPack;

  __device__ static __forceinline__ void StorePacks(const C* pack, int64_t size, C* sums) {
    if constexpr (Shape::kRowsOfABlock == 1) {
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        const int column = static_cast<int>(threadIdx.x) * kPack + j;
        if (column < size) sums[column] = pack[j];
      }
    } else {
      __shared__ C values[Shape::kRowsOfABlock][kRowColumns];
      const int thread = static_cast<int>(threadIdx.x) % Shape::kThreads;
      __syncthreads();  // The threads have read the values before these.
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        values[RowOfBlock<Shape>()][thread * kPack + j] = pack[j];
      }
      __syncthreads();
      const int column = static_cast<int>(threadIdx.x);
      if (column < kRowColumns && column < size) {
        C sum = values[0][column];
#pragma unroll
        for (int row = 1; row < Shape::kRowsOfABlock; ++row) {
          sum += values[row][column];
        }
        sums[column] = sum;
      }
    }
  }

  C sums_[kSums][Shape::kHeld][kPack] = {};
};

// Used if SumColumnsKernel computes the sums.
struct NoSums {
  template <typename C>
  __device__ __forceinline__ void Add(int, int, C, C) {}
  template <typename C>
  __device__ __forceinline__ void Store(int64_t, C*) const {}
};

// The separate pass. A block sums 32 neighbouring columns, or packs of columns, over a part of the
// rows; a warp sums every eighth row.
constexpr int kColumns = kWarpThreads;
constexpr int kRowLanes = kBlockThreads / kColumns;

// The sum of `value` over the row lanes, in lane 0.
template <typename C>
__device__ __forceinline__ C LaneSum(C value) {
  __shared__ C sums[kRowLanes][kColumns];
  __syncthreads();  // The threads have read the sums before these.
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

// Each thread sums kPack neighbouring columns. size is a multiple of kPack.
template <typename Norm, typename T, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    SumColumnsKernel(RowDims dims, NormalizationGradTensors tensors, int64_t rows_of_a_part) {
  using C = ComputeType<T>;
  using Pack = internal::Pack<T, kPack>;
  constexpr int kSums = GpuRowNormalization<Norm>::kSums;
  const int64_t first = int64_t{blockIdx.y} * rows_of_a_part;
  const int64_t end = min(dims.rows, first + rows_of_a_part);
  C* sums = static_cast<C*>(tensors.partial_sums) + int64_t{blockIdx.y} * kSums * dims.size;
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

// The sum over the parts, for scale if blockIdx.y is 0, else for offset.
template <typename Norm, typename T>
__global__ void __launch_bounds__(kBlockThreads)
    SumPartsKernel(const ComputeType<T>* sums, int64_t parts, int64_t size, T* scale_backprops,
                   T* offset_backprops) {
  using C = ComputeType<T>;
  T* result = blockIdx.y == 0 ? scale_backprops : offset_backprops;
  sums += blockIdx.y * size;
  for (int64_t left = int64_t{blockIdx.x} * kColumns; left < size;
       left += int64_t{gridDim.x} * kColumns) {
    const int64_t column = left + threadIdx.x;
    C sum = 0;
    if (column < size) {
#pragma unroll 8
      for (int64_t part = threadIdx.y; part < parts; part += kRowLanes) {
        sum += sums[part * gridDim.y * size + column];
      }
    }
    sum = LaneSum(sum);
    if (threadIdx.y == 0 && column < size) result[column] = FromCompute<T>(sum);
  }
}

// The number of blocks for `size` > 0 columns, or packs of columns.
inline unsigned int ColumnBlocks(int64_t size) {
  return GridBlocks((size + kColumns - 1) / kColumns * kBlockThreads);
}

// A thread sums as many columns as fit into 4 bytes, at least one.
template <typename Norm, typename T>
cudaError_t LaunchSumColumns(const RowDims& dims, bool aligned,
                             const NormalizationGradTensors& tensors, cudaStream_t stream) {
  using Shape = GpuRowNormalization<Norm>;
  const dim3 block(kColumns, kRowLanes);
  const unsigned int parts = static_cast<unsigned int>(Shape::Parts(dims));
  constexpr int kPack = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  if (aligned && dims.size % kPack == 0) {
    SumColumnsKernel<Norm, T, kPack>
        <<<dim3(ColumnBlocks(dims.size / kPack), parts), block, 0, stream>>>(dims, tensors,
                                                                             Shape::PartSize(dims));
  } else {
    SumColumnsKernel<Norm, T, 1><<<dim3(ColumnBlocks(dims.size), parts), block, 0, stream>>>(
        dims, tensors, Shape::PartSize(dims));
  }
  return cudaGetLastError();
}

}  // namespace internal
}  // namespace tensorflow_ext
