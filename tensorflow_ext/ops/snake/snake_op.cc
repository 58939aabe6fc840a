// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/broadcast_shape.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

REGISTER_OP("TfExt>Snake")
    .Input("x: T")
    .Input("frequency: T")
    .Output("y: T")
    .Attr(kFloatingT)
    .SetShapeFn(BroadcastShapeFn("TfExt>Snake"))
    .Doc(R"doc(
Snake activation, a line with waves on it: x + sin(f x)^2 / f, where f is the
frequency. This is x + (1 - cos(2 f x)) / (2 f), and x where f is 0.

Nothing cancels where f x is small, and any finite f x is reduced exactly. An
infinite x gives itself, unless f is 0. half and bfloat16 are computed in float.

The gradient: the two outputs of SnakeGrad(dy, x, frequency), each summed to its
input's shape. The sum for a half or bfloat16 frequency is in float.

After L. Ziyin, T. Hartwig and M. Ueda, "Neural Networks Fail to Learn Periodic
Functions and How to Fix It", arXiv:2006.08195.

x: Tensor of any shape.
frequency: Frequencies, of a shape that broadcasts with that of x: one for all,
  or one for each channel.
y: Tensor of the broadcast shape.
)doc");

REGISTER_OP("TfExt>SnakeGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Input("frequency: T")
    .Output("x_backprops: T")
    .Output("frequency_backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn(BroadcastShapeFn("TfExt>SnakeGrad"))
    .Doc(R"doc(
Gradients of Snake, both in one pass, not yet summed to its inputs' shapes.

With the frequency f they are gradients * (1 + sin(2 f x)) and
gradients * (x sin(2 f x) / f - sin(f x)^2 / f^2). Where f is 0, they are
gradients and gradients * x^2. Where f x is infinite, they are NaN.

The gradient: complete, for all three inputs, from both upstream gradients.

gradients: Upstream gradient, of the shape that x and frequency broadcast to.
x: Input of Snake.
frequency: Input of Snake.
x_backprops: Gradient with respect to x; the shape of gradients.
frequency_backprops: Gradient with respect to frequency; the shape of gradients.
)doc");

}  // namespace
}  // namespace tensorflow_ext
