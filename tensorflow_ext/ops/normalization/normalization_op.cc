#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/ops/normalization/normalization.h"
#include "tensorflow_ext/ops/normalization/normalization_shape.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {

REGISTER_OP("TfExt>LayerNorm")
    .Input("x: T")
    .Input("scale: T")
    .Input("offset: T")
    .Output("y: T")
    .Output("mean: U")
    .Output("inverse_stddev: U")
    .Attr(kFloatingT)
    .Attr("U: {float, double} = DT_FLOAT")
    .Attr("epsilon: float = 1e-5")
    .SetShapeFn(NormalizationShape<LayerNorm>)
    .Doc(R"doc(
Layer normalization over the last dimension:
y = (x - mean) * inverse_stddev * scale + offset, where
inverse_stddev = 1 / sqrt(variance + epsilon) and the variance is the biased one,
mean((x - mean)^2).

The layer is that of J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer
Normalization", arXiv:1607.06450.

half and bfloat16 are computed in float. The variance is computed about the mean
in a second pass, without cancellation. The mean and variance of an empty row
are 0. If variance and epsilon are 0, inverse_stddev is infinite and y is NaN.

The gradient: LayerNormGrad for x, scale and offset, through all three outputs.

InvalidArgument if x is a scalar, scale or offset is not [D], epsilon is
negative, infinite or NaN, or U does not fit T.

x: [..., D].
scale: [D].
offset: [D].
y: The shape of x.
mean: Mean of each row of x; the shape of x without D.
inverse_stddev: Reciprocal of each row's standard deviation, including epsilon;
  the shape of mean.
U: Type of the statistics: double if T is double, else float. Set it for double.
  The default is right for the other types.
epsilon: Added to the variance; finite and >= 0.
)doc");

REGISTER_OP("TfExt>LayerNormGrad")
    .Input("gradients: T")
    .Input("mean_gradients: U")
    .Input("inverse_stddev_gradients: U")
    .Input("x: T")
    .Input("scale: T")
    .Input("mean: U")
    .Input("inverse_stddev: U")
    .Output("x_backprops: T")
    .Output("scale_backprops: T")
    .Output("offset_backprops: T")
    .Attr(kFloatingT)
    .Attr("U: {float, double}")
    .SetShapeFn(NormalizationGradShape<LayerNorm>)
    .Doc(R"doc(
Gradient of LayerNorm through its three outputs. For each row, with
n = (x - mean) * inverse_stddev and g = gradients * scale,

    x_backprops = inverse_stddev * (g - mean(g) - n * mean(g * n))
        + mean_gradients / D
        - inverse_stddev_gradients * inverse_stddev^2 * n / D
    scale_backprops = sum over all rows of gradients * n
    offset_backprops = sum over all rows of gradients

half and bfloat16 are computed in float. The order of the sums is fixed: the
bits are the same for any number of threads, and every time on a GPU.

The gradient: the derivative of this formula for each of its seven inputs, in
TensorFlow's own ops.

InvalidArgument if a shape differs from those below, or U does not fit T.

gradients: Upstream gradient of LayerNorm's y, [..., D].
mean_gradients: Upstream gradient of its mean, [...].
inverse_stddev_gradients: Upstream gradient of its inverse_stddev, [...].
x: Input x of LayerNorm, [..., D].
scale: Input scale of LayerNorm, [D].
mean: LayerNorm's mean, [...].
inverse_stddev: LayerNorm's inverse_stddev, [...].
x_backprops: Gradient of x, [..., D].
scale_backprops: Gradient of scale, [D].
offset_backprops: Gradient of offset, [D].
U: Type of the statistics: double if T is double, else float.
)doc");

REGISTER_OP("TfExt>RmsNorm")
    .Input("x: T")
    .Input("scale: T")
    .Output("y: T")
    .Output("inverse_rms: U")
    .Attr(kFloatingT)
    .Attr("U: {float, double} = DT_FLOAT")
    .Attr("epsilon: float = 1e-5")
    .SetShapeFn(NormalizationShape<RmsNorm>)
    .Doc(R"doc(
Root mean square normalization over the last dimension:
y = x * inverse_rms * scale, where inverse_rms = 1 / sqrt(mean(x^2) + epsilon).

The layer is that of B. Zhang and R. Sennrich, "Root Mean Square Layer
Normalization", NeurIPS 2019.

half and bfloat16 are computed in float. The mean over an empty row is 0. If
mean(x^2) and epsilon are both 0, inverse_rms is infinite and y is NaN.

The gradient: RmsNormGrad for x and scale, through both outputs.

InvalidArgument if x is a scalar, scale is not [D], epsilon is negative, infinite
or NaN, or U does not fit T.

x: [..., D].
scale: [D].
y: The shape of x.
inverse_rms: Reciprocal of each row's root mean square, including epsilon; the
  shape of x without D.
U: Type of inverse_rms: double if T is double, else float. Set it for double.
  The default is right for the other types.
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
    .Attr(kFloatingT)
    .Attr("U: {float, double}")
    .SetShapeFn(NormalizationGradShape<RmsNorm>)
    .Doc(R"doc(
Gradient of RmsNorm through its two outputs. For each row, with
n = x * inverse_rms and g = gradients * scale,

    x_backprops = inverse_rms * (g - n * mean(g * n))
        - inverse_rms_gradients * inverse_rms^2 * n / D
    scale_backprops = sum over all rows of gradients * n

half and bfloat16 are computed in float. The order of the sums is fixed: the
bits are the same for any number of threads, and every time on a GPU.

The gradient: the derivative of this formula for each of its five inputs, in
TensorFlow's own ops.

InvalidArgument if a shape differs from those below, or U does not fit T.

gradients: Upstream gradient of RmsNorm's y, [..., D].
inverse_rms_gradients: Upstream gradient of its inverse_rms, [...].
x: Input x of RmsNorm, [..., D].
scale: Input scale of RmsNorm, [D].
inverse_rms: RmsNorm's inverse_rms, [...].
x_backprops: Gradient of x, [..., D].
scale_backprops: Gradient of scale, [D].
U: Type of the statistics: double if T is double, else float.
)doc");

}  // namespace tensorflow_ext
