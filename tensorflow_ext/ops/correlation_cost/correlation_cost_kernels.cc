#include <algorithm>
#include <cstring>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost_checks.h"

namespace tensorflow_ext {
namespace {

// ----- Checks and allocation, for both devices. -----

class CorrelationCostOp : public TypedOp {
 public:
  explicit CorrelationCostOp(OpKernelConstruction* context) : TypedOp(context) {
    OP_REQUIRES_OK(context, attributes_.Read(type_string(), context));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& a = context->input(0);
    const Tensor& b = context->input(1);
    CorrelationCostDims dims;
    OP_REQUIRES_OK(context, attributes_.ReadImages("a", a.shape(), &dims));
    OP_REQUIRES_OK(context, CheckShapeOf(type_string(), "b", b.shape(), "a", a.shape()));
    TensorShape shape;
    OP_REQUIRES_OK(context, attributes_.OutputShape(dims, &shape));
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &output));
    if (output->NumElements() > 0) Launch(context, dims, a, b, output);
  }

 protected:
  // The output is not empty; a and b may be empty.
  virtual void Launch(OpKernelContext* context, const CorrelationCostDims& dims, const Tensor& a,
                      const Tensor& b, Tensor* output) = 0;

 private:
  CorrelationCostAttributes attributes_;
};

class CorrelationCostGradOp : public TypedOp {
 public:
  explicit CorrelationCostGradOp(OpKernelConstruction* context)
      : TypedOp(context),
        argument_(type_string() == "TfExt>CorrelationCostAGrad" ? CorrelationArgument::kA
                                                                : CorrelationArgument::kB) {
    OP_REQUIRES_OK(context, attributes_.Read(type_string(), context));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& other = context->input(1);
    const char* name = argument_ == CorrelationArgument::kA ? "b" : "a";
    CorrelationCostDims dims;
    OP_REQUIRES_OK(context, attributes_.ReadImages(name, other.shape(), &dims));
    OP_REQUIRES_OK(context, attributes_.CheckGradients(gradients.shape(), dims));
    Tensor* backprops = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, other.shape(), &backprops));
    if (backprops->NumElements() > 0) {
      Launch(context, dims, gradients, other, backprops);
    }
  }

 protected:
  // No tensor is empty.
  virtual void Launch(OpKernelContext* context, const CorrelationCostDims& dims,
                      const Tensor& gradients, const Tensor& other, Tensor* backprops) = 0;

  const CorrelationArgument argument_;

 private:
  CorrelationCostAttributes attributes_;
};

// ----- CPU. -----

tensorflow::DataType ComputeDataType(NumericType type) {
  return type == NumericType::kDouble ? tensorflow::DT_DOUBLE : tensorflow::DT_FLOAT;
}

// The images in the layout that CorrelationCostCpu takes.
absl::Status Transposed(OpKernelContext* context, NumericType type, const CorrelationCostDims& dims,
                        CorrelationArgument argument, const Tensor& images, Tensor* transposed) {
  TF_RETURN_IF_ERROR(context->allocate_temp(ComputeDataType(type),
                                            TensorShape({TransposedSize(type, dims)}), transposed));
  Parallel(context, dims.images * dims.height, dims.width * dims.channels,
           [&](int64_t begin, int64_t end) {
             TransposeRowsCpu(type, dims, argument, Data(images), Data(transposed), begin, end);
           });
  return absl::OkStatus();
}

// `pixels` of `channels` values in the compute type, each padded with zeros to `packed_channels`,
// in their own memory or in `scratch`.
absl::Status Packed(OpKernelContext* context, NumericType type, int64_t channels,
                    int64_t packed_channels, const Tensor& pixels, Tensor* scratch,
                    const void** packed) {
  *packed = Data(pixels);
  if (pixels.dtype() == ComputeDataType(type) && channels == packed_channels) {
    return absl::OkStatus();
  }
  const int64_t count = pixels.NumElements() / channels;
  TensorShape shape;
  absl::Status status = TensorShape::BuildTensorShape({count, packed_channels}, &shape);
  if (status.ok()) {
    status = context->allocate_temp(ComputeDataType(type), shape, scratch);
  }
  if (!status.ok()) return status;
  Parallel(context, count, channels + 4, [&](int64_t begin, int64_t end) {
    PackPixelsCpu(type, channels, packed_channels, Data(pixels), Data(scratch), begin, end);
  });
  *packed = Data(*scratch);
  return absl::OkStatus();
}

