#include <cstdint>

#include "tensorflow_ext/kernels/channel_pack_gpu.cuh"
#include "tensorflow_ext/kernels/lane_group_gpu.cuh"
#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/quotient.h"
#include "tensorflow_ext/kernels/sums_gpu.cuh"
#include "tensorflow_ext/ops/resampler/resampler.h"

namespace tensorflow_ext {
namespace {

// One thread for each pack of neighbouring channels of a point, so a warp reads and writes whole
// lines. In `dims`, a channel is a pack.
template <typename T, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    ResampleKernel(ResamplerDims dims, ResamplerOrder order, const ChannelPack<T, kPack>* data,
                   const T* warp, ChannelPack<T, kPack>* output) {
  using C = ComputeType<T>;
  const int64_t size = dims.all_points() * dims.channels;
  for (int64_t index = GridIndex(); index < size; index += GridStride()) {
    const int64_t point = Quotient(index, dims.channels);
    const int64_t image = Quotient(point, dims.points);
    const auto cell = FindCell(dims, warp + 2 * point);
    C sums[kPack] = {};
    if (cell.inside) {
      const ChannelPack<T, kPack>* pixels =
          data + image * dims.image_size() + index - point * dims.channels;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const auto corner = Corner(cell, k, order);
        if (IsPixel(corner, dims) && corner.weight != C(0)) {
          AddScaledPack(corner.weight, pixels[(corner.y * dims.width + corner.x) * dims.channels],
                        sums);
        }
      }
    }
    output[index] = MakePack<T, kPack>(sums);
  }
}

// The same from sums of single channels.
template <typename T, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    ResampleScatterKernel(ResamplerDims dims, ResamplerOrder order,
                          const ChannelPack<T, kPack>* gradients, const T* warp,
                          ComputeType<T>* sums) {
  using C = ComputeType<T>;
  const int64_t size = dims.all_points() * dims.channels;
  for (int64_t index = GridIndex(); index < size; index += GridStride()) {
    const int64_t point = Quotient(index, dims.channels);
    const int64_t image = Quotient(point, dims.points);
    const auto cell = FindCell(dims, warp + 2 * point);
    if (!cell.inside) continue;
    const ChannelPack<T, kPack> gradient = gradients[index];
    const int64_t pixels = image * dims.image_size() + index - point * dims.channels;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto corner = Corner(cell, k, order);
      if (IsPixel(corner, dims) && corner.weight != C(0)) {
        const int64_t pixel = pixels + (corner.y * dims.width + corner.x) * dims.channels;
        ScatterPack(corner.weight, gradient, sums + pixel * kPack);
      }
    }
  }
}

// One block for each row of an image, one thread for each channel of the row. Only this thread adds
// to it, in the order of the points.
template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    ResampleRowsKernel(ResamplerDims dims, ResamplerOrder order, const T* gradients, const T* warp,
                       ComputeType<T>* sums) {
  using C = ComputeType<T>;
  for (int64_t block = blockIdx.x; block < dims.images * dims.height; block += gridDim.x) {
    const int64_t image = Quotient(block, dims.height);
    const int64_t row = block - image * dims.height;
    const T* points = warp + 2 * image * dims.points;
    const T* upstream = gradients + image * dims.points * dims.channels;
    C* pixels = sums + block * dims.row_size();
    const auto touches = [&](int64_t point) {
      const auto cell = FindCell(dims, points + 2 * point);
      return cell.inside && (cell.y == row || cell.y + 1 == row);
    };
    const auto add = [&](int64_t point) {
      const auto cell = FindCell(dims, points + 2 * point);
      const int first = cell.y == row ? 0 : 2;  // this row's corner
      for (int64_t c = threadIdx.x; c < dims.channels; c += kBlockThreads) {
        const C gradient = ToCompute(upstream[point * dims.channels + c]);
        for (int k = first; k < first + 2; ++k) {
          const auto corner = Corner(cell, k, order);
          if (IsPixel(corner, dims) && corner.weight != C(0)) {
            pixels[corner.x * dims.channels + c] += corner.weight * gradient;
          }
        }
      }
    };
    ForEachInOrder(dims.points, touches, add);
  }
}

