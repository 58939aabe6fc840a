// Several outputs that the gradient uses. The gradient names the op as a node; if its outputs
// already exist, they replace the node.

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {

using FDH = tensorflow::FunctionDefHelper;
using tensorflow::Tensor;

REGISTER_OP("Forms>SinCos")
    .Input("x: T")
    .Output("sin: T")
    .Output("cos: T")
    .Attr("T: {float, double}")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      c->set_output(0, c->input(0));
      c->set_output(1, c->input(0));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Sine and cosine, element by element.

x: Tensor of any shape, in radians.
sin: Tensor of the same shape.
cos: Tensor of the same shape.
)doc");

template <typename T>
class SinCosOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    Tensor *sin, *cos;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &sin));
    OP_REQUIRES_OK(context, context->allocate_output(1, x.shape(), &cos));
    sin->flat<T>() = x.flat<T>().unaryExpr(Eigen::internal::scalar_sin_op<T>());
    cos->flat<T>() = x.flat<T>().unaryExpr(Eigen::internal::scalar_cos_op<T>());
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Forms>SinCos").Device(tensorflow::DEVICE_CPU).TypeConstraint<float>("T"),
    SinCosOp<float>);
REGISTER_KERNEL_BUILDER(
    Name("Forms>SinCos").Device(tensorflow::DEVICE_CPU).TypeConstraint<double>("T"),
    SinCosOp<double>);

// dx = dsin cos(x) - dcos sin(x).
absl::Status SinCosGradient(const tensorflow::AttrSlice& /*attrs*/, tensorflow::FunctionDef* g) {
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dsin: T", "dcos: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {float, double}"},
      // Nodes
      {
        {{"sin", "cos"}, "Forms>SinCos", {"x"}, {{"T", "$T"}}},
        {{"of_sin"}, "Mul", {"dsin", "cos"}, {{"T", "$T"}}},
        {{"of_cos"}, "Mul", {"dcos", "sin"}, {{"T", "$T"}}},
        {{"dx"}, "Sub", {"of_sin", "of_cos"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Forms>SinCos", SinCosGradient);

}  // namespace
