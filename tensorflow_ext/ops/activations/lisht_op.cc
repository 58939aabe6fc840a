// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>Lisht")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
Linearly scaled hyperbolic tangent: x tanh(x), element by element.

The gradient: LishtGrad(dy, x).

After S. K. Roy, S. Manna, S. R. Dubey and B. B. Chaudhuri, "LiSHT:
Non-Parametric Linearly Scaled Hyperbolic Tangent Activation Function for Neural
Networks", CVIP 2022.

x: Tensor of any shape.
y: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>LishtGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn([](InferenceContext* c) {
      return SameShape("TfExt>LishtGrad", c);
    })
    .Doc(R"doc(
Gradient of Lisht: gradients times the derivative of Lisht at x, which is
tanh(x) + x (1 - tanh(x)^2), -1 at -infinity and 1 at infinity.

The gradient: LishtGrad(dy, x) to gradients; dy * gradients times the second
derivative of Lisht to x.

gradients: Upstream gradient of Lisht's output, of any shape.
x: What Lisht was given; the same shape.
backprops: Gradient with respect to x; the same shape.
)doc");

}  // namespace tensorflow_ext
