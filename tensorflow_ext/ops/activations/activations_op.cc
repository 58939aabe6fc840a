#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/elementwise_shape.h"
#include "tensorflow_ext/ops/activations/activations.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {

// Parts that many ops below share, in the style of TensorFlow's core/ops/math_ops.cc.
#define UNARY() Input("x: T").Output("y: T").Attr(kFloatingT)
#define UNARY_GRADIENT() Input("gradients: T").Input("x: T").Output("backprops: T").Attr(kFloatingT)
#define BOUNDS() Attr("lower: float = -0.5").Attr("upper: float = 0.5")

REGISTER_OP("TfExt>Relu")
    .Input("features: T")
    .Output("activations: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<Relu>("TfExt>Relu"))
    .Doc(R"doc(
Rectified linear unit: max(features, 0), element by element. NaN stays NaN.

The gradient: ReluGrad(dy, features), which is dy where features > 0, else 0.

features: Tensor of any shape.
activations: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>ReluGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<ReluGrad>("TfExt>ReluGrad"))
    .Doc(R"doc(
Gradient of Relu: gradients where features > 0, else 0. It is 0 where features
is NaN.

The gradient: ReluGrad(dy, features) for gradients; none for features, because
the op is piecewise constant in it.

gradients: Upstream gradient of Relu's output, of any shape.
features: Input of Relu; the same shape.
backprops: Gradient with respect to features; the same shape.
)doc");

REGISTER_OP("TfExt>Gelu")
    .UNARY()
    .Attr("approximate: bool = true")
    .SetShapeFn(ElementwiseShapeFn<Gelu>("TfExt>Gelu"))
    .Doc(R"doc(
Gaussian error linear unit: x P(X <= x) for a standard normal X, element by
element. Infinity gives the limit: 0 at -infinity.

If approximate is true, P(X <= x) is
(1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. Otherwise it is exact, (1 +
erf(x / sqrt(2))) / 2, and keeps its relative accuracy where x is negative.

The gradient: GeluGrad(dy, x).

After D. Hendrycks and K. Gimpel, "Gaussian Error Linear
Units (GELUs)", arXiv:1606.08415.

x: Tensor of any shape.
y: Tensor of the same shape.
approximate: Whether to use the form with tanh.
)doc");

REGISTER_OP("TfExt>GeluGrad")
    .UNARY_GRADIENT()
    .Attr("approximate: bool = true")
    .SetShapeFn(ElementwiseShapeFn<GeluGrad>("TfExt>GeluGrad"))
    .Doc(R"doc(
Gradient of Gelu: gradients times the derivative of Gelu at x, which is 0 at
-infinity and 1 at infinity.

The gradient: GeluGrad(dy, x) for gradients; dy * gradients times the second
derivative of Gelu for x.

gradients: Upstream gradient of Gelu's output, of any shape.
x: Input of Gelu; the same shape.
backprops: Gradient with respect to x; the same shape.
approximate: As in Gelu.
)doc");

REGISTER_OP("TfExt>SwiGlu")
    .Input("gate: T")
    .Input("value: T")
    .Output("y: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<SwiGlu>("TfExt>SwiGlu"))
    .Doc(R"doc(
Linear unit gated by SiLU: gate * sigmoid(gate) * value, element by element. An
infinite gate gives the limit, which is 0 at -infinity.

The gradient: the two outputs of SwiGluGrad(dy, gate, value).

InvalidArgument if the shapes differ. The op does not broadcast.

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
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<SwiGluGrad>("TfExt>SwiGluGrad"))
    .Doc(R"doc(
Gradients of SwiGlu, both in one pass: with s = sigmoid(gate),
gradients * value * (s + gate * s * (1 - s)) and gradients * gate * s.

The gradient: complete, for all three inputs, from both upstream gradients.

gradients: Upstream gradient of SwiGlu's output, of any shape.
gate: Input of SwiGlu; the same shape.
value: Input of SwiGlu; the same shape.
gate_backprops: Gradient with respect to gate; the same shape.
value_backprops: Gradient with respect to value; the same shape.
)doc");

REGISTER_OP("TfExt>Mish").UNARY().SetShapeFn(ElementwiseShapeFn<Mish>("TfExt>Mish")).Doc(R"doc(
Mish activation: x tanh(softplus(x)) = x tanh(log(1 + e^x)), element by element.
Infinity gives the limit: 0 at -infinity.

The gradient: MishGrad(dy, x).

After D. Misra, "Mish: A Self Regularized Non-Monotonic Activation Function",
BMVC 2020.

x: Tensor of any shape.
y: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>MishGrad")
    .UNARY_GRADIENT()
    .SetShapeFn(ElementwiseShapeFn<MishGrad>("TfExt>MishGrad"))
    .Doc(R"doc(
Gradient of Mish: gradients times the derivative of Mish at x, which is 0 at
-infinity and 1 at infinity.

The gradient: MishGrad(dy, x) for gradients; dy * gradients times the second
derivative of Mish for x.

gradients: Upstream gradient of Mish's output, of any shape.
x: Input of Mish; the same shape.
backprops: Gradient with respect to x; the same shape.
)doc");

REGISTER_OP("TfExt>Lisht").UNARY().SetShapeFn(ElementwiseShapeFn<Lisht>("TfExt>Lisht")).Doc(R"doc(
Linearly scaled hyperbolic tangent: x tanh(x), element by element.

The gradient: LishtGrad(dy, x).

After S. K. Roy, S. Manna, S. R. Dubey and B. B. Chaudhuri, "LiSHT:
Non-Parametric Linearly Scaled Hyperbolic Tangent Activation Function for Neural
Networks", CVIP 2022.

x: Tensor of any shape.
y: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>LishtGrad")
    .UNARY_GRADIENT()
    .SetShapeFn(ElementwiseShapeFn<LishtGrad>("TfExt>LishtGrad"))
    .Doc(R"doc(
Gradient of Lisht: gradients times the derivative of Lisht at x, which is
tanh(x) + x (1 - tanh(x)^2), -1 at -infinity and 1 at infinity.

The gradient: LishtGrad(dy, x) for gradients; dy * gradients times the second
derivative of Lisht for x.

gradients: Upstream gradient of Lisht's output, of any shape.
x: Input of Lisht; the same shape.
backprops: Gradient with respect to x; the same shape.
)doc");

REGISTER_OP("TfExt>Tanhshrink")
    .UNARY()
    .SetShapeFn(ElementwiseShapeFn<Tanhshrink>("TfExt>Tanhshrink"))
    .Doc(R"doc(
Tanh shrinkage: x - tanh(x), element by element. It is accurate near 0 too,
where computing the difference directly leaves no correct digit.

The gradient: TanhshrinkGrad(dy, x).

After R. Collobert, K. Kavukcuoglu and C. Farabet, "Torch7: A Matlab-like
Environment for Machine Learning", BigLearn 2011: nn.TanhShrink.

x: Tensor of any shape.
y: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>TanhshrinkGrad")
    .UNARY_GRADIENT()
    .SetShapeFn(ElementwiseShapeFn<TanhshrinkGrad>("TfExt>TanhshrinkGrad"))
    .Doc(R"doc(
Gradient of Tanhshrink: gradients * tanh(x)^2.

The gradient: TanhshrinkGrad(dy, x) for gradients; dy * gradients times
2 tanh(x) (1 - tanh(x)^2) for x.

gradients: Upstream gradient of Tanhshrink's output, of any shape.
x: Input of Tanhshrink; the same shape.
backprops: Gradient with respect to x; the same shape.
)doc");

REGISTER_OP("TfExt>Hardshrink")
    .UNARY()
    .BOUNDS()
    .SetShapeFn(ElementwiseShapeFn<Hardshrink>("TfExt>Hardshrink"))
    .Doc(R"doc(
Hard shrinkage: x where x < lower or x > upper, else 0, element by element. NaN
stays NaN.

The gradient: HardshrinkGrad(dy, x), which is dy where x was kept, else 0.

InvalidArgument if lower > upper or if one of them is NaN.

After D. L. Donoho and I. M. Johnstone, "Ideal spatial adaptation by wavelet
shrinkage", Biometrika 81, 1994, with a bound for each sign.

x: Tensor of any shape.
y: Tensor of the same shape.
lower: Lower bound; may be -infinity.
upper: Upper bound, >= lower; may be infinity.
)doc");

REGISTER_OP("TfExt>HardshrinkGrad")
    .UNARY_GRADIENT()
    .BOUNDS()
    .SetShapeFn(ElementwiseShapeFn<HardshrinkGrad>("TfExt>HardshrinkGrad"))
    .Doc(R"doc(
Gradient of Hardshrink: gradients where x is outside [lower, upper] or NaN, else 0.

The gradient: HardshrinkGrad(dy, x) for gradients; none for x, because the op is
piecewise constant in it.

gradients: Upstream gradient of Hardshrink's output, of any shape.
x: Input of Hardshrink; the same shape.
backprops: Gradient with respect to x; the same shape.
lower: As in Hardshrink.
upper: As in Hardshrink.
)doc");

REGISTER_OP("TfExt>Softshrink")
    .UNARY()
    .BOUNDS()
    .SetShapeFn(ElementwiseShapeFn<Softshrink>("TfExt>Softshrink"))
    .Doc(R"doc(
Soft shrinkage: x - lower where x < lower, x - upper where x > upper, else 0,
element by element. NaN stays NaN.

The gradient: SoftshrinkGrad(dy, x), which is dy where x is outside
[lower, upper], else 0.

InvalidArgument if lower > upper or if one of them is NaN.

After D. L. Donoho and I. M. Johnstone, "Ideal spatial adaptation by wavelet
shrinkage", Biometrika 81, 1994, with a bound for each sign.

x: Tensor of any shape.
y: Tensor of the same shape.
lower: Lower bound; may be -infinity.
upper: Upper bound, >= lower; may be infinity.
)doc");

REGISTER_OP("TfExt>SoftshrinkGrad")
    .UNARY_GRADIENT()
    .BOUNDS()
    .SetShapeFn(ElementwiseShapeFn<SoftshrinkGrad>("TfExt>SoftshrinkGrad"))
    .Doc(R"doc(
Gradient of Softshrink: gradients where x is outside [lower, upper] or NaN, else 0.

The gradient: SoftshrinkGrad(dy, x) for gradients; none for x, because the op is
piecewise constant in it.

gradients: Upstream gradient of Softshrink's output, of any shape.
x: Input of Softshrink; the same shape.
backprops: Gradient with respect to x; the same shape.
lower: As in Softshrink.
upper: As in Softshrink.
)doc");

}  // namespace tensorflow_ext
