// The rows of a matrix on the GPU. The shortest rows share a warp, short ones have a warp each,
// longer ones a block. A thread keeps its part of a short row in registers; it reads a longer row
// again, from the cache.

#pragma once

#include <cstdint>
#include <initializer_list>

#include "tensorflow_ext/kernels/launch.cuh"

namespace tensorflow_ext {
namespace internal {

// How a row is divided: among kThreads threads, in packs of kPack values that one access moves. A
// thread holds up to kHeld packs; none if that is 0.
template <int kThreadsOfARow, int kPackSize, int kHeldPacks>
struct RowShape {
  static constexpr int kThreads = kThreadsOfARow;
  static constexpr int kPack = kPackSize;
  static constexpr int kHeld = kHeldPacks;
  static constexpr int64_t kLargest = kHeld > 0 ? int64_t{kThreads} * kPack* kHeld : INT64_MAX;
  static constexpr int kRowsOfABlock = kBlockThreads / kThreads;
  // True if a thread holds so much that it may take more registers.
  static constexpr bool kHoldsMuch = kThreads == kBlockThreads && kHeld == 8;
};

// Calls fn(k, p) for each pack p of this thread, which is its k-th.
template <typename Shape, typename Fn>
__device__ __forceinline__ void ForEachPack(int64_t packs, Fn&& fn) {
  const int thread = static_cast<int>(threadIdx.x) % Shape::kThreads;
  if constexpr (Shape::kHeld > 0) {
#pragma unroll
    for (int k = 0; k < Shape::kHeld; ++k) {
      const int64_t p = thread + k * Shape::kThreads;
      if (p < packs) fn(k, p);
    }
  } else {
    for (int64_t p = thread; p < packs; p += Shape::kThreads) fn(0, p);
  }
}

// A row of T: this thread's packs of it.
template <typename Shape, typename T>
class DeviceRow {
 public:
  using Pack = internal::Pack<T, Shape::kPack>;

  __device__ __forceinline__ DeviceRow(const void* matrix, int64_t row, int64_t size)
      : row_(reinterpret_cast<const Pack*>(static_cast<const T*>(matrix) + row * size)) {}
  // For the first access to a pack, and for later ones.
  __device__ __forceinline__ Pack Read(int k, int64_t p) {
    if constexpr (Shape::kHeld > 0) {
      return held_[k] = row_[p];
    } else {
      return row_[p];
    }
  }
  __device__ __forceinline__ Pack Again(int k, int64_t p) const {
    if constexpr (Shape::kHeld > 0) {
      return held_[k];
    } else {
      return row_[p];
    }
  }

 private:
  const Pack* row_;
  Pack held_[Shape::kHeld > 0 ? Shape::kHeld : 1];
};

// Reduces the values of all threads of a row with the commutative `combine`. All of them get the
// same bits. All threads of the block must call it.
template <typename Shape, typename C, typename Combine>
__device__ __forceinline__ C RowReduce(C value, Combine&& combine) {
#pragma unroll
  for (int step = min(Shape::kThreads, kWarpThreads) / 2; step > 0; step /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffff, value, step));
  }
  if constexpr (Shape::kThreads > kWarpThreads) {
    constexpr int kWarps = Shape::kThreads / kWarpThreads;
    __shared__ C values[kWarps];
    __syncthreads();  // The values before these have been read.
    if (threadIdx.x % kWarpThreads == 0) values[threadIdx.x / kWarpThreads] = value;
    __syncthreads();
    value = values[0];
#pragma unroll
    for (int warp = 1; warp < kWarps; ++warp) {
      value = combine(value, values[warp]);
    }
  }
  return value;
}

// The sum over the threads of a row.
template <typename Shape, typename C>
__device__ __forceinline__ C RowSum(C value) {
  return RowReduce<Shape>(value, [](C a, C b) { return a + b; });
}

// The largest value of the threads of a row. No value may be NaN.
template <typename Shape, typename C>
__device__ __forceinline__ C RowMaximum(C value) {
  return RowReduce<Shape>(value, [](C a, C b) { return a < b ? b : a; });
}

// Rows are dealt out to blocks. All threads of a block run the loop together, so they can exchange
// values in it:
//
//   for (int64_t first = FirstRow<Shape>(); first < rows;
//        first += RowStride<Shape>())
//
// A thread's row is first + RowOfBlock<Shape>(), if IsRow<Shape>(row, rows).
template <typename Shape>
__device__ __forceinline__ int64_t FirstRow() {
  return int64_t{blockIdx.x} * Shape::kRowsOfABlock;
}
template <typename Shape>
__device__ __forceinline__ int64_t RowStride() {
  return int64_t{gridDim.x} * Shape::kRowsOfABlock;
}
template <typename Shape>
__device__ __forceinline__ int RowOfBlock() {
  return static_cast<int>(threadIdx.x) / Shape::kThreads;
}
template <typename Shape>
__device__ __forceinline__ bool IsRow(int64_t row, int64_t rows) {
  return Shape::kRowsOfABlock == 1 || row < rows;
}
template <typename Shape>
__device__ __forceinline__ bool IsFirstOfRow() {
  return threadIdx.x % Shape::kThreads == 0;
}

// Calls fn with the RowShape for rows of `size` values. Packs need aligned addresses and rows that
// are whole numbers of packs.
template <typename T, typename Fn>
int DispatchRowShape(int64_t size, bool aligned, Fn&& fn) {
  constexpr int kPack = 16 / sizeof(T);
  using SharingRow = RowShape<8, kPack, 2>;
  using TinyRow = RowShape<kWarpThreads, kPack, 1>;
  using ShortRow = RowShape<kWarpThreads, kPack, 4>;
  using MediumRow = RowShape<kBlockThreads, kPack, 1>;
  using LongRow = RowShape<kBlockThreads, kPack, 4>;
  using LongerRow = RowShape<kBlockThreads, kPack, 8>;
  using AnyRow = RowShape<kBlockThreads, kPack, 0>;
  using UnalignedShortRow = RowShape<kWarpThreads, 1, 8>;
  using UnalignedRow = RowShape<kBlockThreads, 1, 0>;
  if (!aligned || size % kPack != 0) {
    if (size <= UnalignedShortRow::kLargest) return fn(UnalignedShortRow{});
    return fn(UnalignedRow{});
  }
  if (size <= SharingRow::kLargest) return fn(SharingRow{});
  if (size <= TinyRow::kLargest) return fn(TinyRow{});
  if (size <= ShortRow::kLargest) return fn(ShortRow{});
  if (size <= MediumRow::kLargest) return fn(MediumRow{});
  if (size <= LongRow::kLargest) return fn(LongRow{});
  if (size <= LongerRow::kLargest) return fn(LongerRow{});
  return fn(AnyRow{});
}

inline bool AreAligned(std::initializer_list<const void*> addresses) {
  for (const void* address : addresses) {
    if (reinterpret_cast<uintptr_t>(address) % 16 != 0) return false;
  }
  return true;
}

// The number of blocks for `rows` > 0 rows.
template <typename Shape>
unsigned int RowBlocks(int64_t rows) {
  return GridBlocks(rows * Shape::kThreads);
}
}  // namespace internal
}  // namespace tensorflow_ext
