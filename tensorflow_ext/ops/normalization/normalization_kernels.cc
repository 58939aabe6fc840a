// Each kernel supports all types that the op's definition admits.

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/parallel.h"
#include "tensorflow_ext/kernels/tensor_type.h"
#include "tensorflow_ext/ops/normalization/normalization.h"
#include "tensorflow_ext/ops/normalization/normalization_shape.h"

#if TENSORFLOW_EXT_CUDA
#include "tensorflow_ext/kernels/gpu_stream.h"
#endif

namespace tensorflow_ext {
namespace {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

// Checks and types, and allocation: y uses the buffer of x if TensorFlow allows it. The devices
// differ in Launch.
template <typename Norm>
class RowNormalizationOp : public tensorflow::OpKernel {
 public:
  using Arguments = NormalizationArguments<Norm>;

  explicit RowNormalizationOp(tensorflow::OpKernelConstruction* context)
      : OpKernel(context),
        type_(NumericTypeOf(context->input_type(0))),
        statistics_(context->output_type(Arguments::kInverse)) {
    OP_REQUIRES_OK(context, CheckStatisticsType(context, Norm::kName));
    OP_REQUIRES_OK(context, GetNonNegativeAttr(context, Norm::kName, "epsilon", &epsilon_));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    RowDims dims;
    const auto shape = [&](int i) { return context->input(i).shape(); };
    OP_REQUIRES_OK(context, ReadNormalization<Norm>(shape, &dims));
    const tensorflow::TensorShape rows = StatisticsShape(shape(Arguments::kX));
    tensorflow::Tensor *y, *inverse;
    OP_REQUIRES_OK(context, context->forward_input_or_allocate_output(
                                {Arguments::kX}, Arguments::kY, shape(Arguments::kX), &y));
    OP_REQUIRES_OK(context, context->allocate_output(Arguments::kInverse, rows, &inverse));
    NormalizationTensors tensors{};
    if constexpr (Norm::kCentered) {
      tensorflow::Tensor* mean;
      OP_REQUIRES_OK(context, context->allocate_output(Arguments::kMean, rows, &mean));
      tensors.mean = Data(mean);
      tensors.offset = Data(context->input(Arguments::kOffset));
    }
    tensors.x = Data(context->input(Arguments::kX));
    tensors.scale = Data(context->input(Arguments::kScale));
    tensors.y = Data(y);
    tensors.inverse = Data(inverse);
    if (dims.rows > 0) Launch(context, dims, tensors);
  }

 protected:
  virtual void Launch(tensorflow::OpKernelContext* context, const RowDims& dims,
                      NormalizationTensors tensors) = 0;

  const NumericType type_;
  const tensorflow::DataType statistics_;
  float epsilon_;
};

template <typename Norm>
class RowNormalizationGradOp : public tensorflow::OpKernel {
 public:
  using Arguments = NormalizationGradArguments<Norm>;

  explicit RowNormalizationGradOp(tensorflow::OpKernelConstruction* context)
      : OpKernel(context),
        type_(NumericTypeOf(context->input_type(0))),
        statistics_(context->input_type(Arguments::kInverse)) {
    OP_REQUIRES_OK(context, CheckStatisticsType(context, Norm::kGradName));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    RowDims dims;
    const auto shape = [&](int i) { return context->input(i).shape(); };
    const auto data = [&](int i) { return Data(context->input(i)); };
    OP_REQUIRES_OK(context, ReadNormalizationGrad<Norm>(shape, &dims));
    tensorflow::Tensor *x_backprops, *scale_backprops;
    OP_REQUIRES_OK(context, context->forward_input_or_allocate_output(
                                {Arguments::kGradients}, 0, shape(Arguments::kX), &x_backprops));
    OP_REQUIRES_OK(context,
                   context->allocate_output(1, shape(Arguments::kScale), &scale_backprops));
    NormalizationGradTensors tensors{};
    if constexpr (Norm::kCentered) {
      tensorflow::Tensor* offset_backprops;
      OP_REQUIRES_OK(context,
                     context->allocate_output(2, shape(Arguments::kScale), &offset_backprops));
      tensors.offset_backprops = Data(offset_backprops);
      tensors.mean_gradients = data(Arguments::kMeanGradients);
      tensors.mean = data(Arguments::kMean);
    }
    tensors.gradients = data(Arguments::kGradients);
    tensors.inverse_gradients = data(Arguments::kInverseGradients);
    tensors.x = data(Arguments::kX);
    tensors.scale = data(Arguments::kScale);
    tensors.inverse = data(Arguments::kInverse);
    tensors.x_backprops = Data(x_backprops);
    tensors.scale_backprops = Data(scale_backprops);
    if (dims.size > 0) Launch(context, dims, tensors);
  }

 protected:
  // All pointers except partial_sums are set.
  virtual void Launch(tensorflow::OpKernelContext* context, const RowDims& dims,
                      NormalizationGradTensors tensors) = 0;

