// HostMemory: an input that the kernel reads on the host, on every device. Here the whole kernel
// runs on the host, so it serves every device without device code.

#include <cstdint>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::Tensor;
using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("Forms>Repeat")
    .Input("x: float")
    .Input("times: int32")
    .Output("y: float")
    .SetShapeFn([](InferenceContext* c) {
      DimensionHandle times;
      TF_RETURN_IF_ERROR(c->MakeDimForScalarInput(1, &times));
      ShapeHandle y;
      TF_RETURN_IF_ERROR(c->Concatenate(c->Vector(times), c->input(0), &y));
      c->set_output(0, y);
      return absl::OkStatus();
    })
    .Doc(R"doc(
`times` copies of x along a new first dimension.

x: Tensor of any shape.
times: The number of copies, a scalar that is not negative.
y: Tensor of the shape [times, ...] of the copies.
)doc");

class RepeatOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    const Tensor& count = context->input(1);
    OP_REQUIRES(
        context, count.dims() == 0,
        absl::InvalidArgumentError(absl::StrCat(
            "Forms>Repeat: times has shape ", count.shape().DebugString(), "; expected a scalar")));
    const int32_t times = count.scalar<int32_t>()();
    OP_REQUIRES(context, times >= 0,
                absl::InvalidArgumentError(
                    absl::StrCat("Forms>Repeat: times is ", times, "; expected no less than 0")));
    tensorflow::TensorShape shape = x.shape();
    OP_REQUIRES_OK(context, shape.InsertDimWithStatus(0, times));
    Tensor* y;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &y));
    if (y->NumElements() == 0) return;
    auto rows = y->flat_outer_dims<float>();
    for (int32_t i = 0; i < times; ++i) {
      rows.chip<0>(i) = x.flat<float>();
    }
  }
};

REGISTER_KERNEL_BUILDER(Name("Forms>Repeat").Device(tensorflow::DEVICE_CPU), RepeatOp);
REGISTER_KERNEL_BUILDER(Name("Forms>Repeat")
                            .Device(tensorflow::DEVICE_DEFAULT)
                            .HostMemory("x")
                            .HostMemory("times")
                            .HostMemory("y"),
                        RepeatOp);

// dx = the sum of the copies' gradients.
absl::Status RepeatGradient(const tensorflow::AttrSlice& /*attrs*/, tensorflow::FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: float", "times: int32", "dy: float"},
      // Ret val defs
      {"dx: float", "dtimes: int32"},
      // Attr defs
      {},
      // Nodes
      {
        FDH::Const("copies", 0),
        {{"dx"}, "Sum", {"dy", "copies"},
         {{"T", tensorflow::DT_FLOAT}, {"Tidx", tensorflow::DT_INT32},
          {"keep_dims", false}}},
        {{"dtimes"}, "TfExt>NoGradient", {"times"},
         {{"T", tensorflow::DT_INT32}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Forms>Repeat", RepeatGradient);

}  // namespace
