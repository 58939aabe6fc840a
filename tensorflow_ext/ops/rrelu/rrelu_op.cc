// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/ops/rrelu/rrelu_checks.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

namespace {

// Of both ops: (..., x, seed), of which all but the seed have one shape.
absl::Status RreluShape(const char* op, InferenceContext* c) {
  float lower, upper;
  const int seed = c->num_inputs() - 1;
  if (absl::Status s = GetSlopeBounds(c, op, &lower, &upper); !s.ok()) return s;
  if (absl::Status s = SameShape(op, c, seed); !s.ok()) return s;
  return InferSeedShape(c, op, c->output(0), seed);
}

}  // namespace

// The bounds have no defaults: those of the paper end in 1/3, which the Python
// wrapper of an op would round to 0.333333, and no other client would.
#define SLOPES()                     \
  Attr(kFloatingT)                   \
      .Attr("Tseed: {int32, int64}") \
      .Attr("lower: float")          \
      .Attr("upper: float")

REGISTER_OP("TfExt>Rrelu")
    .Input("x: T")
    .Input("seed: Tseed")
    .Output("y: T")
    .SLOPES()
    .SetShapeFn([](InferenceContext* c) {
      return RreluShape("TfExt>Rrelu", c);
    })
    .Doc(R"doc(
Randomized leaky rectified linear unit: x where x >= 0, else a x, with a slope a
drawn for each element, uniformly from lower to upper.

The slopes are a function of the seed and of the element's index in x, the same
on every device and for any number of threads. They are the numbers of
Threefry-2x32 (J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
SC 2011): of 53 bits for double, and of the first 24 of these for the other
types. A seed has the same slopes in both of its types.

With lower = upper nothing is drawn: all slopes are that.

NaN stays NaN, and so does -infinity where its slope is positive; where it is 0,
-infinity gives NaN.

The gradient: RreluGrad(dy, x, seed), which draws the same slopes again; none to
seed.

InvalidArgument if lower > upper, or if one of them or their difference is not
finite.

After B. Xu et al., "Empirical Evaluation of Rectified Activations in
Convolutional Network", arXiv:1505.00853.

x: Tensor of any shape.
seed: Two integers, [2], or two for each slice of x along its first dimensions:
  with [B, 2] the slice x[i] has the slopes that it has alone with seed[i]. In
  host memory on the GPU.
y: Tensor of the shape of x.
Tseed: Type of the seed.
lower: Smallest slope.
upper: Largest slope; only rounding reaches it.
)doc");

REGISTER_OP("TfExt>RreluGrad")
    .Input("gradients: T")
    .Input("x: T")
    .Input("seed: Tseed")
    .Output("backprops: T")
    .SLOPES()
    .SetShapeFn([](InferenceContext* c) {
      return RreluShape("TfExt>RreluGrad", c);
    })
    .Doc(R"doc(
Gradient of Rrelu: gradients where x >= 0, else gradients times the slope of the
element, which is drawn again.

The gradient: RreluGrad(dy, x, seed) to gradients; none to x, in which this op is
piecewise constant, and to seed.

gradients: Upstream gradient of Rrelu's output, of any shape.
x: What Rrelu was given; the same shape.
seed: What Rrelu was given.
backprops: Gradient with respect to x; the same shape.
Tseed: As in Rrelu.
lower: As in Rrelu.
upper: As in Rrelu.
)doc");

}  // namespace tensorflow_ext
