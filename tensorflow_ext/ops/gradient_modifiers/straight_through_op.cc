// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>StraightThrough")
    .Input("value: T")
    .Input("surrogate: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn([](InferenceContext* c) {
      return SameShape("TfExt>StraightThrough", c);
    })
    .Doc(R"doc(
The value forwards, the gradient to the surrogate: what surrogate +
stop_gradient(value - surrogate) approximates, without its rounding. The output
shares the buffer of value.

The gradient: none to value, dy to surrogate.

value: Tensor of any shape.
surrogate: Differentiable stand-in for value; the same shape.
output: value, bit for bit.
)doc");

}  // namespace tensorflow_ext
