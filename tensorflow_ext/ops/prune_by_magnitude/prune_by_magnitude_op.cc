// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
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
      return InferRank(c, "TfExt>PruneByMagnitude", "threshold", 1, 0, kScalar,
                       &scalar);
    })
    .Doc(R"doc(
Sets weights of small magnitude to zero: a weight stays where
abs(weight) >= threshold (Han et al., "Learning both Weights and Connections for
Efficient Neural Networks", NIPS 2015). A NaN stays NaN.

With the straight-through gradient, pruned weights go on learning and may come
back; with the masked one they rest.

The gradient: dy for 'straight_through', dy where the weight was kept, else 0,
for 'masked'; none to threshold.

A threshold that is NaN is an InvalidArgument error; compiled by XLA, which
cannot refuse it, it makes all weights NaN.

weights: Tensor of any shape.
threshold: Scalar, the least magnitude that stays; in host memory on the GPU. 0
  or less keeps all.
pruned: Tensor of the shape of weights.
gradient: What becomes of the gradient of pruned weights.
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
      if (absl::Status s =
              InferRank(c, kOp, "threshold", 2, 0, kScalar, &scalar);
          !s.ok()) {
        return s;
      }
      return SameShape(kOp, c);
    })
    .Doc(R"doc(
Masked gradient of PruneByMagnitude: gradients where the weight is kept, that is
where abs(weight) >= threshold or the weight is NaN, else 0.

The gradient: the same op on dy to gradients; none to weights and threshold, in
which this op is piecewise constant.

gradients: Upstream gradient of PruneByMagnitude's output, of any shape.
weights: What PruneByMagnitude was given; the same shape.
threshold: Scalar, as in PruneByMagnitude.
backprops: Gradient with respect to weights; the same shape.
)doc");

}  // namespace tensorflow_ext
