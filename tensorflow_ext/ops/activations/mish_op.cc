// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>Mish")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
Mish activation: x tanh(softplus(x)) = x tanh(log(1 + e^x)), element by element.
Infinity gives the limit: 0 at -infinity.

The gradient: MishGrad(dy, x).

After D. Misra, "Mish: A Self Regularized Non-Monotonic Activation Function",
BMVC 2020.

x: Tensor of any shape.
y: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>MishGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn([](InferenceContext* c) {
      return SameShape("TfExt>MishGrad", c);
    })
    .Doc(R"doc(
Gradient of Mish: gradients times the derivative of Mish at x, which is 0 at
-infinity and 1 at infinity.

The gradient: MishGrad(dy, x) to gradients; dy * gradients times the second
derivative of Mish to x.

gradients: Upstream gradient of Mish's output, of any shape.
x: What Mish was given; the same shape.
backprops: Gradient with respect to x; the same shape.
)doc");

}  // namespace tensorflow_ext
