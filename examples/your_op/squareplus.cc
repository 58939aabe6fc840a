// The ops and their kernels: CPU, GPU and XLA.

#include "squareplus.h"

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/type_attributes.h"

namespace your {

using tensorflow::shape_inference::InferenceContext;

// The shape function: all tensors have one shape, and b is a number > 0.
auto SquareplusShape(const char* op) {
  return [op](InferenceContext* c) {
    float b;
    const absl::Status status = tensorflow_ext::GetPositiveAttr(c, op, "b", &b);
    if (!status.ok()) return status;
    return tensorflow_ext::SameShape(op, c, c->num_inputs());
  };
}

REGISTER_OP("Your>Squareplus")
    .Input("x: T")
    .Output("y: T")
    .Attr(tensorflow_ext::kFloatingT)  // "T: {half, bfloat16, float, double}"
    .Attr("b: float = 4")
    .SetShapeFn(SquareplusShape("Your>Squareplus"))
    .Doc(R"doc(
A smooth rectifier: (x + sqrt(x^2 + b)) / 2, element by element.

x: Tensor of any shape.
y: Tensor of the same shape.
b: How wide the bend is, > 0.
)doc");

REGISTER_OP("Your>SquareplusGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr(tensorflow_ext::kFloatingT)
    .Attr("b: float = 4")
    .SetShapeFn(SquareplusShape("Your>SquareplusGrad"))
    .Doc(R"doc(
Gradient of Squareplus: gradients times its derivative at x.

gradients: Upstream gradient of Squareplus' output, of any shape.
x: The input of Squareplus; the same shape.
backprops: Gradient with respect to x; the same shape.
b: As in Squareplus.
)doc");

// Reads the attributes of a node, for a kernel or a lowering of either functor.
template <typename Functor>
absl::Status ReadAttributes(tensorflow::OpKernelConstruction* context, Functor* functor) {
  const std::string& op = context->def().op();
  return tensorflow_ext::GetPositiveAttr(context, op.c_str(), "b", &functor->b);
}

}  // namespace your

YOUR_OPS(REGISTER_ELEMENTWISE)
YOUR_OPS(INSTANTIATE_CPU_ELEMENTWISE)
