// Attributes with defaults, an integer and a float: y = scale * x^exponent.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace {

using FDH = tensorflow::FunctionDefHelper;

REGISTER_OP("Forms>Power")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double}")
    .Attr("exponent: int >= 0 = 2")
    .Attr("scale: float = 1.0")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
scale * x^exponent, element by element.

x: Tensor of any shape.
y: Tensor of the same shape.
exponent: A power with a derivative everywhere.
scale: The factor of the power.
)doc");

template <typename T>
class PowerOp : public tensorflow::OpKernel {
 public:
  explicit PowerOp(tensorflow::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("exponent", &exponent_));
    OP_REQUIRES_OK(context, context->GetAttr("scale", &scale_));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    const tensorflow::Tensor& x = context->input(0);
    tensorflow::Tensor* y;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    auto result = y->flat<T>();
    auto given = x.flat<T>();
    for (int64_t i = 0; i < given.size(); ++i) {
      result(i) = T(scale_) * std::pow(given(i), T(exponent_));
    }
  }

 private:
  int64_t exponent_;
  float scale_;
};

REGISTER_KERNEL_BUILDER(
    Name("Forms>Power").Device(tensorflow::DEVICE_CPU).TypeConstraint<float>("T"), PowerOp<float>);
REGISTER_KERNEL_BUILDER(
    Name("Forms>Power").Device(tensorflow::DEVICE_CPU).TypeConstraint<double>("T"),
    PowerOp<double>);

// dx = dy * (scale * exponent) x^(exponent - 1): the op itself, with other attributes, which are
// known when the definition is made.
absl::Status PowerGradient(const tensorflow::AttrSlice& attrs, tensorflow::FunctionDef* g) {
  int64_t exponent;
  float scale;
  TF_RETURN_IF_ERROR(GetNodeAttr(attrs, "exponent", &exponent));
  TF_RETURN_IF_ERROR(GetNodeAttr(attrs, "scale", &scale));
  const int64_t lower = std::max<int64_t>(exponent - 1, 0);
  // clang-format off
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {float, double}"},
      // Nodes
      {
        {{"slope"}, "Forms>Power", {"x"},
         {{"T", "$T"}, {"exponent", lower}, {"scale", scale * exponent}}},
        {{"dx"}, "Mul", {"dy", "slope"}, {{"T", "$T"}}},
      });
  // clang-format on
  return absl::OkStatus();
}
REGISTER_OP_GRADIENT("Forms>Power", PowerGradient);

}  // namespace