// One group of threads for each point. The order of the sums over the channels is fixed. In `dims`,
// a channel is a pack.
template <typename T, int kPack, int kLanes>
__global__ void __launch_bounds__(kBlockThreads)
    ResampleWarpKernel(ResamplerDims dims, const ChannelPack<T, kPack>* gradients,
                       const ChannelPack<T, kPack>* data, const T* warp, T* warp_backprops) {
  using C = ComputeType<T>;
  using Group = LaneGroup<kLanes>;
  const int64_t count = dims.all_points();
  for (int64_t first = Group::First(); first < count; first += Group::Step()) {
    const int64_t point = first + Group::Index();
    ResamplerCell<C> cell = {false, 0, 0, 0, 0};
    if (point < count) cell = FindCell(dims, warp + 2 * point);
    C by_x = 0, by_y = 0;
    if (cell.inside) {
      const int64_t image = Quotient(point, dims.points);
      const ChannelPack<T, kPack>* pixels = data + image * dims.image_size();
      for (int64_t p = Group::Lane(); p < dims.channels; p += kLanes) {
        ChannelPack<T, kPack> v[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const auto corner = Corner(cell, k, {0, 0});
          v[k] = {};
          if (IsPixel(corner, dims)) {
            v[k] = pixels[(corner.y * dims.width + corner.x) * dims.channels + p];
          }
        }
        const ChannelPack<T, kPack> upstream = gradients[point * dims.channels + p];
#pragma unroll
        for (int j = 0; j < kPack; ++j) {
          const C gradient = ToCompute(upstream.values[j]);
          C value[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) value[k] = ToCompute(v[k].values[j]);
          by_x += gradient *
                  ((value[1] - value[0]) * (C(1) - cell.fy) + (value[3] - value[2]) * cell.fy);
          by_y += gradient *
                  ((value[2] - value[0]) * (C(1) - cell.fx) + (value[3] - value[1]) * cell.fx);
        }
      }
    }
    by_x = Group::Sum(by_x);
    by_y = Group::Sum(by_y);
    if (Group::Lane() == 0 && point < count) {
      warp_backprops[2 * point] = FromCompute<T>(by_x);
      warp_backprops[2 * point + 1] = FromCompute<T>(by_y);
    }
  }
}

}  // namespace

int LaunchResample(NumericType type, const ResamplerDims& dims, ResamplerOrder order,
                   const void* data, const void* warp, void* output, void* stream) {
  if (dims.all_points() * dims.channels == 0) return cudaSuccess;
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return WithPackedChannels<T>(dims, data, output, [&](auto size, const auto& packed) -> int {
      constexpr int kPack = decltype(size)::value;
      using Pack = ChannelPack<T, kPack>;
      ResampleKernel<T, kPack><<<GridBlocks(packed.all_points() * packed.channels), kBlockThreads,
                                 0, static_cast<cudaStream_t>(stream)>>>(
          packed, order, static_cast<const Pack*>(data), static_cast<const T*>(warp),
          static_cast<Pack*>(output));
      return cudaGetLastError();
    });
  });
}

int LaunchResamplerWarpGrad(NumericType type, const ResamplerDims& dims, const void* gradients,
                            const void* data, const void* warp, void* warp_backprops,
                            void* stream) {
  if (dims.all_points() == 0) return cudaSuccess;
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return WithPackedChannels<T>(dims, gradients, data, [&](auto size, const auto& packed) -> int {
      constexpr int kPack = decltype(size)::value;
      using Pack = ChannelPack<T, kPack>;
      return WithLaneGroup(packed.channels, [&](auto lanes) -> int {
        constexpr int kLanes = decltype(lanes)::value;
        ResampleWarpKernel<T, kPack, kLanes>
            <<<GridBlocks(packed.all_points() * kLanes), kBlockThreads, 0,
               static_cast<cudaStream_t>(stream)>>>(
                packed, static_cast<const Pack*>(gradients), static_cast<const Pack*>(data),
                static_cast<const T*>(warp), static_cast<T*>(warp_backprops));
        return cudaGetLastError();
      });
    });
  });
}

int LaunchResamplerAdjoint(NumericType type, const ResamplerDims& dims, ResamplerOrder order,
                           bool deterministic, const void* gradients, const void* warp, float* sums,
                           void* backprops, void* stream) {
  const int64_t size = dims.images * dims.image_size();
  if (size == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return LaunchSums<T>(sums, backprops, size, cuda_stream, [&](ComputeType<T>* sum) {
      if (dims.points == 0) return cudaSuccess;
      const T* upstream = static_cast<const T*>(gradients);
      const T* points = static_cast<const T*>(warp);
      if (deterministic) {
        ResampleRowsKernel<<<GridBlocks(dims.images * dims.height * kBlockThreads), kBlockThreads,
                             0, cuda_stream>>>(dims, order, upstream, points, sum);
        return cudaGetLastError();
      }
      return WithPackedChannels<
          T>(dims, gradients, sum, [&](auto size, const auto& packed) -> cudaError_t {
        constexpr int kPack = decltype(size)::value;
        using Pack = ChannelPack<T, kPack>;
        ResampleScatterKernel<T, kPack>
            <<<GridBlocks(packed.all_points() * packed.channels), kBlockThreads, 0, cuda_stream>>>(
                packed, order, static_cast<const Pack*>(gradients), points, sum);
        return cudaGetLastError();
      });
    });
  });
}

}  // namespace tensorflow_ext
