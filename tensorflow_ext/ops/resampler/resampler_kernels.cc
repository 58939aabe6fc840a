// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/determinism.h"
#include "tensorflow_ext/kernels/parallel.h"
#include "tensorflow_ext/kernels/regions_checks.h"
#include "tensorflow_ext/kernels/tensor_type.h"
#include "tensorflow_ext/ops/resampler/resampler.h"
#include "tensorflow_ext/ops/resampler/resampler_checks.h"
#include "tensorflow_ext/registration.h"

#if TENSORFLOW_EXT_CUDA
#include "tensorflow_ext/kernels/gpu_stream.h"
#endif

namespace tensorflow_ext {
namespace {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// What a device does. Outputs may be empty.
struct CpuDevice {
  static absl::Status Resample(OpKernelContext* context, NumericType type,
                               const ResamplerDims& dims, ResamplerOrder order,
                               const Tensor& data, const Tensor& warp,
                               Tensor* output);
  static absl::Status WarpGrad(OpKernelContext* context, NumericType type,
                               const ResamplerDims& dims,
                               const Tensor& gradients, const Tensor& data,
                               const Tensor& warp, Tensor* warp_backprops);
  static absl::Status Adjoint(OpKernelContext* context, NumericType type,
                              const ResamplerDims& dims, ResamplerOrder order,
                              const Tensor& gradients, const Tensor& warp,
                              Tensor* backprops);
};

// Float sums beside an output whose type needs them.
absl::Status AllocateSums(OpKernelContext* context, NumericType type,
                          const Tensor& output, Tensor* sums) {
  const int64_t size = IsHalfType(type) ? output.NumElements() : 0;
  return context->allocate_temp(tensorflow::DT_FLOAT, TensorShape({size}),
                                sums);
}

absl::Status CpuDevice::Resample(OpKernelContext* context, NumericType type,
                                 const ResamplerDims& dims,
                                 ResamplerOrder order, const Tensor& data,
                                 const Tensor& warp, Tensor* output) {
  if (output->NumElements() == 0) return absl::OkStatus();
  Parallel(context, dims.all_points(), 40 + dims.channels,
           [&](int64_t begin, int64_t end) {
             ResampleCpu(type, dims, order, Data(data), Data(warp),
                         Data(output), begin, end);
           });
  return absl::OkStatus();
}

absl::Status CpuDevice::WarpGrad(OpKernelContext* context, NumericType type,
                                 const ResamplerDims& dims,
                                 const Tensor& gradients, const Tensor& data,
                                 const Tensor& warp, Tensor* warp_backprops) {
  if (warp_backprops->NumElements() == 0) return absl::OkStatus();
  Parallel(context, dims.all_points(), 80 + 2 * dims.channels,
           [&](int64_t begin, int64_t end) {
             ResamplerWarpGradCpu(type, dims, Data(gradients), Data(data),
                                  Data(warp), Data(warp_backprops), begin, end);
           });
  return absl::OkStatus();
}

// The points of each image sorted by the row of their cell.
class SortedPoints {
 public:
  absl::Status Sort(OpKernelContext* context, NumericType type,
                    const ResamplerDims& dims, const Tensor& warp) {
    // Chunks of an image are counted, and then placed, side by side.
    constexpr int64_t kSmallest = 4096;
    const int64_t wanted = 2 * Workers(context)->NumThreads();
    const int64_t chunks = std::clamp<int64_t>(1 + wanted / dims.images, 1,
                                               1 + dims.points / kSmallest);
    rows_ = dims.height + 1;
    Tensor places;
    for (const auto& [tensor, size] :
         {std::pair(&places, dims.images * chunks * rows_),
          std::pair(&starts_, dims.images * (rows_ + 1)),
          std::pair(&sorted_, dims.all_points())}) {
      TF_RETURN_IF_ERROR(context->allocate_temp(tensorflow::DT_INT64,
                                                TensorShape({size}), tensor));
    }
    int64_t* place = static_cast<int64_t*>(Data(&places));
    int64_t* start = static_cast<int64_t*>(Data(&starts_));
    int64_t* sorted = static_cast<int64_t*>(Data(&sorted_));

    // Calls fn(first point, last point, place of row -1) for every chunk.
    const auto for_each_chunk = [&](auto&& fn) {
      Parallel(context, dims.images * chunks, 10 * dims.points / chunks,
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; ++k) {
                   const int64_t first = k / chunks * dims.points;
                   const int64_t chunk = k % chunks;
                   fn(first + chunk * dims.points / chunks,
                      first + (chunk + 1) * dims.points / chunks,
                      place + k * rows_);
                 }
               });
    };
    std::fill_n(place, dims.images * chunks * rows_, 0);
    for_each_chunk([&](int64_t begin, int64_t end, int64_t* counts) {
      CountRowsCpu(type, dims, Data(warp), begin, end, counts);
    });
    // Row by row, and within a row chunk by chunk.
    int64_t next = 0;
    for (int64_t image = 0; image < dims.images; ++image) {
      for (int64_t row = 0; row < rows_; ++row) {
        *start++ = next;
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
          int64_t& count = place[(image * chunks + chunk) * rows_ + row];
          next += count;
          count = next - count;
        }
      }
      *start++ = next;
    }
    for_each_chunk([&](int64_t begin, int64_t end, int64_t* places) {
      SortRowsCpu(type, dims, Data(warp), begin, end, places, sorted);
    });
    return absl::OkStatus();
  }

  const int64_t* sorted() const {
    return static_cast<const int64_t*>(Data(sorted_));
  }
  // From row -1 on, and an end.
  const int64_t* starts(int64_t image) const {
    return static_cast<const int64_t*>(Data(starts_)) + image * (rows_ + 1);
  }

 private:
  int64_t rows_ = 0;
  Tensor starts_, sorted_;
};

