// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

REGISTER_OP("TfExt>RoundStraightThrough")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
Rounds to the nearest integer, ties to even, with the gradient of the identity:
the straight-through estimator (Bengio et al., 2013, arXiv:1308.3432).

The gradient: dy.

x: Tensor of any shape.
y: Tensor of the same shape. Infinities and NaN stay what they are.
)doc");

}  // namespace tensorflow_ext
