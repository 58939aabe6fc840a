#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("TfExt>PruneByMagnitude")
    .Input("weights: T")
    .Input("threshold: T")
    .Output("pruned: T")
    .Attr(kFloatingT)
    .Attr("gradient: {'straight_through', 'masked'} = 'straight_through'")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle scalar;
      c->set_output(0, c->input(0));
      return InferRank(c, "TfExt>PruneByMagnitude", "threshold", 1, 0, kScalar, &scalar);
    })
    .Doc(R"doc(
Sets weights of small magnitude to zero: a weight is kept where abs(weight) >=
threshold (Han et al., "Learning both Weights and Connections for Efficient
Neural Networks", NIPS 2015). NaN stays NaN.

With the straight-through gradient, pruned weights continue to learn and may
come back. With the masked gradient they do not change.

The gradient: for 'straight_through', dy; for 'masked', dy where the weight was
kept, else 0; none for threshold.

InvalidArgument if threshold is NaN. A program compiled by XLA cannot refuse it;
there, all weights become NaN.

weights: Tensor of any shape.
threshold: Scalar, the least magnitude that is kept; in host memory on the GPU.
  0 or less keeps all weights.
pruned: Tensor of the shape of weights.
gradient: Gradient of pruned weights: 'masked' makes it 0.
)doc");

REGISTER_OP("TfExt>PruneByMagnitudeGrad")
    .Input("gradients: T")
    .Input("weights: T")
    .Input("threshold: T")
    .Output("backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn([](InferenceContext* c) {
      constexpr char kOp[] = "TfExt>PruneByMagnitudeGrad";
      ShapeHandle scalar;
      TF_RETURN_IF_ERROR(InferRank(c, kOp, "threshold", 2, 0, kScalar, &scalar));
      return SameShape(kOp, c);
    })
    .Doc(R"doc(
Masked gradient of PruneByMagnitude: gradients where the weight is kept, else 0.
A weight is kept where abs(weight) >= threshold or the weight is NaN.

The gradient: the same op on dy for gradients; none for weights and threshold,
because the op is piecewise constant in them.

gradients: Upstream gradient of PruneByMagnitude's output, of any shape.
weights: Input of PruneByMagnitude; the same shape.
threshold: Scalar, as in PruneByMagnitude.
backprops: Gradient with respect to weights; the same shape.
)doc");

namespace {

void PruneByMagnitudeGradient(Gradient& g) {
  const Value weights = g.Input(0), threshold = g.Input(1);
  const Value dy = g.Upstream();
  const bool is_masked = g.Attr<std::string>("gradient") == "masked";
  g.Return({is_masked ? Call("TfExt>PruneByMagnitudeGrad", {dy, weights, threshold})
                      : Call("Identity", {dy}),
            Value()});
}
REGISTER_GRADIENT("TfExt>PruneByMagnitude", PruneByMagnitudeGradient);

// The op is linear in the gradients and piecewise constant in the weights.
void PruneByMagnitudeGradGradient(Gradient& g) {
  const Value weights = g.Input(1), threshold = g.Input(2);
  g.Return(
      {Call("TfExt>PruneByMagnitudeGrad", {g.Upstream(), weights, threshold}), Value(), Value()});
}
REGISTER_GRADIENT("TfExt>PruneByMagnitudeGrad", PruneByMagnitudeGradGradient);

}  // namespace
}  // namespace tensorflow_ext
