// Common base of the larger ops' <op>_kernels.cc. They all have the same structure: a class derived
// from TypedOp has Compute, which checks the arguments and allocates the outputs, and a virtual
// Launch. One class for the CPU and one for the GPU override Launch.
//
//   class XOp : public TypedOp {
//    public:
//     using TypedOp::TypedOp;
//     void Compute(OpKernelContext* context) override;
//
//    protected:
//     virtual void Launch(OpKernelContext* context, ...) = 0;
//   };
//
//   class XCpuOp final : public XOp { ... };  // Parallel(context, ...)
//   REGISTER_KERNEL_BUILDER(Name("TfExt>X").Device(DEVICE_CPU), XCpuOp);
//
//   #if TENSORFLOW_EXT_CUDA
//   class XGpuOp final : public XOp { ... };  // LaunchStatus(*this, LaunchX())
//   REGISTER_KERNEL_BUILDER(Name("TfExt>X").Device(DEVICE_GPU), XGpuOp);
//   #endif

#pragma once

#include <cstdint>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/kernels/parallel.h"
#include "tensorflow_ext/kernels/tensor_type.h"

#if TENSORFLOW_EXT_CUDA
#include "tensorflow_ext/kernels/gpu_stream.h"
#endif

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// An OpKernel for all types that its op's definition admits.
class TypedOp : public OpKernel {
 public:
  // type_ is the type of input `index`.
  explicit TypedOp(OpKernelConstruction* context, int index = 0)
      : OpKernel(context), type_(NumericTypeOf(context->input_type(index))) {}

 protected:
  const NumericType type_;
};

// Float sums for an output of `size` elements if its type needs them, else nothing.
inline absl::Status AllocateSums(OpKernelContext* context, NumericType type, int64_t size,
                                 Tensor* sums) {
  return context->allocate_temp(tensorflow::DT_FLOAT, TensorShape({IsHalfType(type) ? size : 0}),
                                sums);
}

}  // namespace tensorflow_ext
