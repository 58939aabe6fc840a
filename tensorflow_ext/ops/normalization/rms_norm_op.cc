// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/ops/normalization/rms_norm.h"
#include "tensorflow_ext/ops/normalization/row_normalization_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

REGISTER_OP("TfExt>RmsNorm")
    .Input("x: T")
    .Input("scale: T")
    .Output("y: T")
    .Output("inverse_rms: U")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("U: {float, double} = DT_FLOAT")
    .Attr("epsilon: float = 1e-5")
    .SetShapeFn(NormalizationShape<RmsNorm>)
    .Doc(R"doc(
Root mean square normalization over the last dimension:
y = x * inverse_rms * scale, where inverse_rms = 1 / sqrt(mean(x^2) + epsilon).

The layer is that of B. Zhang and R. Sennrich, "Root Mean Square Layer
Normalization", NeurIPS 2019.

half and bfloat16 are computed in float. The mean over an empty row is 0. Where
mean(x^2) and epsilon are 0, inverse_rms is infinite and y NaN.

The gradient: RmsNormGrad to x and scale, through both outputs.

InvalidArgument if x is a scalar, scale is not [D], epsilon is negative, infinite
or NaN, or U does not fit T.

x: [..., D].
scale: [D].
y: The shape of x.
inverse_rms: Reciprocal of each row's root mean square, epsilon included; the
  shape of x without D.
U: Type of inverse_rms: double if T is, else float. Set it for double; for the
  other types its default is right.
epsilon: Added to the mean square; finite and >= 0.
)doc");

REGISTER_OP("TfExt>RmsNormGrad")
    .Input("gradients: T")
    .Input("inverse_rms_gradients: U")
    .Input("x: T")
    .Input("scale: T")
    .Input("inverse_rms: U")
    .Output("x_backprops: T")
    .Output("scale_backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("U: {float, double}")
    .SetShapeFn(NormalizationGradShape<RmsNorm>)
    .Doc(R"doc(
Gradient of RmsNorm through its two outputs. For each row, with
n = x * inverse_rms and g = gradients * scale,

    x_backprops = inverse_rms * (g - n * mean(g * n))
        - inverse_rms_gradients * inverse_rms^2 * n / D
    scale_backprops = sum over all rows of gradients * n

half and bfloat16 are computed in float. The order of the sums is fixed: the same
bits for any number of threads, and every time on a GPU.

The gradient: that of this formula in each of its five inputs, in TensorFlow's
own ops.

InvalidArgument if a shape is not as below, or U does not fit T.

gradients: Upstream gradient of RmsNorm's y, [..., D].
inverse_rms_gradients: That of its inverse_rms, [...].
x: What RmsNorm was given, [..., D].
scale: Likewise, [D].
inverse_rms: What RmsNorm gave, [...].
x_backprops: Gradient of x, [..., D].
scale_backprops: Gradient of scale, [D].
U: Type of the statistics: double if T is, else float.
)doc");

}  // namespace tensorflow_ext