// Calls fn(scratch, begin, end) for parts of `rows`, in parallel. `row_cost` is the number of
// cycles per row, `size` the number of elements of scratch. Each part has its own scratch, so there
// are only a few parts per thread.
template <typename Fn>
absl::Status ForRows(OpKernelContext* context, NumericType type, int64_t rows, double row_cost,
                     int64_t size, Fn&& fn) {
  const int64_t parts = std::min<int64_t>(rows, 4 * Workers(context)->NumThreads());
  constexpr int64_t kLine = 16;  // elements: threads share no line
  const int64_t stride = (size + kLine - 1) / kLine * kLine;
  TensorShape shape;
  Tensor scratch;
  absl::Status status = TensorShape::BuildTensorShape({parts, stride}, &shape);
  if (status.ok()) {
    status = context->allocate_temp(ComputeDataType(type), shape, &scratch);
  }
  if (!status.ok()) return status;
  const int64_t bytes = stride * (type == NumericType::kDouble ? sizeof(double) : sizeof(float));
  const double cost = static_cast<double>(rows) / static_cast<double>(parts) * row_cost;
  Parallel(context, parts, static_cast<int64_t>(std::min(cost, 1e12)),
           [&](int64_t first, int64_t last) {
             for (int64_t part = first; part < last; ++part) {
               fn(static_cast<char*>(Data(&scratch)) + part * bytes, rows * part / parts,
                  rows * (part + 1) / parts);
             }
           });
  return absl::OkStatus();
}

class CorrelationCostCpuOp final : public CorrelationCostOp {
  using CorrelationCostOp::CorrelationCostOp;

  void Launch(OpKernelContext* context, const CorrelationCostDims& dims, const Tensor& a,
              const Tensor& b, Tensor* output) override {
    if (a.NumElements() == 0) {
      std::memset(Data(output), 0, output->TotalBytes());
      return;
    }
    Tensor rows_a, rows_b;
    OP_REQUIRES_OK(context, Transposed(context, type_, dims, CorrelationArgument::kA, a, &rows_a));
    OP_REQUIRES_OK(context, Transposed(context, type_, dims, CorrelationArgument::kB, b, &rows_b));
    // Each product is computed once, where windows overlap.
    const double products = static_cast<double>(dims.output_channels()) *
                            static_cast<double>(dims.width) *
                            std::min(dims.kernel_size, dims.stride_1);
    OP_REQUIRES_OK(context, ForRows(context, type_, dims.images * dims.output_height,
                                    products * (2 + static_cast<double>(dims.channels) / 16),
                                    CorrelationCostScratch(type_, dims),
                                    [&](void* scratch, int64_t begin, int64_t end) {
                                      CorrelationCostCpu(type_, dims, Data(rows_a), Data(rows_b),
                                                         Data(output), scratch, begin, end);
                                    }));
  }
};

class CorrelationCostGradCpuOp final : public CorrelationCostGradOp {
  using CorrelationCostGradOp::CorrelationCostGradOp;

  void Launch(OpKernelContext* context, const CorrelationCostDims& dims, const Tensor& gradients,
              const Tensor& other, Tensor* backprops) override {
    Tensor wide_gradients, packed_other;
    const void *gradient_values, *other_values;
    OP_REQUIRES_OK(context, Packed(context, type_, dims.output_channels(), dims.output_channels(),
                                   gradients, &wide_gradients, &gradient_values));
    OP_REQUIRES_OK(
        context, Packed(context, type_, dims.channels, PackedChannels(type_, dims.channels), other,
                        &packed_other, &other_values));
    const double products =
        static_cast<double>(dims.output_channels()) * static_cast<double>(dims.width);
    OP_REQUIRES_OK(context, ForRows(context, type_, dims.images * dims.height,
                                    products * (1 + static_cast<double>(dims.channels) / 32),
                                    CorrelationCostGradScratch(type_, dims),
                                    [&](void* scratch, int64_t begin, int64_t end) {
                                      CorrelationCostGradCpu(type_, dims, argument_,
                                                             gradient_values, other_values,
                                                             Data(backprops), scratch, begin, end);
                                    }));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>CorrelationCost").Device(DEVICE_CPU), CorrelationCostCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>CorrelationCostAGrad").Device(DEVICE_CPU),
                        CorrelationCostGradCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>CorrelationCostBGrad").Device(DEVICE_CPU),
                        CorrelationCostGradCpuOp);

// ----- GPU. -----

#if TENSORFLOW_EXT_CUDA

class CorrelationCostGpuOp final : public CorrelationCostOp {
  using CorrelationCostOp::CorrelationCostOp;

  void Launch(OpKernelContext* context, const CorrelationCostDims& dims, const Tensor& a,
              const Tensor& b, Tensor* output) override {
    const int error =
        LaunchCorrelationCost(type_, dims, Data(a), Data(b), Data(output), GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

class CorrelationCostGradGpuOp final : public CorrelationCostGradOp {
  using CorrelationCostGradOp::CorrelationCostGradOp;

  void Launch(OpKernelContext* context, const CorrelationCostDims& dims, const Tensor& gradients,
              const Tensor& other, Tensor* backprops) override {
    const int error = LaunchCorrelationCostGrad(type_, dims, argument_, Data(gradients),
                                                Data(other), Data(backprops), GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>CorrelationCost").Device(DEVICE_GPU), CorrelationCostGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>CorrelationCostAGrad").Device(DEVICE_GPU),
                        CorrelationCostGradGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>CorrelationCostBGrad").Device(DEVICE_GPU),
                        CorrelationCostGradGpuOp);

#endif

}  // namespace
}  // namespace tensorflow_ext
