#include "tensorflow_ext/kernels/channel_pack_gpu.cuh"
#include "tensorflow_ext/kernels/lane_group_gpu.cuh"
#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/quotient.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"

namespace tensorflow_ext {
namespace {

// The number of neighbouring displacements along a row that a group of threads processes together.
// They share the values of a that they read.
constexpr int kDisplacements = 4;

// The least number of blocks per multiprocessor. With more, registers that hold 64-bit positions
// and sums would spill.
constexpr int kBlocks = 2;

__device__ __forceinline__ IndexRange Intersection(IndexRange x, IndexRange y) {
  return {Larger(x.begin, y.begin), Smaller(x.end, y.end)};
}

// The range [0, pixels) as seen from `distance` pixels away.
__device__ __forceinline__ IndexRange Shifted(int64_t pixels, int64_t distance) {
  return {-distance, pixels - distance};
}

// One group of threads computes kDisplacements outputs of a pixel. Each thread processes some packs
// of channels of all pixels in the window.
template <typename T, int kPack, int kLanes>
__global__ void __launch_bounds__(kBlockThreads, kBlocks)
    CorrelationCostKernel(CorrelationCostDims dims, ComputeType<T> scale, const T* a, const T* b,
                          T* output) {
  using C = ComputeType<T>;
  using Pack = ChannelPack<T, kPack>;
  using Group = LaneGroup<kLanes>;
  static_assert(kLanes >= kDisplacements, "each output has a thread");
  const int64_t tiles = (dims.displacements + kDisplacements - 1) / kDisplacements;
  const int64_t count =
      dims.images * dims.output_height * dims.output_width * dims.displacements * tiles;
  const int64_t packs = dims.channels / kPack;
  for (int64_t first = Group::First(); first < count; first += Group::Step()) {
    const int64_t item = first + Group::Index();
    int64_t rest = Quotient(item, tiles);
    const int64_t j = (item - rest * tiles) * kDisplacements;
    const int64_t pixel = Quotient(rest, dims.displacements);
    const int64_t i = rest - pixel * dims.displacements;
    rest = Quotient(pixel, dims.output_width);
    const int64_t output_x = pixel - rest * dims.output_width;
    const int64_t n = Quotient(rest, dims.output_height);
    const int64_t output_y = rest - n * dims.output_height;

    const int64_t dy = dims.Displacement(i), dx = dims.Displacement(j);
    IndexRange rows = Intersection(dims.Window(output_y, dims.height), Shifted(dims.height, dy));
    if (item >= count) rows = {0, 0};
    const IndexRange columns = dims.Window(output_x, dims.width);
    C sums[kDisplacements] = {};
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      const T* row_a = a + (n * dims.height + y) * dims.width * dims.channels;
      const T* row_b = b + (n * dims.height + y + dy) * dims.width * dims.channels;
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const Pack* pixel_a = reinterpret_cast<const Pack*>(row_a + x * dims.channels);
        for (int64_t p = Group::Lane(); p < packs; p += kLanes) {
          const Pack of_a = pixel_a[p];
#pragma unroll
          for (int k = 0; k < kDisplacements; ++k) {
            const int64_t other = x + dx + k * dims.stride_2;
            if (other >= 0 && other < dims.width) {
              sums[k] = AddDot(sums[k], of_a,
                               reinterpret_cast<const Pack*>(row_b + other * dims.channels)[p]);
            }
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kDisplacements; ++k) {
      const C sum = Group::Sum(sums[k]);
      if (Group::Lane() == k && item < count && j + k < dims.displacements) {
        output[pixel * dims.output_channels() + i * dims.displacements + j + k] =
            FromCompute<T>(sum * scale);
      }
    }
  }
}

// One thread for each pack of channels of a pixel. It sums over the pixels that this pixel meets,
// in order.
template <typename T, int kPack, CorrelationArgument kArgument>
__global__ void __launch_bounds__(kBlockThreads, kBlocks)
    CorrelationCostGradKernel(CorrelationCostDims dims, ComputeType<T> scale, const T* gradients,
                              const T* other, T* backprops) {
  using C = ComputeType<T>;
  using Pack = ChannelPack<T, kPack>;
  constexpr bool kToA = kArgument == CorrelationArgument::kA;
  const int64_t packs = dims.channels / kPack;
  const int64_t count = dims.images * dims.image_pixels() * packs;
  for (int64_t index = GridIndex(); index < count; index += GridStride()) {
    const int64_t pixel = Quotient(index, packs);
    const int64_t p = index - pixel * packs;
    int64_t rest = Quotient(pixel, dims.width);
    const int64_t x = pixel - rest * dims.width;
    const int64_t n = Quotient(rest, dims.height);
    const int64_t y = rest - n * dims.height;
    const IndexRange vertical = dims.DisplacementsInside(y, dims.height);
    const IndexRange horizontal = dims.DisplacementsInside(x, dims.width);
    const T* gradient =
        gradients + n * dims.output_height * dims.output_width * dims.output_channels();
    C sums[kPack] = {};
    for (int64_t i = vertical.begin; i < vertical.end; ++i) {
      const int64_t other_y = y + dims.Displacement(i);
      const IndexRange rows = dims.Windows(kToA ? y : other_y, dims.output_height);
      if (rows.empty()) continue;
      const T* row = other + (n * dims.height + other_y) * dims.width * dims.channels;
      for (int64_t j = horizontal.begin; j < horizontal.end; ++j) {
        const int64_t other_x = x + dims.Displacement(j);
        const IndexRange columns = dims.Windows(kToA ? x : other_x, dims.output_width);
        if (columns.empty()) continue;
        // The displacement from b to a is the opposite one.
        const int64_t forward = i * dims.displacements + j;
        const int64_t channel = kToA ? forward : dims.output_channels() - 1 - forward;
        C coefficient = 0;
        for (int64_t output_y = rows.begin; output_y < rows.end; ++output_y) {
          for (int64_t output_x = columns.begin; output_x < columns.end; ++output_x) {
            coefficient += ToCompute(
                gradient[(output_y * dims.output_width + output_x) * dims.output_channels() +
                         channel]);
          }
        }
        AddScaledPack(coefficient * scale,
                      reinterpret_cast<const Pack*>(row + other_x * dims.channels)[p], sums);
      }
    }
    reinterpret_cast<Pack*>(backprops)[index] = MakePack<T, kPack>(sums);
  }
}

}  // namespace

int LaunchCorrelationCost(NumericType type, const CorrelationCostDims& dims, const void* a,
                          const void* b, void* output, void* stream) {
  const int64_t size = dims.output_size();
  if (size == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    if (dims.input_size() == 0) {
      return cudaMemsetAsync(output, 0, size * sizeof(T), cuda_stream);
    }
    return WithChannelPack<T>(dims.channels, a, b, [&](auto pack) -> int {
      constexpr int kPack = decltype(pack)::value;
      return WithLaneGroup<kDisplacements>(dims.channels / kPack, [&](auto lanes) -> int {
        constexpr int kLanes = decltype(lanes)::value;
        // This may be too many: the last group of a row may be partial.
        const int64_t items = size / dims.displacements * (dims.displacements / kDisplacements + 1);
        CorrelationCostKernel<T, kPack, kLanes>
            <<<GridBlocks(items * kLanes), kBlockThreads, 0, cuda_stream>>>(
                dims, static_cast<ComputeType<T>>(dims.scale()), static_cast<const T*>(a),
                static_cast<const T*>(b), static_cast<T*>(output));
        return cudaGetLastError();
      });
    });
  });
}

int LaunchCorrelationCostGrad(NumericType type, const CorrelationCostDims& dims,
                              CorrelationArgument argument, const void* gradients,
                              const void* other, void* backprops, void* stream) {
  const int64_t size = dims.input_size();
  if (size == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return WithChannelPack<T>(dims.channels, other, backprops, [&](auto pack) -> int {
      constexpr int kPack = decltype(pack)::value;
      const auto kernel = argument == CorrelationArgument::kA
                              ? CorrelationCostGradKernel<T, kPack, CorrelationArgument::kA>
                              : CorrelationCostGradKernel<T, kPack, CorrelationArgument::kB>;
      kernel<<<GridBlocks(size / kPack), kBlockThreads, 0, cuda_stream>>>(
          dims, static_cast<ComputeType<T>>(dims.scale()), static_cast<const T*>(gradients),
          static_cast<const T*>(other), static_cast<T*>(backprops));
      return cudaGetLastError();
    });
  });
}

}  // namespace tensorflow_ext
