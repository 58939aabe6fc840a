// REGISTER_OP_NO_GRADIENT: an op without a gradient. Without this macro a client that asks for the
// gradient gets an error; with it the client gets none. load_op_library tells Python.

#include <cmath>
#include <cstdint>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace {

using tensorflow::Tensor;

REGISTER_OP("Forms>Largest")
    .Input("x: float")
    .Output("y: float")
    .SetShapeFn(tensorflow::shape_inference::ScalarShape)
    .Doc(R"doc(
The largest magnitude in x, or 0 if x is empty. It has no gradient.

x: Tensor of any shape.
y: Scalar.
)doc");

class LargestOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    Tensor* y;
    OP_REQUIRES_OK(context, context->allocate_output(0, {}, &y));
    float largest = 0;
    const auto x = context->input(0).flat<float>();
    for (int64_t i = 0; i < x.size(); ++i) {
      const float magnitude = std::abs(x(i));
      if (!(magnitude <= largest)) largest = magnitude;  // NaN as well
    }
    y->scalar<float>()() = largest;
  }
};

REGISTER_KERNEL_BUILDER(Name("Forms>Largest").Device(tensorflow::DEVICE_CPU), LargestOp);

REGISTER_OP_NO_GRADIENT("Forms>Largest");

}  // namespace
