// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>SignStraightThrough")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("clip: float = 1.0")
    .SetShapeFn([](InferenceContext* c) {
      float clip;
      c->set_output(0, c->input(0));
      return GetPositiveAttr(c, "TfExt>SignStraightThrough", "clip", &clip);
    })
    .Doc(R"doc(
Sign of x (-1, 0 or 1; NaN stays NaN) with a gradient: the straight-through
estimator of binarised networks (Hubara et al., 2016, arXiv:1602.02830).

The gradient: dy where abs(x) <= clip, else 0.

x: Tensor of any shape.
y: Tensor of the same shape.
clip: Where the gradient ends, > 0. Infinity passes all of it, except where x is
  NaN.
)doc");

REGISTER_OP("TfExt>SignStraightThroughGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("clip: float = 1.0")
    .SetShapeFn([](InferenceContext* c) {
      constexpr char kOp[] = "TfExt>SignStraightThroughGrad";
      float clip;
      if (absl::Status s = GetPositiveAttr(c, kOp, "clip", &clip); !s.ok()) {
        return s;
      }
      return SameShape(kOp, c);
    })
    .Doc(R"doc(
Gradient of SignStraightThrough: gradients where abs(x) <= clip, else 0, also
where x is NaN.

The gradient: the same op on dy to gradients; none to x, in which this op is
piecewise constant.

gradients: Upstream gradient of SignStraightThrough's output, of any shape.
x: What SignStraightThrough was given; the same shape.
backprops: Gradient with respect to x; the same shape.
clip: As in SignStraightThrough, > 0.
)doc");

}  // namespace tensorflow_ext
