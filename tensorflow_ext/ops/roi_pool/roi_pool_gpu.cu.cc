#include "tensorflow_ext/kernels/channel_pack_gpu.cuh"
#include "tensorflow_ext/kernels/launch.cuh"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/sums_gpu.cuh"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"

namespace tensorflow_ext {
namespace {

// One thread for each element of pooled. Neighbouring threads have neighbouring channels, so a warp
// reads and writes whole lines.
template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    PoolKernel(RoiPoolDims dims, float spatial_scale, const T* data, const T* rois, T* pooled,
               int32_t* argmax) {
  const int64_t size = dims.pooled_size();
  for (int64_t index = GridIndex(); index < size; index += GridStride()) {
    const PooledIndex p = DecodePooled(index, dims);
    const Roi roi = ReadRoi(rois + p.roi * 5, spatial_scale, dims.images);
    const PixelRange rows = RoiBin(roi.y, p.i, dims.pooled_height, dims.height);
    const PixelRange columns = RoiBin(roi.x, p.j, dims.pooled_width, dims.width);
    T maximum{};
    int32_t where = -1;
    if (roi.image >= 0 && rows.begin < rows.end && columns.begin < columns.end) {
      const T* image = data + roi.image * dims.image_size();
      const int32_t width = static_cast<int32_t>(dims.width);
      const int32_t channels = static_cast<int32_t>(dims.channels);
      where = (rows.begin * width + columns.begin) * channels + static_cast<int32_t>(p.c);
      auto largest = ToCompute(image[where]);
      for (int32_t h = rows.begin; h < rows.end; ++h) {
        for (int32_t w = columns.begin; w < columns.end; ++w) {
          const int32_t element = (h * width + w) * channels + static_cast<int32_t>(p.c);
          const auto value = ToCompute(image[element]);
          if (ReplacesMaximum(value, largest)) {
            largest = value;
            where = element;
          }
        }
      }
      maximum = FromCompute<T>(largest);
    }
    pooled[index] = maximum;
    argmax[index] = where;
  }
}

// The entries of argmax that belong to a ChannelPack.
template <int kSize>
struct alignas(kSize % 4 == 0 ? 16 : 4) ArgmaxPack {
  int32_t values[kSize];
};

// Each thread processes a pack of neighbouring channels of a bin.
template <int kPack>
__device__ __forceinline__ PooledIndex DecodePacked(int64_t index, RoiPoolDims dims) {
  dims.channels /= kPack;
  PooledIndex p = DecodePooled(index, dims);
  p.c *= kPack;
  return p;
}

template <typename T, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    ScatterKernel(RoiPoolDims dims, const ChannelPack<T, kPack>* gradients, const T* rois,
                  const ArgmaxPack<kPack>* argmax, ComputeType<T>* sums) {
  const int64_t size = dims.pooled_size() / kPack;
  for (int64_t index = GridIndex(); index < size; index += GridStride()) {
    const PooledIndex p = DecodePacked<kPack>(index, dims);
    const int64_t image = RoiImage(ToCompute(rois[p.roi * 5]), dims.images);
    if (image < 0) continue;
    const ArgmaxPack<kPack> elements = argmax[index];
    const ChannelPack<T, kPack> gradient = gradients[index];
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      if (IsElementOfChannel(elements.values[k], p.c + k, dims)) {
        atomicAdd(sums + image * dims.image_size() + elements.values[k],
                  ToCompute(gradient.values[k]));
      }
    }
  }
}

__device__ __forceinline__ ElementRange Hull(ElementRange a, ElementRange b) {
  return {min(a.begin, b.begin), max(a.end, b.end)};
}

__device__ __forceinline__ bool Holds(ElementRange range, int32_t element) {
  return element >= range.begin && element < range.end;
}

// One block for each region. It writes the range of elements that the region points at, then the
// range of each of its rows of bins. The empty range is [INT32_MAX, 0).
__global__ void __launch_bounds__(kBlockThreads)
    ElementsKernel(RoiPoolDims dims, const int32_t* argmax, ElementRange* elements) {
  constexpr ElementRange kNothing = {INT32_MAX, 0};
  __shared__ ElementRange shared[kBlockThreads];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t roi = blockIdx.x; roi < dims.rois; roi += gridDim.x) {
    ElementRange* ranges = elements + roi * (1 + dims.pooled_height);
    ElementRange whole = kNothing;
    for (int64_t i = 0; i < dims.pooled_height; ++i) {
      const int32_t* row = argmax + (roi * dims.pooled_height + i) * dims.row_size();
      ElementRange range = kNothing;
      for (int64_t k = thread; k < dims.row_size(); k += kBlockThreads) {
        if (row[k] >= 0 && row[k] < INT32_MAX) {
          range = Hull(range, {row[k], row[k] + 1});
        }
      }
      shared[thread] = range;
      __syncthreads();
      for (int half = kBlockThreads / 2; half > 0; half /= 2) {
        if (thread < half) {
          shared[thread] = Hull(shared[thread], shared[thread + half]);
        }
        __syncthreads();
      }
      whole = Hull(whole, shared[0]);
      if (thread == 0) ranges[1 + i] = shared[0];
      __syncthreads();
    }
    if (thread == 0) ranges[0] = whole;
  }
}

