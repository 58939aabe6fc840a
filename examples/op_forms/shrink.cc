// An attribute named like a Python keyword; in Python it is `lambda_`.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace {

using FDH = tensorflow::FunctionDefHelper;

REGISTER_OP("Forms>Shrink")
    .Input("x: float")
    .Output("y: float")
    .Attr("lambda: float = 0.5")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
lambda * x.

x: Tensor of any shape.
y: Tensor of the same shape.
lambda: The factor.
)doc");

class ShrinkOp : public tensorflow::OpKernel {
 public:
  explicit ShrinkOp(tensorflow::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("lambda", &lambda_));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    const tensorflow::Tensor& x = context->input(0);
    tensorflow::Tensor* y;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    y->flat<float>() = x.flat<float>() * lambda_;
  }

 private:
  float lambda_;
};

REGISTER_KERNEL_BUILDER(Name("Forms>Shrink").Device(tensorflow::DEVICE_CPU), ShrinkOp);

absl::Status ShrinkGradient(const tensorflow::AttrSlice& /*attrs*/, tensorflow::FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: float", "dy: float"},
      // Ret val defs
      {"dx: float"},
      // Attr defs
      {"lambda: float"},
      // Nodes
      {
        {{"dx"}, "Forms>Shrink", {"dy"}, {{"lambda", "$lambda"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Forms>Shrink", ShrinkGradient);

}  // namespace
