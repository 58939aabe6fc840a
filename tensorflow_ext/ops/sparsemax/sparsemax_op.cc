#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/formula.h"
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
      const absl::Status status = InferRows(c, "TfExt>Sparsemax", "logits", 0, &shape);
      if (status.ok()) c->set_output(0, shape);
      return status;
    })
    .Doc(R"doc(
Sparsemax over the last dimension: max(logits - t, 0), where the threshold t
makes each row sum to 1. It is the point of the probability simplex that is
nearest to the row. Unlike softmax, it gives exact zeros.

The function is that of A. F. T. Martins and R. F. Astudillo, "From Softmax
to Sparsemax: A Sparse Model of Attention and Multi-Label Classification", ICML
2016, arXiv:1602.02068.

A row with NaN or infinity, or with only -infinity, gives NaN throughout.
Otherwise -infinity gives 0. half and bfloat16 are computed in float.

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
      const absl::Status status = InferRows(c, "TfExt>SparsemaxGrad", "gradients", 0, &shape);
      return status.ok() ? SameShape("TfExt>SparsemaxGrad", c) : status;
    })
    .Doc(R"doc(
Gradient of Sparsemax: where y > 0, gradients minus their mean over the row's
elements with y > 0; elsewhere 0. A row of y with NaN gives NaN throughout.

half and bfloat16 are computed in float. The order of the sums is fixed: the
bits are the same for any number of threads, and every time on a GPU.

The gradient: SparsemaxGrad(dy, y) for gradients; none for y, which only
determines the elements in the support.

InvalidArgument if the shapes differ, or if they are scalars.

gradients: Upstream gradient of Sparsemax's y, [..., D].
y: Output of Sparsemax; the same shape.
backprops: Gradient with respect to logits; the same shape.
)doc");

namespace {

void SparsemaxGradient(Gradient& g) {
  g.Return({g.Call("TfExt>SparsemaxGrad", {g.Upstream(), g.Output()})});
}
REGISTER_GRADIENT("TfExt>Sparsemax", SparsemaxGradient);

// The gradient is linear in dy, and its matrix is symmetric, because it is a projection. y only
// determines the elements in the support.
void SparsemaxGradGradient(Gradient& g) {
  g.ReturnFirst(g.Call("TfExt>SparsemaxGrad", {g.Upstream(), g.Input(1)}));
}
REGISTER_GRADIENT("TfExt>SparsemaxGrad", SparsemaxGradGradient);

}  // namespace
}  // namespace tensorflow_ext
