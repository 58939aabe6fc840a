#include <algorithm>
#include <cstdint>
#include <utility>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/determinism.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/resampler/resampler.h"
#include "tensorflow_ext/ops/resampler/resampler_checks.h"

namespace tensorflow_ext {
namespace {

// ----- Checks and allocation, for both devices. -----

// Resampler and ResamplerDerivative. Only ResamplerDerivative has an order.
class ResamplerOp : public TypedOp {
 public:
  explicit ResamplerOp(OpKernelConstruction* context) : TypedOp(context) {
    if (context->HasAttr("x_order")) {
      OP_REQUIRES_OK(context, ReadOrder(context, type_string(), &order_));
    }
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& data = context->input(0);
    const Tensor& warp = context->input(1);
    ResamplerDims dims;
    TensorShape shape;
    OP_REQUIRES_OK(context, ReadResamplerDims(type_string(), "data", data.shape(), warp.shape(),
                                              &dims, &shape));
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &output));
    if (output->NumElements() == 0) return;
    Launch(context, dims, Data(data), Data(warp), Data(output));
  }

 protected:
  // The output is not empty.
  virtual void Launch(OpKernelContext* context, const ResamplerDims& dims, const void* data,
                      const void* warp, void* output) = 0;

  ResamplerOrder order_ = {0, 0};
};

class ResamplerAdjointOp : public TypedOp {
 public:
  explicit ResamplerAdjointOp(OpKernelConstruction* context) : TypedOp(context) {
    OP_REQUIRES_OK(context, ReadOrder(context, type_string(), &order_));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& warp = context->input(1);
    ResamplerDims dims;
    TensorShape data_shape, shape;
    OP_REQUIRES_OK(context, ReadDataShape(type_string(), context->input(2), &data_shape));
    OP_REQUIRES_OK(context, ReadResamplerDims(type_string(), "data_shape", data_shape, warp.shape(),
                                              &dims, &shape));
    OP_REQUIRES_OK(context, CheckResamplerGradients(type_string(), gradients.shape(), shape));
    Tensor* backprops = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, data_shape, &backprops));
    Launch(context, dims, Data(gradients), Data(warp), backprops);
  }

 protected:
  virtual void Launch(OpKernelContext* context, const ResamplerDims& dims, const void* gradients,
                      const void* warp, Tensor* backprops) = 0;

  ResamplerOrder order_;
};

class ResamplerGradOp : public TypedOp {
 public:
  using TypedOp::TypedOp;

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& data = context->input(1);
    const Tensor& warp = context->input(2);
    ResamplerDims dims;
    TensorShape shape;
    OP_REQUIRES_OK(context, ReadResamplerDims(type_string(), "data", data.shape(), warp.shape(),
                                              &dims, &shape));
    OP_REQUIRES_OK(context, CheckResamplerGradients(type_string(), gradients.shape(), shape));
    Tensor* data_backprops = nullptr;
    Tensor* warp_backprops = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, data.shape(), &data_backprops));
    OP_REQUIRES_OK(context, context->allocate_output(1, warp.shape(), &warp_backprops));
    Launch(context, dims, Data(gradients), Data(data), Data(warp), data_backprops, warp_backprops);
  }

 protected:
  virtual void Launch(OpKernelContext* context, const ResamplerDims& dims, const void* gradients,
                      const void* data, const void* warp, Tensor* data_backprops,
                      Tensor* warp_backprops) = 0;
};

// ----- CPU. -----

// The points of each image sorted by the row of their cell.
class SortedPoints {
 public:
  absl::Status Sort(OpKernelContext* context, NumericType type, const ResamplerDims& dims,
                    const void* warp) {
    // Chunks of an image are counted in parallel, and then placed in parallel.
    constexpr int64_t kSmallest = 4096;
    const int64_t wanted = 2 * Workers(context)->NumThreads();
    const int64_t chunks =
        std::clamp<int64_t>(1 + wanted / dims.images, 1, 1 + dims.points / kSmallest);
    rows_ = dims.height + 1;
    Tensor places;
    for (const auto& [tensor, size] :
         {std::pair(&places, dims.images * chunks * rows_),
          std::pair(&starts_, dims.images * (rows_ + 1)), std::pair(&sorted_, dims.all_points())}) {
      TF_RETURN_IF_ERROR(context->allocate_temp(tensorflow::DT_INT64, TensorShape({size}), tensor));
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
                      first + (chunk + 1) * dims.points / chunks, place + k * rows_);
                 }
               });
    };
    std::fill_n(place, dims.images * chunks * rows_, 0);
    for_each_chunk([&](int64_t begin, int64_t end, int64_t* counts) {
      CountRowsCpu(type, dims, warp, begin, end, counts);
    });
    // The places go row by row, and chunk by chunk within a row.
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
      SortRowsCpu(type, dims, warp, begin, end, places, sorted);
    });
    return absl::OkStatus();
  }

  const int64_t* sorted() const { return static_cast<const int64_t*>(Data(sorted_)); }
  // The starts of rows, from row -1 on, and an end.
  const int64_t* starts(int64_t image) const {
    return static_cast<const int64_t*>(Data(starts_)) + image * (rows_ + 1);
  }

 private:
  int64_t rows_ = 0;
  Tensor starts_, sorted_;
};

