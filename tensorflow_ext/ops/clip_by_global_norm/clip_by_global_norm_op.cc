// SPDX-License-Identifier: Apache-2.0

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
  return InferRank(c, "TfExt>ClipByGlobalNorm", "clip_norm", count, 0, kScalar,
                   &scalar);
}

// Inputs: count gradients, the norm's gradient, count values, clip_norm.
absl::Status ClipGradShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>ClipByGlobalNormGrad";
  const int count = c->num_inputs() / 2 - 1;
  for (int i = 0; i < count; ++i) {
    ShapeHandle shape;
    if (absl::Status s = InferShapeOf(
            c, kOp, ElementName("clipped_gradients", i), i,
            ElementName("values", i), c->input(count + 1 + i), &shape);
        !s.ok()) {
      return s;
    }
    c->set_output(i, shape);
  }
  c->set_output(count, c->Scalar());
  ShapeHandle scalar;
  if (absl::Status s =
          InferRank(c, kOp, "norm_gradient", count, 0, kScalar, &scalar);
      !s.ok()) {
    return s;
  }
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

Where norm <= clip_norm, the values come out as they are. A norm that is not
finite makes all of clipped NaN, as in tf.clip_by_global_norm. Sums are in double
and no square of theirs overflows or vanishes, so that this happens only where a
value is infinite or NaN (or the norm itself leaves the range of double); a norm
that leaves the range of half is stored as infinity, and the values are scaled
right. Sums have a fixed order, for any number of threads.

The gradient: ClipByGlobalNormGrad, the exact derivative with respect to values
and clip_norm, through clipped and through norm.

A clip_norm that is negative or NaN is an InvalidArgument error; compiled by XLA,
which cannot refuse it, it makes all of clipped NaN.

values: Tensors of any shapes, at least one.
clip_norm: Scalar >= 0, in host memory on the GPU. 0 makes the values 0, infinity
  clips nothing.
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

v / n is 0 where n is 0. A norm that is not finite makes all gradients NaN.

The gradient: with respect to all inputs, the exact derivative.

clipped_gradients: Upstream gradients of clipped; the shapes of values.
norm_gradient: Upstream gradient of norm, a scalar.
values: What ClipByGlobalNorm was given.
clip_norm: Scalar >= 0, as in ClipByGlobalNorm.
value_backprops: Gradients with respect to values; the shapes of values.
clip_norm_backprop: Gradient with respect to clip_norm, a scalar.
)doc");

}  // namespace
}  // namespace tensorflow_ext