absl::Status CpuDevice::Adjoint(OpKernelContext* context, NumericType type,
                                const ResamplerDims& dims, ResamplerOrder order,
                                const Tensor& gradients, const Tensor& warp,
                                Tensor* backprops) {
  const int64_t size = backprops->NumElements();
  if (size == 0) return absl::OkStatus();
  SortedPoints points;
  TF_RETURN_IF_ERROR(points.Sort(context, type, dims, warp));
  Tensor sums;
  TF_RETURN_IF_ERROR(AllocateSums(context, type, *backprops, &sums));
  // Rows of an image belong to one thread, so that no sum is shared.
  const int64_t cost = (size + dims.all_points() * (40 + 2 * dims.channels)) /
                       (dims.images * dims.height);
  Parallel(context, dims.images * dims.height, cost,
           [&](int64_t begin, int64_t end) {
             while (begin < end) {
               const int64_t image = begin / dims.height;
               const int64_t row = begin % dims.height;
               const int64_t last = std::min(dims.height, row + end - begin);
               ResamplerAdjointCpu(
                   type, dims, order, Data(gradients), Data(warp),
                   points.sorted(), points.starts(image), image, row, last,
                   static_cast<float*>(Data(&sums)), Data(backprops));
               begin += last - row;
             }
           });
  return absl::OkStatus();
}

#if TENSORFLOW_EXT_CUDA
struct GpuDevice {
  static absl::Status Resample(OpKernelContext* context, NumericType type,
                               const ResamplerDims& dims, ResamplerOrder order,
                               const Tensor& data, const Tensor& warp,
                               Tensor* output) {
    if (output->NumElements() == 0) return absl::OkStatus();
    return LaunchStatus(
        context->op_kernel(),
        LaunchResample(type, dims, order, Data(data), Data(warp), Data(output),
                       GpuStream(context)));
  }

  static absl::Status WarpGrad(OpKernelContext* context, NumericType type,
                               const ResamplerDims& dims,
                               const Tensor& gradients, const Tensor& data,
                               const Tensor& warp, Tensor* warp_backprops) {
    if (warp_backprops->NumElements() == 0) return absl::OkStatus();
    return LaunchStatus(context->op_kernel(),
                        LaunchResamplerWarpGrad(
                            type, dims, Data(gradients), Data(data), Data(warp),
                            Data(warp_backprops), GpuStream(context)));
  }

  static absl::Status Adjoint(OpKernelContext* context, NumericType type,
                              const ResamplerDims& dims, ResamplerOrder order,
                              const Tensor& gradients, const Tensor& warp,
                              Tensor* backprops) {
    if (backprops->NumElements() == 0) return absl::OkStatus();
    Tensor sums;
    TF_RETURN_IF_ERROR(AllocateSums(context, type, *backprops, &sums));
    return LaunchStatus(
        context->op_kernel(),
        LaunchResamplerAdjoint(
            type, dims, order, tensorflow::OpDeterminismRequired(),
            Data(gradients), Data(warp), static_cast<float*>(Data(&sums)),
            Data(backprops), GpuStream(context)));
  }
};
#endif

