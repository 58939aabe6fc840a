#include <cstdint>

#include "tensorflow_ext/kernels/channel_pack_gpu.cuh"
#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/sums_gpu.cuh"
#include "tensorflow_ext/ops/roi_align/roi_align.h"

namespace tensorflow_ext {
namespace {

template <typename T>
using Weights = RoiAlignWeights<ComputeType<T>>;

// One thread for each bin along a side of a region.
template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    AlignWeightsKernel(RegionDims dims, RoiAlignOptions options, const T* rois,
                       Weights<T> weights) {
  const int64_t bins = weights.RangesOfRegion(dims);
  for (int64_t index = GridIndex(); index < dims.rois * bins; index += GridStride()) {
    const int64_t roi = Quotient(index, bins);
    weights.Make(dims, options, rois + roi * 5, roi, index - roi * bins);
  }
}

// One thread for each pack of neighbouring channels of a bin, so a warp reads and writes whole
// lines. In `dims`, a channel is a pack.
template <typename T, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    AlignKernel(RegionDims dims, const ChannelPack<T, kPack>* data, const T* rois, Weights<T> all,
                ChannelPack<T, kPack>* pooled) {
  using C = ComputeType<T>;
  const int64_t size = dims.pooled_size();
  for (int64_t index = GridIndex(); index < size; index += GridStride()) {
    const PooledIndex p = DecodePooled(index, dims);
    const int64_t image = RoiImage(ToCompute(rois[p.roi * 5]), dims.images);
    C sums[kPack] = {};
    if (image >= 0) {
      const PixelWeight<C>* weights = all.weights(dims, p.roi);
      const WeightRange rows = all.rows(dims, p.roi, p.i);
      const WeightRange columns = all.columns(dims, p.roi, p.j);
      const ChannelPack<T, kPack>* pixels = data + image * dims.image_size() + p.c;
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        const int64_t row = weights[h].pixel * dims.width;
        for (int64_t w = columns.begin; w < columns.end; ++w) {
          AddScaledPack(weights[h].weight * weights[w].weight,
                        pixels[(row + weights[w].pixel) * dims.channels], sums);
        }
      }
    }
    pooled[index] = MakePack<T, kPack>(sums);
  }
}

// The same from sums of single channels.
template <typename T, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    AlignScatterKernel(RegionDims dims, const ChannelPack<T, kPack>* gradients, const T* rois,
                       Weights<T> all, ComputeType<T>* sums) {
  using C = ComputeType<T>;
  const int64_t size = dims.pooled_size();
  for (int64_t index = GridIndex(); index < size; index += GridStride()) {
    const PooledIndex p = DecodePooled(index, dims);
    const int64_t image = RoiImage(ToCompute(rois[p.roi * 5]), dims.images);
    if (image < 0) continue;
    const ChannelPack<T, kPack> gradient = gradients[index];
    const PixelWeight<C>* weights = all.weights(dims, p.roi);
    const WeightRange rows = all.rows(dims, p.roi, p.i);
    const WeightRange columns = all.columns(dims, p.roi, p.j);
    C* pixels = sums + (image * dims.image_size() + p.c) * kPack;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const int64_t row = weights[h].pixel * dims.width;
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        ScatterPack(weights[h].weight * weights[w].weight, gradient,
                    pixels + (row + weights[w].pixel) * dims.channels * kPack);
      }
    }
  }
}

// The weight of a pixel row in a row of bins; 0 if the bins do not touch it.
template <typename C>
__device__ __forceinline__ C WeightOfRow(const PixelWeight<C>* weights, WeightRange rows,
                                         int64_t row) {
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    if (weights[h].pixel == row) return weights[h].weight;
  }
  return C(0);
}

