// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>ScaleGradient")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("scale: float")
    .SetShapeFn([](InferenceContext* c) {
      float scale;
      c->set_output(0, c->input(0));
      return GetFiniteAttr(c, "TfExt>ScaleGradient", "scale", &scale);
    })
    .Doc(R"doc(
Identity whose gradient is scaled. The output shares the input's buffer.

The gradient: scale * dy.

input: Tensor of any shape.
output: The same tensor.
scale: Factor of the gradient, finite.
)doc");

REGISTER_OP("TfExt>Scale")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("factor: float")
    .SetShapeFn([](InferenceContext* c) {
      float factor;
      c->set_output(0, c->input(0));
      return GetFiniteAttr(c, "TfExt>Scale", "factor", &factor);
    })
    .Doc(R"doc(
Product factor * x with a constant. half and bfloat16 are multiplied in float
and rounded once.

The gradient: factor * dy.

x: Tensor of any shape.
y: Tensor of the same shape.
factor: The constant, finite.
)doc");

}  // namespace tensorflow_ext
