// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>Gelu")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("approximate: bool = true")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
Gaussian error linear unit: x P(X <= x) for a standard normal X, element by
element. Infinity gives the limit: 0 at -infinity.

With approximate, P(X <= x) is (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2;
else it is exact, (1 + erf(x / sqrt(2))) / 2, and keeps its relative accuracy
where x is negative.

The gradient: GeluGrad(dy, x).

After D. Hendrycks and K. Gimpel, "Gaussian Error Linear
Units (GELUs)", arXiv:1606.08415.

x: Tensor of any shape.
y: Tensor of the same shape.
approximate: Whether to use the form with tanh.
)doc");

REGISTER_OP("TfExt>GeluGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("approximate: bool = true")
    .SetShapeFn([](InferenceContext* c) {
      return SameShape("TfExt>GeluGrad", c);
    })
    .Doc(R"doc(
Gradient of Gelu: gradients times the derivative of Gelu at x, which is 0 at
-infinity and 1 at infinity.

The gradient: GeluGrad(dy, x) to gradients; dy * gradients times the second
derivative of Gelu to x.

gradients: Upstream gradient of Gelu's output, of any shape.
x: What Gelu was given; the same shape.
backprops: Gradient with respect to x; the same shape.
approximate: As in Gelu.
)doc");

}  // namespace tensorflow_ext
