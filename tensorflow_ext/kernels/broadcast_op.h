// The OpKernels of broadcasting elementwise ops (broadcast.h), each for all types that the op's
// definition admits. REGISTER_ELEMENTWISE (elementwise_op.h) registers them.

#pragma once

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/broadcast_shape.h"
#include "tensorflow_ext/kernels/parallel.h"
#include "tensorflow_ext/kernels/streaming_cpu.h"
#include "tensorflow_ext/kernels/tensor_type.h"

#if TENSORFLOW_EXT_CUDA
#include "tensorflow_ext/kernels/gpu_stream.h"
#endif

namespace tensorflow_ext {

// Checks, allocation (in place where TensorFlow allows it) and dispatch by type. Devices differ
// only in Launch.
template <typename Functor>
class BroadcastOp : public tensorflow::OpKernel {
 public:
  static constexpr int kArity = Functor::kArity;

  explicit BroadcastOp(tensorflow::OpKernelConstruction* context)
      : OpKernel(context), type_(NumericTypeOf(context->input_type(0))) {}

  void Compute(tensorflow::OpKernelContext* context) override {
    const tensorflow::TensorShape& x = context->input(kArity - 2).shape();
    const tensorflow::TensorShape& y = context->input(kArity - 1).shape();
    tensorflow::TensorShape shape;
    OP_REQUIRES_OK(context, BroadcastShape(type_string(), kArity - 2, x, y, &shape));
    if constexpr (kArity == 3) {
      OP_REQUIRES_OK(context, CheckGradientShape(type_string(), context->input(0).shape(), shape));
    }
    void* outputs[kOutputs<Functor>];
    for (int k = 0; k < kOutputs<Functor>; ++k) {
      tensorflow::Tensor* output = nullptr;
      OP_REQUIRES_OK(context,
                     context->forward_input_or_allocate_output(Candidates(), k, shape, &output));
      outputs[k] = Data(output);
    }
    if (shape.num_elements() == 0) return;
    OP_REQUIRES_OK(context, CheckValues(context));
    Broadcast<kArity> broadcast;
    OP_REQUIRES_OK(context, Plan(context, shape, &broadcast));
    const void* inputs[kArity];
    for (int k = 0; k < kArity; ++k) inputs[k] = Data(context->input(k));
    Launch(context, broadcast, inputs, outputs, shape.num_elements());
  }

 protected:
  virtual void Launch(tensorflow::OpKernelContext* context, const Broadcast<kArity>& broadcast,
                      const void* const* inputs, void* const* outputs, int64_t size) = 0;

  // For a kernel that can read its inputs' values and rejects some of them.
  virtual absl::Status CheckValues(tensorflow::OpKernelContext* /*context*/) {
    return absl::OkStatus();
  }

  NumericType type() const { return type_; }

 private:
  // The inputs whose buffer an output may take over.
  static absl::Span<const int> Candidates() {
    static constexpr int kInputs[] = {0, 1, 2};
    return absl::MakeConstSpan(kInputs, kArity);
  }

  absl::Status Plan(tensorflow::OpKernelContext* context, const tensorflow::TensorShape& shape,
                    Broadcast<kArity>* broadcast) {
    absl::InlinedVector<int64_t, 4> sizes[kArity];
    DimensionList operands[kArity];
    for (int k = 0; k < kArity; ++k) {
      sizes[k] = context->input(k).shape().dim_sizes();
      operands[k] = {sizes[k].data(), static_cast<int>(sizes[k].size())};
    }
    const auto output = shape.dim_sizes();
    const DimensionList all = {output.data(), static_cast<int>(output.size())};
    // The shapes are valid, so the only other error is a pattern too complex.
    if (MakeBroadcast(operands, all, broadcast) == BroadcastResult::kOk) {
      return absl::OkStatus();
    }
    return TooManyDimensions(type_string(), kArity - 2, context->input(kArity - 2).shape(),
                             context->input(kArity - 1).shape());
  }

  const NumericType type_;
};

template <typename Functor>
class BroadcastCpuOp : public BroadcastOp<Functor> {
 public:
  using BroadcastOp<Functor>::BroadcastOp;

 private:
  void Launch(tensorflow::OpKernelContext* context, const Broadcast<Functor::kArity>& broadcast,
              const void* const* inputs, void* const* outputs, int64_t size) override {
    const int64_t bytes = size * kOutputs<Functor> * DataTypeSize(context->input_dtype(0));
    const bool streams = StreamsResults(inputs, Functor::kArity, outputs[0], bytes);
    Parallel(context, size, kBroadcastCost<Functor>, [&](int64_t begin, int64_t end) {
      CpuElementwise<Functor>::Run(this->type(), broadcast, inputs, outputs, begin, end, streams);
    });
  }
};

#if TENSORFLOW_EXT_CUDA
template <typename Functor>
class BroadcastGpuOp final : public BroadcastOp<Functor> {
 public:
  using BroadcastOp<Functor>::BroadcastOp;

 private:
  void Launch(tensorflow::OpKernelContext* context, const Broadcast<Functor::kArity>& broadcast,
              const void* const* inputs, void* const* outputs, int64_t size) override {
    const int error = GpuElementwise<Functor>::Launch(this->type(), broadcast, inputs, outputs,
                                                      size, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};
#endif

}  // namespace tensorflow_ext
