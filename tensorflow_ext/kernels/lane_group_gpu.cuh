// Dot products on the GPU: a group of neighbouring threads of a warp computes one, each thread a
// part of it.

#pragma once

#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/channel_pack_gpu.cuh"
#include "tensorflow_ext/kernels/launch.cuh"

namespace tensorflow_ext {

// Groups of kLanes threads, a power of two up to 32, that take the items [0, count) in turn. All
// threads of a warp run the loop together:
//
//   for (int64_t first = Group::First(); first < count; first += Group::Step())
//
// so they can exchange sums in it. A group's item is first + Group::Index(); there is none from
// `count` on.
template <int kLanes>
struct LaneGroup {
  static constexpr int kGroups = kBlockThreads / kLanes;

  __device__ __forceinline__ static int Index() { return static_cast<int>(threadIdx.x) / kLanes; }
  __device__ __forceinline__ static int Lane() { return static_cast<int>(threadIdx.x) % kLanes; }
  __device__ __forceinline__ static int64_t First() { return int64_t{blockIdx.x} * kGroups; }
  __device__ __forceinline__ static int64_t Step() { return int64_t{gridDim.x} * kGroups; }

  // The sum over the group, in a fixed order, returned to all of its threads.
  template <typename C>
  __device__ __forceinline__ static C Sum(C value) {
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2) {
      value += __shfl_xor_sync(0xffffffffu, value, step);
    }
    return value;
  }
};

// sum + the dot product of two packs.
template <typename T, int kSize>
__device__ __forceinline__ ComputeType<T> AddDot(ComputeType<T> sum, const ChannelPack<T, kSize>& x,
                                                 const ChannelPack<T, kSize>& y) {
#pragma unroll
  for (int k = 0; k < kSize; ++k) {
    sum += ToCompute(x.values[k]) * ToCompute(y.values[k]);
  }
  return sum;
}

// Calls launch(integral_constant<int, threads of a group>) for dot products of `packs` packs, with
// groups of at least kLeast threads.
template <int kLeast = 2, typename Launch>
auto WithLaneGroup(int64_t packs, Launch&& launch) {
  if (packs > 16) return launch(std::integral_constant<int, 32>{});
  if (packs > 4) return launch(std::integral_constant<int, 8>{});
  return launch(std::integral_constant<int, kLeast>{});
}

}  // namespace tensorflow_ext
