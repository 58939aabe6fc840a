#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/elementwise_shape.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/ops/gradient_modifiers/gradient_modifiers.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>ReverseGradient")
    .Input("input: T")
    .Output("output: T")
    .Attr(kFloatingT)
    .Attr("scale: float = 1.0")
    .SetShapeFn([](InferenceContext* c) {
      float scale;
      c->set_output(0, c->input(0));
      return GetFiniteAttr(c, "TfExt>ReverseGradient", "scale", &scale);
    })
    .Doc(R"doc(
Identity whose gradient is reversed: the gradient reversal layer of
domain-adversarial training (Ganin and Lempitsky, 2015, arXiv:1409.7495). The
output shares the input's buffer.

The gradient: -scale * dy.

input: Tensor of any shape.
output: The same tensor.
scale: Factor of the reversed gradient, finite.
)doc");

REGISTER_OP("TfExt>ReverseGradientN")
    .Input("inputs: T")
    .Output("outputs: T")
    .Attr("T: list(type) >= 1")
    .Attr("scale: float = 1.0")
    .SetShapeFn([](InferenceContext* c) {
      float scale;
      for (int i = 0; i < c->num_inputs(); ++i) {
        c->set_output(i, c->input(i));
        if (const auto* handle = c->input_handle_shapes_and_types(i)) {
          c->set_output_handle_shapes_and_types(i, *handle);
        }
      }
      return GetFiniteAttr(c, "TfExt>ReverseGradientN", "scale", &scale);
    })
    .Doc(R"doc(
ReverseGradient of a list of tensors, which may differ in type and shape. The
outputs share the inputs' buffers.

The gradient: -scale * dy of each floating-point or complex output; none for
inputs of other types (integers, booleans, strings, resources, variants).

inputs: Tensors of any shapes and types, at least one.
outputs: The same tensors.
scale: Factor of the reversed gradients, finite.
)doc");

REGISTER_OP("TfExt>ScaleGradient")
    .Input("input: T")
    .Output("output: T")
    .Attr(kFloatingT)
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
    .Attr(kFloatingT)
    .Attr("factor: float")
    .SetShapeFn(ElementwiseShapeFn<Scale>("TfExt>Scale"))
    .Doc(R"doc(
Product factor * x with a constant. half and bfloat16 are multiplied in float
and rounded once.

The gradient: factor * dy.

x: Tensor of any shape.
y: Tensor of the same shape.
factor: The constant, finite.
)doc");

REGISTER_OP("TfExt>ClipGradient")
    .Input("input: T")
    .Output("output: T")
    .Attr(kFloatingT)
    .Attr("min: float")
    .Attr("max: float")
    .SetShapeFn([](InferenceContext* c) {
      float min, max;
      c->set_output(0, c->input(0));
      return GetRangeAttrs(c, "TfExt>ClipGradient", &min, &max);
    })
    .Doc(R"doc(
Identity whose gradient is clipped, element by element. The output shares the
input's buffer.

The gradient: dy clipped to [min, max].

input: Tensor of any shape.
output: The same tensor.
min: Least value of the gradient; may be -infinity.
max: Greatest value of the gradient, >= min; may be infinity.
)doc");

REGISTER_OP("TfExt>Clip")
    .Input("x: T")
    .Output("y: T")
    .Attr(kFloatingT)
    .Attr("min: float")
    .Attr("max: float")
    .SetShapeFn(ElementwiseShapeFn<Clip>("TfExt>Clip"))
    .Doc(R"doc(
Clips to [min, max], element by element. NaN stays NaN.

The gradient: ClipGrad(dy, x), which is dy where min <= x <= max, else 0.

x: Tensor of any shape.
y: Tensor of the same shape.
min: Least value; may be -infinity. half and bfloat16 round it to their type.
max: Greatest value, >= min; may be infinity. It is rounded in the same way.
)doc");

REGISTER_OP("TfExt>ClipGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr(kFloatingT)
    .Attr("min: float")
    .Attr("max: float")
    .SetShapeFn(ElementwiseShapeFn<ClipGrad>("TfExt>ClipGrad"))
    .Doc(R"doc(
Gradient of Clip: gradients where min <= x <= max, else 0 (also if x is NaN).

The gradient: ClipGrad(dy, x) for gradients; none for x, because the op is
piecewise constant in it.

gradients: Upstream gradient of Clip's output, of any shape.
x: Input of Clip; the same shape.
backprops: Gradient with respect to x; the same shape.
min: As in Clip.
max: As in Clip.
)doc");

REGISTER_OP("TfExt>SignStraightThrough")
    .Input("x: T")
    .Output("y: T")
    .Attr(kFloatingT)
    .Attr("clip: float = 1.0")
    .SetShapeFn(ElementwiseShapeFn<SignStraightThrough>("TfExt>SignStraightThrough"))
    .Doc(R"doc(
Sign of x (-1, 0 or 1; NaN stays NaN) with a gradient: the straight-through
estimator of binarised networks (Hubara et al., 2016, arXiv:1602.02830).

The gradient: dy where abs(x) <= clip, else 0.

x: Tensor of any shape.
y: Tensor of the same shape.
clip: Largest abs(x) with a gradient, > 0. Infinity passes all gradients, except
  where x is NaN.
)doc");

REGISTER_OP("TfExt>SignStraightThroughGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr(kFloatingT)
    .Attr("clip: float = 1.0")
    .SetShapeFn(ElementwiseShapeFn<SignStraightThroughGrad>("TfExt>SignStraightThroughGrad"))
    .Doc(R"doc(
Gradient of SignStraightThrough: gradients where abs(x) <= clip, else 0. It is 0
where x is NaN.

The gradient: the same op on dy for gradients; none for x, because the op is
piecewise constant in it.

gradients: Upstream gradient of SignStraightThrough's output, of any shape.
x: Input of SignStraightThrough; the same shape.
backprops: Gradient with respect to x; the same shape.
clip: As in SignStraightThrough, > 0.
)doc");

REGISTER_OP("TfExt>RoundStraightThrough")
    .Input("x: T")
    .Output("y: T")
    .Attr(kFloatingT)
    .SetShapeFn(ElementwiseShapeFn<RoundStraightThrough>("TfExt>RoundStraightThrough"))
    .Doc(R"doc(
Rounds to the nearest integer, ties to even, with the gradient of the identity:
the straight-through estimator (Bengio et al., 2013, arXiv:1308.3432).

The gradient: dy.

x: Tensor of any shape.
y: Tensor of the same shape. Infinities and NaN do not change.
)doc");

REGISTER_OP("TfExt>StraightThrough")
    .Input("value: T")
    .Input("surrogate: T")
    .Output("output: T")
    .Attr(kFloatingT)
    .SetShapeFn(SameShapeFn("TfExt>StraightThrough"))
    .Doc(R"doc(
Passes the value forward and the gradient to the surrogate. surrogate +
stop_gradient(value - surrogate) approximates this with a rounding error; this
op has none. The output shares the buffer of value.

The gradient: none for value, dy for surrogate.

value: Tensor of any shape.
surrogate: Differentiable stand-in for value; the same shape.
output: value, bit for bit.
)doc");

}  // namespace tensorflow_ext
