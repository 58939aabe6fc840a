#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/ops/rrelu/rrelu_checks.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

namespace {

// Both ops have inputs (..., x, seed). All but the seed have one shape.
absl::Status RreluShape(const char* op, InferenceContext* c) {
  float lower, upper;
  const int seed = c->num_inputs() - 1;
  if (absl::Status s = GetSlopeBounds(c, op, &lower, &upper); !s.ok()) return s;
  if (absl::Status s = SameShape(op, c, seed); !s.ok()) return s;
  return InferSeedShape(c, op, c->output(0), seed);
}

}  // namespace

// The bounds have no defaults. The paper's upper bound is 1/3: the Python wrapper of an op would
// round it to 0.333333, and other clients would not.
#define SLOPES() \
  Attr(kFloatingT).Attr("Tseed: {int32, int64}").Attr("lower: float").Attr("upper: float")

REGISTER_OP("TfExt>Rrelu")
    .Input("x: T")
    .Input("seed: Tseed")
    .Output("y: T")
    .SLOPES()
    .SetShapeFn([](InferenceContext* c) { return RreluShape("TfExt>Rrelu", c); })
    .Doc(R"doc(
Randomized leaky rectified linear unit: x where x >= 0, else a x, where the
slope a is drawn for each element, uniformly from lower to upper.

The slopes are a function of the seed and of the element's index in x. They are
the same on every device and for any number of threads. They are the numbers of
Threefry-2x32 (J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
SC 2011): 53 bits for double, and the first 24 of these for the other types. A
seed gives the same slopes in both of its types.

If lower = upper, nothing is drawn and all slopes have that value.

NaN stays NaN. -infinity stays -infinity if its slope is positive, and gives NaN
if its slope is 0.

The gradient: RreluGrad(dy, x, seed), which draws the same slopes again; none
for seed.

InvalidArgument if lower > upper, or if one of them or their difference is not
finite.

After B. Xu et al., "Empirical Evaluation of Rectified Activations in
Convolutional Network", arXiv:1505.00853.

x: Tensor of any shape.
seed: Two integers, [2], or two for each slice of x along its first dimensions:
  with [B, 2], slice x[i] has the slopes of an Rrelu of x[i] with seed[i]. In
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
    .SetShapeFn([](InferenceContext* c) { return RreluShape("TfExt>RreluGrad", c); })
    .Doc(R"doc(
Gradient of Rrelu: gradients where x >= 0, else gradients times the slope of the
element, which is drawn again.

The gradient: RreluGrad(dy, x, seed) for gradients; none for x, because the op
is piecewise constant in it, and none for seed.

gradients: Upstream gradient of Rrelu's output, of any shape.
x: Input of Rrelu; the same shape.
seed: Input of Rrelu.
backprops: Gradient with respect to x; the same shape.
Tseed: As in Rrelu.
lower: As in Rrelu.
upper: As in Rrelu.
)doc");

namespace {

// The gradient of Rrelu by x, and of RreluGrad, which is linear, by gradients.
Value RreluGrad(Gradient& g, Value x, Value seed) {
  return g.Call("TfExt>RreluGrad", {g.Upstream(), x, seed}, g.AttrsOfOp({"lower", "upper"}));
}

void RreluGradient(Gradient& g) { g.Return({RreluGrad(g, g.Input(0), g.Input(1)), Value()}); }
REGISTER_GRADIENT("TfExt>Rrelu", RreluGradient);

// The op is piecewise constant in x.
void RreluGradGradient(Gradient& g) {
  g.Return({RreluGrad(g, g.Input(1), g.Input(2)), Value(), Value()});
}
REGISTER_GRADIENT("TfExt>RreluGrad", RreluGradGradient);

}  // namespace
}  // namespace tensorflow_ext