// The gradient with respect to data, for both gradient ops.
absl::Status AdjointCpu(OpKernelContext* context, NumericType type, const ResamplerDims& dims,
                        ResamplerOrder order, const void* gradients, const void* warp,
                        Tensor* backprops) {
  const int64_t size = backprops->NumElements();
  if (size == 0) return absl::OkStatus();
  SortedPoints points;
  TF_RETURN_IF_ERROR(points.Sort(context, type, dims, warp));
  Tensor sums;
  TF_RETURN_IF_ERROR(AllocateSums(context, type, dims.has_few_channels() ? 0 : size, &sums));
  // Each row of an image belongs to one thread, so no sum is shared.
  const int64_t cost =
      (size + dims.all_points() * (40 + 2 * dims.channels)) / (dims.images * dims.height);
  Parallel(context, dims.images * dims.height, cost, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t image = begin / dims.height;
      const int64_t row = begin % dims.height;
      const int64_t last = std::min(dims.height, row + end - begin);
      ResamplerAdjointCpu(type, dims, order, gradients, warp, points.sorted(), points.starts(image),
                          image, row, last, static_cast<float*>(Data(&sums)), Data(backprops));
      begin += last - row;
    }
  });
  return absl::OkStatus();
}

// The number of cycles to find a point's pixels.
int64_t PointCost(const ResamplerDims& dims) { return dims.has_few_channels() ? 8 : 40; }

class ResamplerCpuOp final : public ResamplerOp {
  using ResamplerOp::ResamplerOp;

  void Launch(OpKernelContext* context, const ResamplerDims& dims, const void* data,
              const void* warp, void* output) override {
    Parallel(context, dims.all_points(), PointCost(dims) + dims.channels,
             [&](int64_t begin, int64_t end) {
               ResampleCpu(type_, dims, order_, data, warp, output, begin, end);
             });
  }
};

class ResamplerAdjointCpuOp final : public ResamplerAdjointOp {
  using ResamplerAdjointOp::ResamplerAdjointOp;

  void Launch(OpKernelContext* context, const ResamplerDims& dims, const void* gradients,
              const void* warp, Tensor* backprops) override {
    OP_REQUIRES_OK(context, AdjointCpu(context, type_, dims, order_, gradients, warp, backprops));
  }
};

class ResamplerGradCpuOp final : public ResamplerGradOp {
  using ResamplerGradOp::ResamplerGradOp;

  void Launch(OpKernelContext* context, const ResamplerDims& dims, const void* gradients,
              const void* data, const void* warp, Tensor* data_backprops,
              Tensor* warp_backprops) override {
    OP_REQUIRES_OK(context,
                   AdjointCpu(context, type_, dims, {0, 0}, gradients, warp, data_backprops));
    if (warp_backprops->NumElements() == 0) return;
    Parallel(context, dims.all_points(), 2 * (PointCost(dims) + dims.channels),
             [&](int64_t begin, int64_t end) {
               ResamplerWarpGradCpu(type_, dims, gradients, data, warp, Data(warp_backprops), begin,
                                    end);
             });
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>Resampler").Device(DEVICE_CPU), ResamplerCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerDerivative").Device(DEVICE_CPU), ResamplerCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerAdjoint").Device(DEVICE_CPU), ResamplerAdjointCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerGrad").Device(DEVICE_CPU), ResamplerGradCpuOp);

// ----- GPU. -----

#if TENSORFLOW_EXT_CUDA

// Like AdjointCpu.
absl::Status AdjointGpu(OpKernelContext* context, NumericType type, const ResamplerDims& dims,
                        ResamplerOrder order, const void* gradients, const void* warp,
                        Tensor* backprops) {
  const int64_t size = backprops->NumElements();
  if (size == 0) return absl::OkStatus();
  Tensor sums;
  TF_RETURN_IF_ERROR(AllocateSums(context, type, size, &sums));
  return LaunchStatus(context->op_kernel(),
                      LaunchResamplerAdjoint(type, dims, order, tensorflow::OpDeterminismRequired(),
                                             gradients, warp, static_cast<float*>(Data(&sums)),
                                             Data(backprops), GpuStream(context)));
}

class ResamplerGpuOp final : public ResamplerOp {
  using ResamplerOp::ResamplerOp;

  void Launch(OpKernelContext* context, const ResamplerDims& dims, const void* data,
              const void* warp, void* output) override {
    const int error = LaunchResample(type_, dims, order_, data, warp, output, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

class ResamplerAdjointGpuOp final : public ResamplerAdjointOp {
  using ResamplerAdjointOp::ResamplerAdjointOp;

  void Launch(OpKernelContext* context, const ResamplerDims& dims, const void* gradients,
              const void* warp, Tensor* backprops) override {
    OP_REQUIRES_OK(context, AdjointGpu(context, type_, dims, order_, gradients, warp, backprops));
  }
};

class ResamplerGradGpuOp final : public ResamplerGradOp {
  using ResamplerGradOp::ResamplerGradOp;

  void Launch(OpKernelContext* context, const ResamplerDims& dims, const void* gradients,
              const void* data, const void* warp, Tensor* data_backprops,
              Tensor* warp_backprops) override {
    OP_REQUIRES_OK(context,
                   AdjointGpu(context, type_, dims, {0, 0}, gradients, warp, data_backprops));
    if (warp_backprops->NumElements() == 0) return;
    const int error = LaunchResamplerWarpGrad(type_, dims, gradients, data, warp,
                                              Data(warp_backprops), GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>Resampler").Device(DEVICE_GPU), ResamplerGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerDerivative").Device(DEVICE_GPU), ResamplerGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerAdjoint").Device(DEVICE_GPU).HostMemory("data_shape"),
                        ResamplerAdjointGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>ResamplerGrad").Device(DEVICE_GPU), ResamplerGradGpuOp);

#endif

}  // namespace
}  // namespace tensorflow_ext
