// The OpKernels of elementwise ops (elementwise.h), each for all types that the op's definition
// admits:
//
//   TENSORFLOW_EXT_ACTIVATIONS(REGISTER_ELEMENTWISE)
//
// If operands broadcast, broadcast_op.h is needed too. An overload of
//
//   absl::Status ReadAttributes(tensorflow::OpKernelConstruction*, Scale*);
//
// may take the place of a functor's function Read.

#pragma once

#include <type_traits>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/kernels/parallel.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/kernels/streaming_cpu.h"
#include "tensorflow_ext/kernels/tensor_type.h"

#if TENSORFLOW_EXT_CUDA
#include "tensorflow_ext/kernels/gpu_stream.h"
#endif
#if TENSORFLOW_EXT_XLA
#include "tensorflow_ext/xla/functor_lowering.h"
#endif

namespace tensorflow_ext {

template <typename Functor>
std::enable_if_t<std::is_empty_v<Functor> ||
                     kReadsAttributes<Functor, tensorflow::OpKernelConstruction>,
                 absl::Status>
ReadAttributes(tensorflow::OpKernelConstruction* context, Functor* functor) {
  return ReadMembers(context, context->def().op(), functor);
}

// broadcast_op.h
template <typename Functor>
class BroadcastCpuOp;
template <typename Functor>
class BroadcastGpuOp;

// Checks, allocation (in place where TensorFlow allows it) and dispatch by type. Devices differ
// only in Launch.
template <typename Functor>
class ElementwiseOp : public tensorflow::OpKernel {
 public:
  explicit ElementwiseOp(tensorflow::OpKernelConstruction* context)
      : OpKernel(context), type_(NumericTypeOf(context->input_type(0))) {
    OP_REQUIRES_OK(context, ReadAttributes(context, &functor_));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    const tensorflow::TensorShape& shape = context->input(0).shape();
    const void* inputs[Functor::kArity];
    for (int k = 0; k < Functor::kArity; ++k) {
      const tensorflow::Tensor& input = context->input(k);
      OP_REQUIRES_OK(context, CheckSameShape(type_string(), shape, input.shape(), k));
      inputs[k] = Data(input);
    }
    void* outputs[kOutputs<Functor>];
    for (int k = 0; k < kOutputs<Functor>; ++k) {
      tensorflow::Tensor* output = nullptr;
      OP_REQUIRES_OK(context,
                     context->forward_input_or_allocate_output(Candidates(), k, shape, &output));
      outputs[k] = Data(output);
    }
    if (shape.num_elements() == 0) return;
    Launch(context, inputs, outputs, shape.num_elements());
  }

 protected:
  virtual void Launch(tensorflow::OpKernelContext* context, const void* const* inputs,
                      void* const* outputs, int64_t size) = 0;

  const Functor& functor() const { return functor_; }
  NumericType type() const { return type_; }

 private:
  // The inputs whose buffer an output may take over.
  static absl::Span<const int> Candidates() {
    static constexpr int kInputs[] = {0, 1, 2};
    return absl::MakeConstSpan(kInputs, Functor::kArity);
  }

  const NumericType type_;
  Functor functor_{};
};

template <typename Functor>
class ElementwiseCpuOp final : public ElementwiseOp<Functor> {
 public:
  using ElementwiseOp<Functor>::ElementwiseOp;

 private:
  void Launch(tensorflow::OpKernelContext* context, const void* const* inputs, void* const* outputs,
              int64_t size) override {
    const int64_t bytes = size * kOutputs<Functor> * DataTypeSize(context->input_dtype(0));
    const bool streams = StreamsResults(inputs, Functor::kArity, outputs[0], bytes);
    Parallel(context, size, ElementCycles(this->functor()), [&](int64_t begin, int64_t end) {
      CpuElementwise<Functor>::Run(this->functor(), this->type(), inputs, outputs, begin, end,
                                   streams);
    });
  }
};

#if TENSORFLOW_EXT_CUDA
template <typename Functor>
class ElementwiseGpuOp final : public ElementwiseOp<Functor> {
 public:
  using ElementwiseOp<Functor>::ElementwiseOp;

 private:
  void Launch(tensorflow::OpKernelContext* context, const void* const* inputs, void* const* outputs,
              int64_t size) override {
    const int error = GpuElementwise<Functor>::Launch(this->functor(), this->type(), inputs,
                                                      outputs, size, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};
#endif

template <typename Functor>
using CpuKernelOf =
    std::conditional_t<kBroadcasts<Functor>, BroadcastCpuOp<Functor>, ElementwiseCpuOp<Functor>>;
#if TENSORFLOW_EXT_CUDA
template <typename Functor>
using GpuKernelOf =
    std::conditional_t<kBroadcasts<Functor>, BroadcastGpuOp<Functor>, ElementwiseGpuOp<Functor>>;
#endif

}  // namespace tensorflow_ext

// Registers an op's kernels for the CPU and, in a build with CUDA, the GPU, and its lowering. A
// build of the CPU kernels alone has no lowering.
#define REGISTER_ELEMENTWISE(op, Functor)                            \
  REGISTER_KERNEL_BUILDER(Name(op).Device(::tensorflow::DEVICE_CPU), \
                          ::tensorflow_ext::CpuKernelOf<Functor>);   \
  REGISTER_ELEMENTWISE_ON_GPU(op, Functor)                           \
  REGISTER_ELEMENTWISE_LOWERING(op, Functor)

#if TENSORFLOW_EXT_CUDA
#define REGISTER_ELEMENTWISE_ON_GPU(op, Functor)                     \
  REGISTER_KERNEL_BUILDER(Name(op).Device(::tensorflow::DEVICE_GPU), \
                          ::tensorflow_ext::GpuKernelOf<Functor>);
#else
#define REGISTER_ELEMENTWISE_ON_GPU(op, Functor)
#endif

#if TENSORFLOW_EXT_XLA
#define REGISTER_ELEMENTWISE_LOWERING(op, Functor) \
  REGISTER_LOWERING(Name(op), ::tensorflow_ext::FunctorLowering<Functor>);
#else
#define REGISTER_ELEMENTWISE_LOWERING(op, Functor)
#endif
