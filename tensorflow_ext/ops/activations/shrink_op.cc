// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/ops/activations/shrink_attributes.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

namespace {

// Of an op with bounds, all of whose inputs have one shape.
absl::Status BoundedShape(const char* op, InferenceContext* c) {
  float lower, upper;
  if (absl::Status s = GetBounds(c, op, &lower, &upper); !s.ok()) return s;
  return SameShape(op, c, c->num_inputs());
}

}  // namespace

REGISTER_OP("TfExt>Tanhshrink")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
Tanh shrinkage: x - tanh(x), element by element, accurate near 0 too, where the
difference of the two has no correct digit.

The gradient: TanhshrinkGrad(dy, x).

After R. Collobert, K. Kavukcuoglu and C. Farabet, "Torch7: A Matlab-like
Environment for Machine Learning", BigLearn 2011: nn.TanhShrink.

x: Tensor of any shape.
y: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>TanhshrinkGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn([](InferenceContext* c) {
      return SameShape("TfExt>TanhshrinkGrad", c);
    })
    .Doc(R"doc(
Gradient of Tanhshrink: gradients * tanh(x)^2.

The gradient: TanhshrinkGrad(dy, x) to gradients; dy * gradients times
2 tanh(x) (1 - tanh(x)^2) to x.

gradients: Upstream gradient of Tanhshrink's output, of any shape.
x: What Tanhshrink was given; the same shape.
backprops: Gradient with respect to x; the same shape.
)doc");

REGISTER_OP("TfExt>Hardshrink")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("lower: float = -0.5")
    .Attr("upper: float = 0.5")
    .SetShapeFn([](InferenceContext* c) {
      return BoundedShape("TfExt>Hardshrink", c);
    })
    .Doc(R"doc(
Hard shrinkage: x where x < lower or x > upper, else 0, element by element. NaN
stays NaN.

The gradient: HardshrinkGrad(dy, x), that is dy where x was kept, else 0.

InvalidArgument if lower > upper or if one of them is NaN.

After D. L. Donoho and I. M. Johnstone, "Ideal spatial adaptation by wavelet
shrinkage", Biometrika 81, 1994, with a bound for each sign.

x: Tensor of any shape.
y: Tensor of the same shape.
lower: Lower bound; may be -infinity.
upper: Upper bound, >= lower; may be infinity.
)doc");

REGISTER_OP("TfExt>HardshrinkGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("lower: float = -0.5")
    .Attr("upper: float = 0.5")
    .SetShapeFn([](InferenceContext* c) {
      return BoundedShape("TfExt>HardshrinkGrad", c);
    })
    .Doc(R"doc(
Gradient of Hardshrink: gradients where x is outside [lower, upper] or NaN, else 0.

The gradient: HardshrinkGrad(dy, x) to gradients; none to x, in which this op is
piecewise constant.

gradients: Upstream gradient of Hardshrink's output, of any shape.
x: What Hardshrink was given; the same shape.
backprops: Gradient with respect to x; the same shape.
lower: As in Hardshrink.
upper: As in Hardshrink.
)doc");

REGISTER_OP("TfExt>Softshrink")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("lower: float = -0.5")
    .Attr("upper: float = 0.5")
    .SetShapeFn([](InferenceContext* c) {
      return BoundedShape("TfExt>Softshrink", c);
    })
    .Doc(R"doc(
Soft shrinkage: x - lower where x < lower, x - upper where x > upper, else 0,
element by element. NaN stays NaN.

The gradient: SoftshrinkGrad(dy, x), that is dy where x is outside
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
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("lower: float = -0.5")
    .Attr("upper: float = 0.5")
    .SetShapeFn([](InferenceContext* c) {
      return BoundedShape("TfExt>SoftshrinkGrad", c);
    })
    .Doc(R"doc(
Gradient of Softshrink: gradients where x is outside [lower, upper] or NaN, else 0.

The gradient: SoftshrinkGrad(dy, x) to gradients; none to x, in which this op is
piecewise constant.

gradients: Upstream gradient of Softshrink's output, of any shape.
x: What Softshrink was given; the same shape.
backprops: Gradient with respect to x; the same shape.
lower: As in Softshrink.
upper: As in Softshrink.
)doc");

}  // namespace tensorflow_ext
