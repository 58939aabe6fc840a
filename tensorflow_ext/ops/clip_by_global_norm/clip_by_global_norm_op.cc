#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm_checks.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

absl::Status ClipShape(InferenceContext* c) {
  const int count = c->num_inputs() - 1;
  for (int i = 0; i < count; ++i) c->set_output(i, c->input(i));
  c->set_output(count, c->Scalar());
  ShapeHandle scalar;
  return InferRank(c, "TfExt>ClipByGlobalNorm", "clip_norm", count, 0, kScalar, &scalar);
}

// Inputs: count gradients, the norm's gradient, count values, clip_norm.
absl::Status ClipGradShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>ClipByGlobalNormGrad";
  const int count = c->num_inputs() / 2 - 1;
  for (int i = 0; i < count; ++i) {
    ShapeHandle shape;
    TF_RETURN_IF_ERROR(InferShapeOf(c, kOp, ElementName("clipped_gradients", i), i,
                                    ElementName("values", i), c->input(count + 1 + i), &shape));
    c->set_output(i, shape);
  }
  c->set_output(count, c->Scalar());
  ShapeHandle scalar;
  TF_RETURN_IF_ERROR(InferRank(c, kOp, "norm_gradient", count, 0, kScalar, &scalar));
  return InferRank(c, kOp, "clip_norm", 2 * count + 1, 0, kScalar, &scalar);
}

REGISTER_OP("TfExt>ClipByGlobalNorm")
    .Input("values: N * T")
    .Input("clip_norm: T")
    .Output("clipped: N * T")
    .Output("norm: T")
    .Attr("N: int >= 1")
    .Attr(kFloatingT)
    .SetShapeFn(ClipShape)
    .Doc(R"doc(
Scales tensors down together so that the norm of all their elements is at most
clip_norm (Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent
neural networks", ICML 2013):

  norm = sqrt(sum of the squares of all values)
  clipped = values * min(1, clip_norm / norm)

Where norm <= clip_norm, the values do not change. If the norm is not finite,
all of clipped is NaN, as in tf.clip_by_global_norm. Sums are in double and no
square overflows or vanishes, so this happens only if a value is infinite or
NaN, or if the norm itself exceeds the range of double. A norm that exceeds the
range of half is stored as infinity, and the values are still scaled correctly.
Sums have a fixed order, for any number of threads.

The gradient: ClipByGlobalNormGrad, the exact derivative with respect to values
and clip_norm, through clipped and through norm.

InvalidArgument if clip_norm is negative or NaN. A program compiled by XLA
cannot refuse it; there, all of clipped is NaN.

values: Tensors of any shapes, at least one.
clip_norm: Scalar >= 0, in host memory on the GPU. 0 makes the values 0;
  infinity clips nothing.
clipped: Tensors of the shapes of values.
norm: Scalar, the norm of values.
)doc");

REGISTER_OP("TfExt>ClipByGlobalNormGrad")
    .Input("clipped_gradients: N * T")
    .Input("norm_gradient: T")
    .Input("values: N * T")
    .Input("clip_norm: T")
    .Output("value_backprops: N * T")
    .Output("clip_norm_backprop: T")
    .Attr("N: int >= 1")
    .Attr(kFloatingT)
    .SetShapeFn(ClipGradShape)
    .Doc(R"doc(
Gradient of ClipByGlobalNorm. With v the values, g the gradients of clipped, d
that of norm, c = clip_norm, n = norm and p = sum of v * g / n:

  where n > c:  c / n * g + v / n * (d - c / n * p)    and p for clip_norm
  elsewhere:    g + v / n * d                          and 0 for clip_norm

v / n is 0 where n is 0. If the norm is not finite, all gradients are NaN.

The gradient: the exact derivative, with respect to all inputs.

clipped_gradients: Upstream gradients of clipped; the shapes of values.
norm_gradient: Upstream gradient of norm, a scalar.
values: Input of ClipByGlobalNorm.
clip_norm: Scalar >= 0, as in ClipByGlobalNorm.
value_backprops: Gradients with respect to values; the shapes of values.
clip_norm_backprop: Gradient with respect to clip_norm, a scalar.
)doc");

}  // namespace
}  // namespace tensorflow_ext
