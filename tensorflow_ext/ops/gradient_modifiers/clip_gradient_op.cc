// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

namespace {

// Of an op with limits, all of whose inputs have one shape.
absl::Status ClippedShape(const char* op, InferenceContext* c) {
  float min, max;
  if (absl::Status s = GetRangeAttrs(c, op, &min, &max); !s.ok()) return s;
  return SameShape(op, c, c->num_inputs());
}

}  // namespace

REGISTER_OP("TfExt>ClipGradient")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("min: float")
    .Attr("max: float")
    .SetShapeFn([](InferenceContext* c) {
      return ClippedShape("TfExt>ClipGradient", c);
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
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("min: float")
    .Attr("max: float")
    .SetShapeFn([](InferenceContext* c) {
      return ClippedShape("TfExt>Clip", c);
    })
    .Doc(R"doc(
Clips to [min, max], element by element. NaN stays NaN.

The gradient: ClipGrad(dy, x), that is dy where min <= x <= max, else 0.

x: Tensor of any shape.
y: Tensor of the same shape.
min: Least value, may be -infinity. half and bfloat16 round it to their type.
max: Greatest value, >= min, may be infinity. Rounded likewise.
)doc");

REGISTER_OP("TfExt>ClipGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("min: float")
    .Attr("max: float")
    .SetShapeFn([](InferenceContext* c) {
      return ClippedShape("TfExt>ClipGrad", c);
    })
    .Doc(R"doc(
Gradient of Clip: gradients where min <= x <= max, else 0, also where x is NaN.

The gradient: the same op on dy to gradients; none to x, in which this op is
piecewise constant.

gradients: Upstream gradient of Clip's output, of any shape.
x: What Clip was given; the same shape.
backprops: Gradient with respect to x; the same shape.
min: As in Clip.
max: As in Clip.
)doc");

}  // namespace tensorflow_ext