// One block for each row of an image, and one thread for each channel of the row. No other thread
// adds to it, and this thread adds in the order of regions and bins.
template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    AlignRowsKernel(RegionDims dims, const T* gradients, const T* rois, Weights<T> all,
                    ComputeType<T>* sums) {
  using C = ComputeType<T>;
  for (int64_t block = blockIdx.x; block < dims.images * dims.height; block += gridDim.x) {
    const int64_t image = Quotient(block, dims.height);
    const int64_t row = block - image * dims.height;
    C* pixels = sums + block * dims.width * dims.channels;
    const auto touches = [&](int64_t roi) {
      if (RoiImage(ToCompute(rois[roi * 5]), dims.images) != image) {
        return false;
      }
      for (int64_t i = 0; i < dims.pooled_height; ++i) {
        if (WeightOfRow(all.weights(dims, roi), all.rows(dims, roi, i), row) > C(0)) {
          return true;
        }
      }
      return false;
    };
    const auto add = [&](int64_t roi) {
      const PixelWeight<C>* weights = all.weights(dims, roi);
      for (int64_t i = 0; i < dims.pooled_height; ++i) {
        const C row_weight = WeightOfRow(weights, all.rows(dims, roi, i), row);
        if (row_weight == C(0)) continue;
        const T* bins = gradients + (roi * dims.pooled_height + i) * dims.row_size();
        for (int64_t c = threadIdx.x; c < dims.channels; c += kBlockThreads) {
          for (int64_t j = 0; j < dims.pooled_width; ++j) {
            const WeightRange columns = all.columns(dims, roi, j);
            const C scaled = row_weight * ToCompute(bins[j * dims.channels + c]);
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              pixels[weights[w].pixel * dims.channels + c] += weights[w].weight * scaled;
            }
          }
        }
      }
    };
    ForEachInOrder(dims.rois, touches, add);
  }
}

template <typename T>
cudaError_t LaunchWeights(const RegionDims& dims, const RoiAlignOptions& options, const void* rois,
                          const Weights<T>& weights, cudaStream_t stream) {
  AlignWeightsKernel<T>
      <<<GridBlocks(dims.rois * weights.RangesOfRegion(dims)), kBlockThreads, 0, stream>>>(
          dims, options, static_cast<const T*>(rois), weights);
  return cudaGetLastError();
}

}  // namespace

int LaunchRoiAlign(NumericType type, const RegionDims& dims, const RoiAlignOptions& options,
                   const void* data, const void* rois, void* scratch, void* pooled, void* stream) {
  if (dims.pooled_size() == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    const Weights<T> weights(dims, scratch);
    const cudaError_t error = LaunchWeights<T>(dims, options, rois, weights, cuda_stream);
    if (error != cudaSuccess) return error;
    return WithPackedChannels<T>(
        dims, data, pooled, [&](auto size, const auto& packed) -> cudaError_t {
          constexpr int kPack = decltype(size)::value;
          using Pack = ChannelPack<T, kPack>;
          AlignKernel<T, kPack>
              <<<GridBlocks(packed.pooled_size()), kBlockThreads, 0, cuda_stream>>>(
                  packed, static_cast<const Pack*>(data), static_cast<const T*>(rois), weights,
                  static_cast<Pack*>(pooled));
          return cudaGetLastError();
        });
  });
}

int LaunchRoiAlignGrad(NumericType type, const RegionDims& dims, const RoiAlignOptions& options,
                       bool deterministic, const void* gradients, const void* rois, void* scratch,
                       float* sums, void* backprops, void* stream) {
  const int64_t size = dims.images * dims.image_size();
  if (size == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return LaunchSums<T>(sums, backprops, size, cuda_stream, [&](ComputeType<T>* sum) {
      if (dims.pooled_size() == 0) return cudaSuccess;
      const Weights<T> weights(dims, scratch);
      const cudaError_t error = LaunchWeights<T>(dims, options, rois, weights, cuda_stream);
      if (error != cudaSuccess) return error;
      const T* upstream = static_cast<const T*>(gradients);
      const T* regions = static_cast<const T*>(rois);
      if (deterministic) {
        AlignRowsKernel<<<GridBlocks(dims.images * dims.height * kBlockThreads), kBlockThreads, 0,
                          cuda_stream>>>(dims, upstream, regions, weights, sum);
        return cudaGetLastError();
      }
      return WithPackedChannels<T>(
          dims, gradients, sum, [&](auto pack, const auto& packed) -> cudaError_t {
            constexpr int kPack = decltype(pack)::value;
            AlignScatterKernel<T, kPack>
                <<<GridBlocks(packed.pooled_size()), kBlockThreads, 0, cuda_stream>>>(
                    packed, static_cast<const ChannelPack<T, kPack>*>(gradients), regions, weights,
                    sum);
            return cudaGetLastError();
          });
    });
  });
}

}  // namespace tensorflow_ext
