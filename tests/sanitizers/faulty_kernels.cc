// Kernels with faults that the sanitizers must find. A test that reports no other kernel must
// report these.

#include <cstdint>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/parallel.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

// An op whose output has the shape of its input.
template <void (*compute)(OpKernelContext*, const Tensor& x, Tensor* y)>
class FaultyOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    compute(context, x, y);
  }
};

#define REGISTER_FAULTY_OP(name, type)                          \
  REGISTER_OP("TfExtFaulty>" #name)                             \
      .Input("x: " type)                                        \
      .Output("y: " type)                                       \
      .SetShapeFn(tensorflow::shape_inference::UnchangedShape); \
  REGISTER_KERNEL_BUILDER(Name("TfExtFaulty>" #name).Device(tensorflow::DEVICE_CPU), FaultyOp<name>)

void ReadBeyond(OpKernelContext*, const Tensor& x, Tensor* y) {
  // Reads from the end to beyond the allocation, which may be padded to whole 64 bytes: a single
  // element might be in the next tensor.
  const int64_t beyond = (x.NumElements() / 16 + 1) * 16;
  float sum = 0;
  for (int64_t i = x.NumElements(); i <= beyond; ++i) {
    sum += x.flat<float>().data()[i];
  }
  y->flat<float>().setConstant(sum);
}
REGISTER_FAULTY_OP(ReadBeyond, "float");

void Overflow(OpKernelContext*, const Tensor& x, Tensor* y) {
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    y->flat<int32_t>()(i) = x.flat<int32_t>()(i) + 1;
  }
}
REGISTER_FAULTY_OP(Overflow, "int32");

void Race(OpKernelContext* context, const Tensor& x, Tensor* y) {
  const float* values = x.flat<float>().data();
  float* sum = y->flat<float>().data();
  *sum = 0;
  Parallel(context, x.NumElements(), 1000, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) *sum += values[i];
  });
}
REGISTER_FAULTY_OP(Race, "float");

}  // namespace
}  // namespace tensorflow_ext