  const NumericType type_;
  const tensorflow::DataType statistics_;
};

// ----- CPU -----

// A parameter in the compute type: either itself, or converted into `wide`.
template <typename Norm>
absl::Status WidenParameter(tensorflow::OpKernelContext* context, NumericType type, int64_t size,
                            tensorflow::Tensor* wide, const void** parameter) {
  if (!IsHalfType(type)) return absl::OkStatus();
  const absl::Status status = context->allocate_temp(tensorflow::DT_FLOAT, {size}, wide);
  if (!status.ok()) return status;
  CpuRowNormalization<Norm>::Widen(type, *parameter, Data(wide), size);
  *parameter = Data(wide);
  return status;
}

template <typename Norm>
class RowNormalizationCpuOp final : public RowNormalizationOp<Norm> {
 public:
  using RowNormalizationOp<Norm>::RowNormalizationOp;

 private:
  void Launch(tensorflow::OpKernelContext* context, const RowDims& dims,
              NormalizationTensors tensors) override {
    tensorflow::Tensor scale, offset;
    OP_REQUIRES_OK(context,
                   WidenParameter<Norm>(context, this->type_, dims.size, &scale, &tensors.scale));
    if constexpr (Norm::kCentered) {
      OP_REQUIRES_OK(
          context, WidenParameter<Norm>(context, this->type_, dims.size, &offset, &tensors.offset));
    }
    // Cycles, with vectors: the passes over a row, and a fixed cost.
    Parallel(context, dims.rows, dims.size / 2 + 64, [&](int64_t begin, int64_t end) {
      CpuRowNormalization<Norm>::Forward(this->type_, dims, this->epsilon_, tensors, begin, end);
    });
  }
};

template <typename Norm>
class RowNormalizationGradCpuOp final : public RowNormalizationGradOp<Norm> {
 public:
  using RowNormalizationGradOp<Norm>::RowNormalizationGradOp;

 private:
  void Launch(tensorflow::OpKernelContext* context, const RowDims& dims,
              NormalizationGradTensors tensors) override {
    using Loops = CpuRowNormalization<Norm>;
    tensorflow::Tensor scale, sums;
    OP_REQUIRES_OK(context,
                   WidenParameter<Norm>(context, this->type_, dims.size, &scale, &tensors.scale));
    const int64_t parts = Loops::Parts(dims);
    OP_REQUIRES_OK(context, context->allocate_temp(this->statistics_,
                                                   {parts, Loops::kSums, dims.size}, &sums));
    tensors.partial_sums = Data(&sums);
    Parallel(context, parts, Loops::PartSize(dims) * (3 * dims.size + 64),
             [&](int64_t begin, int64_t end) {
               Loops::Backward(this->type_, dims, tensors, begin, end);
             });
    Parallel(context, dims.size, Loops::kSums * parts, [&](int64_t begin, int64_t end) {
      Loops::SumParts(this->type_, dims, tensors, begin, end);
    });
  }
};

REGISTER_KERNEL_BUILDER(Name(LayerNorm::kName).Device(DEVICE_CPU),
                        RowNormalizationCpuOp<LayerNorm>);
REGISTER_KERNEL_BUILDER(Name(LayerNorm::kGradName).Device(DEVICE_CPU),
                        RowNormalizationGradCpuOp<LayerNorm>);
REGISTER_KERNEL_BUILDER(Name(RmsNorm::kName).Device(DEVICE_CPU), RowNormalizationCpuOp<RmsNorm>);
REGISTER_KERNEL_BUILDER(Name(RmsNorm::kGradName).Device(DEVICE_CPU),
                        RowNormalizationGradCpuOp<RmsNorm>);

// ----- GPU -----

#if TENSORFLOW_EXT_CUDA
template <typename Norm>
class RowNormalizationGpuOp final : public RowNormalizationOp<Norm> {
 public:
  using RowNormalizationOp<Norm>::RowNormalizationOp;

 private:
  void Launch(tensorflow::OpKernelContext* context, const RowDims& dims,
              NormalizationTensors tensors) override {
    const int error = GpuRowNormalization<Norm>::Forward(this->type_, dims, this->epsilon_, tensors,
                                                         GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

template <typename Norm>
class RowNormalizationGradGpuOp final : public RowNormalizationGradOp<Norm> {
 public:
  using RowNormalizationGradOp<Norm>::RowNormalizationGradOp;

 private:
  void Launch(tensorflow::OpKernelContext* context, const RowDims& dims,
              NormalizationGradTensors tensors) override {
    using Loops = GpuRowNormalization<Norm>;
    tensorflow::Tensor sums;
    OP_REQUIRES_OK(context,
                   context->allocate_temp(this->statistics_,
                                          {Loops::Parts(dims), Loops::kSums, dims.size}, &sums));
    tensors.partial_sums = Data(&sums);
    const int error = Loops::Backward(this->type_, dims, tensors, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(Name(LayerNorm::kName).Device(DEVICE_GPU),
                        RowNormalizationGpuOp<LayerNorm>);
REGISTER_KERNEL_BUILDER(Name(LayerNorm::kGradName).Device(DEVICE_GPU),
                        RowNormalizationGradGpuOp<LayerNorm>);
REGISTER_KERNEL_BUILDER(Name(RmsNorm::kName).Device(DEVICE_GPU), RowNormalizationGpuOp<RmsNorm>);
REGISTER_KERNEL_BUILDER(Name(RmsNorm::kGradName).Device(DEVICE_GPU),
                        RowNormalizationGradGpuOp<RmsNorm>);
#endif

}  // namespace
}  // namespace tensorflow_ext