// One thread for each element of data. It sums over regions and bins in order. It reads only the
// rows of bins that may point at the element, and only its own channel.
template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    OrderedSumKernel(RoiPoolDims dims, const T* gradients, const T* rois, const int32_t* argmax,
                     const ElementRange* elements, T* backprops) {
  const int64_t size = dims.images * dims.image_size();
  for (int64_t index = GridIndex(); index < size; index += GridStride()) {
    const int64_t image = Quotient(index, dims.image_size());
    const int32_t element = static_cast<int32_t>(index - image * dims.image_size());
    const int64_t c = element % static_cast<int32_t>(dims.channels);
    ComputeType<T> sum = 0;
    for (int64_t roi = 0; roi < dims.rois; ++roi) {
      const ElementRange* ranges = elements + roi * (1 + dims.pooled_height);
      if (!Holds(ranges[0], element) || RoiImage(ToCompute(rois[roi * 5]), dims.images) != image) {
        continue;
      }
      for (int64_t i = 0; i < dims.pooled_height; ++i) {
        if (!Holds(ranges[1 + i], element)) continue;
        const int64_t row = (roi * dims.pooled_height + i) * dims.row_size();
        for (int64_t k = row + c; k < row + dims.row_size(); k += dims.channels) {
          if (argmax[k] == element) sum += ToCompute(gradients[k]);
        }
      }
    }
    backprops[index] = FromCompute<T>(sum);
  }
}

template <typename T, int kPack>
__global__ void __launch_bounds__(kBlockThreads)
    GatherKernel(RoiPoolDims dims, const T* gradients, const T* rois,
                 const ArgmaxPack<kPack>* argmax, ChannelPack<T, kPack>* backprops) {
  const int64_t size = dims.pooled_size() / kPack;
  for (int64_t index = GridIndex(); index < size; index += GridStride()) {
    const PooledIndex p = DecodePacked<kPack>(index, dims);
    const int64_t image = RoiImage(ToCompute(rois[p.roi * 5]), dims.images);
    const ArgmaxPack<kPack> elements = argmax[index];
    ChannelPack<T, kPack> result;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const int32_t element = elements.values[k];
      result.values[k] = image >= 0 && IsElementOfChannel(element, p.c + k, dims)
                             ? gradients[image * dims.image_size() + element]
                             : T{};
    }
    backprops[index] = result;
  }
}

}  // namespace

int LaunchRoiPool(NumericType type, const RoiPoolDims& dims, float spatial_scale, const void* data,
                  const void* rois, void* pooled, int32_t* argmax, void* stream) {
  const int64_t size = dims.pooled_size();
  if (size == 0) return cudaSuccess;
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    PoolKernel<<<GridBlocks(size), kBlockThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        dims, spatial_scale, static_cast<const T*>(data), static_cast<const T*>(rois),
        static_cast<T*>(pooled), argmax);
    return cudaGetLastError();
  });
}

int LaunchRoiPoolGrad(NumericType type, const RoiPoolDims& dims, const void* gradients,
                      const void* rois, const int32_t* argmax, float* sums, void* backprops,
                      void* stream) {
  const int64_t size = dims.images * dims.image_size();
  if (size == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return LaunchSums<T>(sums, backprops, size, cuda_stream, [&](ComputeType<T>* sum) {
      if (dims.pooled_size() == 0) return cudaSuccess;
      return WithChannelPack<T>(dims.channels, gradients, argmax, [&](auto pack) -> cudaError_t {
        constexpr int kPack = decltype(pack)::value;
        ScatterKernel<T, kPack>
            <<<GridBlocks(dims.pooled_size() / kPack), kBlockThreads, 0, cuda_stream>>>(
                dims, static_cast<const ChannelPack<T, kPack>*>(gradients),
                static_cast<const T*>(rois), reinterpret_cast<const ArgmaxPack<kPack>*>(argmax),
                sum);
        return cudaGetLastError();
      });
    });
  });
}

int LaunchRoiPoolGradDeterministic(NumericType type, const RoiPoolDims& dims, const void* gradients,
                                   const void* rois, const int32_t* argmax, ElementRange* elements,
                                   void* backprops, void* stream) {
  const int64_t size = dims.images * dims.image_size();
  if (size == 0) return cudaSuccess;
  const cudaStream_t cuda_stream = static_cast<cudaStream_t>(stream);
  if (dims.rois > 0) {
    ElementsKernel<<<GridBlocks(dims.rois * kBlockThreads), kBlockThreads, 0, cuda_stream>>>(
        dims, argmax, elements);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
  }
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    OrderedSumKernel<<<GridBlocks(size), kBlockThreads, 0, cuda_stream>>>(
        dims, static_cast<const T*>(gradients), static_cast<const T*>(rois), argmax, elements,
        static_cast<T*>(backprops));
    return cudaGetLastError();
  });
}

int LaunchRoiPoolGradGrad(NumericType type, const RoiPoolDims& dims, const void* gradients,
                          const void* rois, const int32_t* argmax, void* backprops, void* stream) {
  const int64_t size = dims.pooled_size();
  if (size == 0) return cudaSuccess;
  return DispatchFloating(type, [&](auto tag) -> int {
    using T = TypeOf<decltype(tag)>;
    return WithChannelPack<T>(dims.channels, argmax, backprops, [&](auto pack) -> int {
      constexpr int kPack = decltype(pack)::value;
      GatherKernel<T, kPack>
          <<<GridBlocks(size / kPack), kBlockThreads, 0, static_cast<cudaStream_t>(stream)>>>(
              dims, static_cast<const T*>(gradients), static_cast<const T*>(rois),
              reinterpret_cast<const ArgmaxPack<kPack>*>(argmax),
              static_cast<ChannelPack<T, kPack>*>(backprops));
      return cudaGetLastError();
    });
  });
}

}  // namespace tensorflow_ext
