// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TfExt>Relu")
    .Input("features: T")
    .Output("activations: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
Rectified linear unit: max(features, 0), element by element. NaN stays NaN.

The gradient: ReluGrad(dy, features), that is dy where features > 0, else 0.

features: Tensor of any shape.
activations: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>ReluGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .SetShapeFn([](InferenceContext* c) {
      return SameShape("TfExt>ReluGrad", c);
    })
    .Doc(R"doc(
Gradient of Relu: gradients where features > 0, else 0, also where features is
NaN.

The gradient: ReluGrad(dy, features) to gradients; none to features, in which
this op is piecewise constant.

gradients: Upstream gradient of Relu's output, of any shape.
features: What Relu was given; the same shape.
backprops: Gradient with respect to features; the same shape.
)doc");

}  // namespace tensorflow_ext