// ----- The ops, on either device. -----

// Resampler, and ResamplerDerivative, which has an order.
template <typename Device>
class ResamplerOp : public OpKernel {
 public:
  explicit ResamplerOp(OpKernelConstruction* context)
      : OpKernel(context), type_(NumericTypeOf(context->input_type(0))) {
    if (context->HasAttr("x_order")) {
      OP_REQUIRES_OK(context, ReadOrder(context, type_string(), &order_));
    }
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& data = context->input(0);
    const Tensor& warp = context->input(1);
    ResamplerDims dims;
    TensorShape shape;
    OP_REQUIRES_OK(context,
                   ReadResamplerDims(type_string(), "data", data.shape(),
                                     warp.shape(), &dims, &shape));
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &output));
    OP_REQUIRES_OK(context, Device::Resample(context, type_, dims, order_, data,
                                             warp, output));
  }

 private:
  const NumericType type_;
  ResamplerOrder order_ = {0, 0};
};

template <typename Device>
class ResamplerGradOp : public OpKernel {
 public:
  explicit ResamplerGradOp(OpKernelConstruction* context)
      : OpKernel(context), type_(NumericTypeOf(context->input_type(0))) {}

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& data = context->input(1);
    const Tensor& warp = context->input(2);
    ResamplerDims dims;
    TensorShape shape;
    OP_REQUIRES_OK(context,
                   ReadResamplerDims(type_string(), "data", data.shape(),
                                     warp.shape(), &dims, &shape));
    OP_REQUIRES_OK(context, CheckResamplerGradients(type_string(),
                                                    gradients.shape(), shape));
    Tensor* data_backprops = nullptr;
    Tensor* warp_backprops = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, data.shape(), &data_backprops));
    OP_REQUIRES_OK(context,
                   context->allocate_output(1, warp.shape(), &warp_backprops));
    OP_REQUIRES_OK(context, Device::Adjoint(context, type_, dims, {0, 0},
                                            gradients, warp, data_backprops));
    OP_REQUIRES_OK(context, Device::WarpGrad(context, type_, dims, gradients,
                                             data, warp, warp_backprops));
  }

 private:
  const NumericType type_;
};

template <typename Device>
class ResamplerAdjointOp : public OpKernel {
 public:
  explicit ResamplerAdjointOp(OpKernelConstruction* context)
      : OpKernel(context), type_(NumericTypeOf(context->input_type(0))) {
    OP_REQUIRES_OK(context, ReadOrder(context, type_string(), &order_));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& warp = context->input(1);
    ResamplerDims dims;
    TensorShape data_shape, shape;
    OP_REQUIRES_OK(
        context, ReadDataShape(type_string(), context->input(2), &data_shape));
    OP_REQUIRES_OK(context,
                   ReadResamplerDims(type_string(), "data_shape", data_shape,
                                     warp.shape(), &dims, &shape));
    OP_REQUIRES_OK(context, CheckResamplerGradients(type_string(),
                                                    gradients.shape(), shape));
    Tensor* backprops = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, data_shape, &backprops));
    OP_REQUIRES_OK(context, Device::Adjoint(context, type_, dims, order_,
                                            gradients, warp, backprops));
  }

 private:
  const NumericType type_;
  ResamplerOrder order_;
};

REGISTER_KERNEL_BUILDER(Name("TfExt>Resampler").Device(DEVICE_CPU),
                        ResamplerOp<CpuDevice>);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerGrad").Device(DEVICE_CPU),
                        ResamplerGradOp<CpuDevice>);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerDerivative").Device(DEVICE_CPU),
                        ResamplerOp<CpuDevice>);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerAdjoint").Device(DEVICE_CPU),
                        ResamplerAdjointOp<CpuDevice>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>Resampler").Device(DEVICE_GPU),
                        ResamplerOp<GpuDevice>);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerGrad").Device(DEVICE_GPU),
                        ResamplerGradOp<GpuDevice>);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerDerivative").Device(DEVICE_GPU),
                        ResamplerOp<GpuDevice>);
REGISTER_KERNEL_BUILDER(
    Name("TfExt>ResamplerAdjoint").Device(DEVICE_GPU).HostMemory("data_shape"),
    ResamplerAdjointOp<GpuDevice>);
#endif

}  // namespace
}  // namespace tensorflow_ext
