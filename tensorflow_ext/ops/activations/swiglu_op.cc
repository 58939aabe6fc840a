// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>SwiGlu")
    .Input("gate: T")
    .Input("value: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn([](InferenceContext* c) {
      return SameShape("TfExt>SwiGlu", c);
    })
    .Doc(R"doc(
Linear unit gated by SiLU: gate * sigmoid(gate) * value, element by element. An
infinite gate gives the limit: -infinity closes it.

The gradient: the two outputs of SwiGluGrad(dy, gate, value).

InvalidArgument if the shapes differ: nothing is broadcast.

After N. Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202.

gate: Tensor of any shape.
value: Tensor of the same shape.
y: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>SwiGluGrad")
    .Input("gradients: T")
    .Input("gate: T")
    .Input("value: T")
    .Output("gate_backprops: T")
    .Output("value_backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn([](InferenceContext* c) {
      return SameShape("TfExt>SwiGluGrad", c, 3);
    })
    .Doc(R"doc(
Gradients of SwiGlu, both in one pass: with s = sigmoid(gate),
gradients * value * (s + gate * s * (1 - s)) and gradients * gate * s.

The gradient: complete, by all three inputs, from both upstream gradients.

gradients: Upstream gradient of SwiGlu's output, of any shape.
gate: What SwiGlu was given; the same shape.
value: What SwiGlu was given; the same shape.
gate_backprops: Gradient with respect to gate; the same shape.
value_backprops: Gradient with respect to value; the same shape.
)doc");

}  // namespace tensorflow_ext
