// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/rows_checks.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("TfExt>Sparsemax")
    .Input("logits: T")
    .Output("y: T")
    .Attr(kFloatingT)
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle shape;
      const absl::Status status =
          InferRows(c, "TfExt>Sparsemax", "logits", 0, &shape);
      if (status.ok()) c->set_output(0, shape);
      return status;
    })
    .Doc(R"doc(
Sparsemax over the last dimension: max(logits - t, 0), where the threshold t is
such that each row sums up to 1. It is the point of the probability simplex that
is nearest to the row; unlike softmax it gives exact zeros.

The function is that of A. F. T. Martins and R. F. Astudillo, "From Softmax
to Sparsemax: A Sparse Model of Attention and Multi-Label Classification", ICML
2016, arXiv:1602.02068.

A row with NaN or infinity in it, or of -infinity alone, gives NaN throughout.
-infinity beside finite elements gives 0. half and bfloat16 are computed in float.

The gradient: SparsemaxGrad(dy, y).

InvalidArgument if logits is a scalar.

logits: [..., D].
y: The shape of logits.
)doc");

REGISTER_OP("TfExt>SparsemaxGrad")
    .Input("gradients: T")
    .Input("y: T")
    .Output("backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle shape;
      const absl::Status status =
          InferRows(c, "TfExt>SparsemaxGrad", "gradients", 0, &shape);
      return status.ok() ? SameShape("TfExt>SparsemaxGrad", c) : status;
    })
    .Doc(R"doc(
Gradient of Sparsemax: gradients less their mean over the elements of the row
where y > 0; 0 where it is not. A row of y with NaN in it gives NaN throughout.

half and bfloat16 are computed in float. The order of the sums is fixed: the same
bits for any number of threads, and every time on a GPU.

The gradient: SparsemaxGrad(dy, y) to gradients; none to y, which only says which
elements are in the support.

InvalidArgument if the shapes differ or are those of scalars.

gradients: Upstream gradient of Sparsemax's y, [..., D].
y: What Sparsemax gave; the same shape.
backprops: Gradient with respect to logits; the same shape.
)doc");

}  // namespace tensorflow_ext
