#include "tensorflow_ext/kernels/channel_pack_gpu.cuh"
#include "tensorflow_ext/kernels/lane_group_gpu.cuh"
#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/quotient.h"
#include "tensorflow_ext/kernels/sums_gpu.cuh"
#include "tensorflow_ext/ops/embedding_bag/embedding_bag.h"

namespace tensorflow_ext {
namespace {

// One thread for each pack of a bag's sum. Neighbouring threads read neighbouring packs of a row.
template <typename T, typename Index, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    EmbeddingBagKernel(EmbeddingBagDims dims, const Index* indices, const T* params,
                       const T* weights, T* output) {
  using C = ComputeType<T>;
  using Pack = ChannelPack<T, kPack>;
  const int64_t packs = dims.width / kPack;
  const int64_t count = dims.bags * packs;
  const C scale = dims.scale<C>();
  for (int64_t item = GridIndex(); item < count; item += GridStride()) {
    const int64_t bag = Quotient(item, packs);
    const int64_t p = item - bag * packs;
    C sums[kPack] = {};
    const int64_t end = (bag + 1) * dims.bag_size;
    for (int64_t k = bag * dims.bag_size; k < end; ++k) {
      const Index row = indices[k];
      if (!IsRow(row, dims.rows)) continue;
      AddScaledPack(ToCompute(weights[k]), reinterpret_cast<const Pack*>(params)[row * packs + p],
                    sums);
    }
#pragma unroll
    for (int k = 0; k < kPack; ++k) sums[k] *= scale;
    reinterpret_cast<Pack*>(output)[item] = MakePack<T, kPack>(sums);
  }
}

// One group of threads for each position.
template <typename T, typename Index, int kPack, int kLanes>
__global__ void __launch_bounds__(kBlockThreads)
    EmbeddingBagWeightsGradKernel(EmbeddingBagDims dims, const T* gradients, const Index* indices,
                                  const T* params, T* backprops) {
  using C = ComputeType<T>;
  using Pack = ChannelPack<T, kPack>;
  using Group = LaneGroup<kLanes>;
  const int64_t packs = dims.width / kPack;
  const int64_t count = dims.positions();
  const C scale = dims.scale<C>();
  for (int64_t first = Group::First(); first < count; first += Group::Step()) {
    const int64_t position = first + Group::Index();
    C sum = 0;
    if (position < count && IsRow(indices[position], dims.rows)) {
      const int64_t bag = Quotient(position, dims.bag_size);
      const Pack* gradient = reinterpret_cast<const Pack*>(gradients) + bag * packs;
      const Pack* row = reinterpret_cast<const Pack*>(params) + indices[position] * packs;
      for (int64_t p = Group::Lane(); p < packs; p += kLanes) {
        sum = AddDot(sum, gradient[p], row[p]);
      }
    }
    sum = Group::Sum(sum);
    if (Group::Lane() == 0 && position < count) {
      backprops[position] = FromCompute<T>(sum * scale);
    }
  }
}

// One thread for each pack of a position's gradient.
template <typename T, typename Index, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    EmbeddingBagScatterKernel(EmbeddingBagDims dims, const ChannelPack<T, kPack>* gradients,
                              const Index* indices, const T* weights, ComputeType<T>* sums) {
  const int64_t packs = dims.width / kPack;
  const int64_t count = dims.positions() * packs;
  for (int64_t item = GridIndex(); item < count; item += GridStride()) {
    const int64_t position = Quotient(item, packs);
    const int64_t p = item - position * packs;
    const Index row = indices[position];
    if (!IsRow(row, dims.rows)) continue;
    const int64_t bag = Quotient(position, dims.bag_size);
    ScatterPack(ToCompute(weights[position]) * dims.scale<ComputeType<T>>(),
                gradients[bag * packs + p], sums + row * dims.width + p * kPack);
  }
}

// One block for `rows` rows of params. It searches all indices for these rows. Each thread adds to
// its own columns, in the order of the positions.
template <typename T, typename Index>
__global__ void __launch_bounds__(kBlockThreads)
    EmbeddingBagOrderedKernel(EmbeddingBagDims dims, int64_t rows, const T* gradients,
                              const Index* indices, const T* weights, ComputeType<T>* sums) {
  for (int64_t first = blockIdx.x * rows; first < dims.rows; first += gridDim.x * rows) {
    ForEachInOrder(
        dims.positions(),
        [&](int64_t position) {
          const int64_t row = indices[position];
          return row >= first && row < first + rows && row < dims.rows;
        },
        [&](int64_t position) {
          ComputeType<T>* sum = sums + indices[position] * dims.width;
          for (int64_t column = threadIdx.x; column < dims.width; column += kBlockThreads) {
            const int64_t bag = Quotient(position, dims.bag_size);
            sum[column] += ToCompute(weights[position]) * dims.scale<ComputeType<T>>() *
                           ToCompute(gradients[bag * dims.width + column]);
          }
        });
  }
}

}  // namespace

int LaunchEmbeddingBag(NumericType type, NumericType index_type, const EmbeddingBagDims& dims,
                       const void* indices, const void* params, const void* weights, void* output,
                       void* stream) {
  const int64_t size = dims.bags * dims.width;
  if (size == 0) return cudaSuccess;
  return DispatchIndexed(type, index_type, [&](auto tag, auto index) -> int {
    using T = TypeOf<decltype(tag)>;
    using Index = TypeOf<decltype(index)>;
    return WithChannelPack<T>(dims.width, params, output, [&](auto pack) -> int {
      constexpr int kPack = decltype(pack)::value;
      EmbeddingBagKernel<T, Index, kPack>
          <<<GridBlocks(size / kPack), kBlockThreads, 0, static_cast<cudaStream_t>(stream)>>>(
              dims, static_cast<const Index*>(indices), static_cast<const T*>(params),
              static_cast<const T*>(weights), static_cast<T*>(output));
      return cudaGetLastError();
    });
  });
}

int LaunchEmbeddingBagWeightsGrad(NumericType type, NumericType index_type,
                                  const EmbeddingBagDims& dims, const void* gradients,
                                  const void* indices, const void* params, void* backprops,
                                  void* stream) {
  if (dims.positions() == 0) return cudaSuccess;
  return DispatchIndexed(type, index_type, [&](auto tag, auto index) -> int {
    using T = TypeOf<decltype(tag)>;
    using Index = TypeOf<decltype(index)>;
    return WithChannelPack<T>(dims.width, gradients, params, [&](auto pack) -> int {
      constexpr int kPack = decltype(pack)::value;
      return WithLaneGroup(dims.width / kPack, [&](auto lanes) -> int {
        constexpr int kLanes = decltype(lanes)::value;
        EmbeddingBagWeightsGradKernel<T, Index, kPack, kLanes>
            <<<GridBlocks(dims.positions() * kLanes), kBlockThreads, 0,
               static_cast<cudaStream_t>(stream)>>>(
                dims, static_cast<const T*>(gradients), static_cast<const Index*>(indices),
                static_cast<const T*>(params), static_cast<T*>(backprops));
        return cudaGetLastError();
      });
    });
  });
}

int LaunchEmbeddingBagParamsGrad(NumericType type, NumericType index_type,
                                 const EmbeddingBagDims& dims, bool deterministic,
                                 const void* gradients, const void* indices, const void* weights,
                                 float* sums, void* backprops, void* stream) {
  const int64_t size = dims.rows * dims.width;
  if (size == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  return DispatchIndexed(type, index_type, [&](auto tag, auto index) -> int {
    using T = TypeOf<decltype(tag)>;
    using Index = TypeOf<decltype(index)>;
    return LaunchSums<T>(sums, backprops, size, cuda_stream, [&](auto* sum) -> cudaError_t {
      if (dims.positions() == 0) return cudaSuccess;
      const T* gradient = static_cast<const T*>(gradients);
      const Index* row = static_cast<const Index*>(indices);
      const T* weight = static_cast<const T*>(weights);
      if (deterministic) {
        // Few enough that searching the indices does not dominate, and
        // enough to keep every multiprocessor busy.
        constexpr int64_t kMostBlocks = 2048;
        const int64_t rows = (dims.rows + kMostBlocks - 1) / kMostBlocks;
        const int64_t blocks = (dims.rows + rows - 1) / rows;
        EmbeddingBagOrderedKernel<<<static_cast<unsigned int>(blocks), kBlockThreads, 0,
                                    cuda_stream>>>(dims, rows, gradient, row, weight, sum);
        return cudaGetLastError();
      }
      return WithChannelPack<T>(dims.width, gradients, sum, [&](auto pack) -> cudaError_t {
        constexpr int kPack = decltype(pack)::value;
        EmbeddingBagScatterKernel<T, Index, kPack>
            <<<GridBlocks(dims.positions() * dims.width / kPack), kBlockThreads, 0, cuda_stream>>>(
                dims, static_cast<const ChannelPack<T, kPack>*>(gradients), row, weight, sum);
        return cudaGetLastError();
      });
    });
  });
}

}  // namespace tensorflow_ext
