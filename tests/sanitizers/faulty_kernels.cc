// SPDX-License-Identifier: Apache-2.0
//
// Kernels with the faults that the sanitizers are there to find: a test that
// finds nothing in the others has to find these.

#include <cstdint>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/kernels/parallel.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DEVICE_CPU;
using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

REGISTER_OP("TfExtFaulty>ReadBeyond")
    .Input("x: float")
    .Output("y: float")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

class ReadBeyondOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    // From its end to beyond the allocation, which may be padded to whole 64
    // bytes: one element alone might lie in the next tensor.
    const int64_t beyond = (x.NumElements() / 16 + 1) * 16;
    float sum = 0;
    for (int64_t i = x.NumElements(); i <= beyond; ++i) {
      sum += x.flat<float>().data()[i];
    }
    y->flat<float>().setConstant(sum);
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExtFaulty>ReadBeyond").Device(DEVICE_CPU),
                        ReadBeyondOp);

REGISTER_OP("TfExtFaulty>Overflow")
    .Input("x: int32")
    .Output("y: int32")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

class OverflowOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    for (int64_t i = 0; i < x.NumElements(); ++i) {
      y->flat<int32_t>()(i) = x.flat<int32_t>()(i) + 1;
    }
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExtFaulty>Overflow").Device(DEVICE_CPU),
                        OverflowOp);

REGISTER_OP("TfExtFaulty>Race")
    .Input("x: float")
    .Output("y: float")
    .SetShapeFn(tensorflow::shape_inference::ScalarShape);

class RaceOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, {}, &y));
    const float* values = x.flat<float>().data();
    float* sum = y->scalar<float>().data();
    *sum = 0;
    Parallel(context, x.NumElements(), 1000, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) *sum += values[i];
    });
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExtFaulty>Race").Device(DEVICE_CPU), RaceOp);

}  // namespace
}  // namespace tensorflow_ext
