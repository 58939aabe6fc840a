// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/broadcast_shape.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

REGISTER_OP("TfExt>MultiplyLeft")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr(kFloatingT)
    .SetShapeFn(BroadcastShapeFn("TfExt>MultiplyLeft"))
    .Doc(R"doc(
Product x * y whose gradient flows to the left factor only.

half and bfloat16 are multiplied in float and rounded once.

The gradient: y * dy for x, summed to the shape of x; none for y.

x: Factor that receives the gradient, of any shape.
y: Constant factor, of a shape that broadcasts with that of x.
z: Product, of the broadcast shape.
)doc");

}  // namespace
}  // namespace tensorflow_ext
