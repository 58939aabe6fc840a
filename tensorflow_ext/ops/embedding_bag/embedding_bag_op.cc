// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/ops/embedding_bag/embedding_bag_checks.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

absl::Status EmbeddingBagShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>EmbeddingBag";
  ShapeHandle indices, params;
  TF_RETURN_IF_ERROR(
      InferRank(c, kOp, "indices", 0, 2, kIndicesExpected, &indices));
  TF_RETURN_IF_ERROR(
      InferRank(c, kOp, "params", 1, 2, kParamsExpected, &params));
  TF_RETURN_IF_ERROR(
      InferShapeOf(c, kOp, "weights", 2, "indices", indices, &indices));
  const ShapeHandle output = c->Matrix(c->Dim(indices, 0), c->Dim(params, 1));
  c->set_output(0, output);
  return CheckOutputShape(c, kOp, output, kTooManyBags);
}

// gradients, indices and params, which the gradient ops begin with.
absl::Status GradShapes(InferenceContext* c, const char* op,
                        ShapeHandle* indices, ShapeHandle* params) {
  ShapeHandle gradients;
  TF_RETURN_IF_ERROR(
      InferRank(c, op, "gradients", 0, 2, kGradientsExpected, &gradients));
  TF_RETURN_IF_ERROR(
      InferRank(c, op, "indices", 1, 2, kIndicesExpected, indices));
  TF_RETURN_IF_ERROR(InferRank(c, op, "params", 2, 2, kParamsExpected, params));
  TF_RETURN_IF_ERROR(InferShapeOf(
      c, op, "gradients", 0, "output of EmbeddingBag",
      c->Matrix(c->Dim(*indices, 0), c->Dim(*params, 1)), &gradients));
  TF_RETURN_IF_ERROR(c->ReplaceDim(*indices, 0, c->Dim(gradients, 0), indices));
  return c->ReplaceDim(*params, 1, c->Dim(gradients, 1), params);
}

absl::Status ParamsGradShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>EmbeddingBagParamsGrad";
  ShapeHandle indices, params;
  TF_RETURN_IF_ERROR(GradShapes(c, kOp, &indices, &params));
  TF_RETURN_IF_ERROR(
      InferShapeOf(c, kOp, "weights", 3, "indices", indices, &indices));
  c->set_output(0, params);
  return absl::OkStatus();
}

absl::Status WeightsGradShape(InferenceContext* c) {
  ShapeHandle indices, params;
  TF_RETURN_IF_ERROR(
      GradShapes(c, "TfExt>EmbeddingBagWeightsGrad", &indices, &params));
  c->set_output(0, indices);
  return absl::OkStatus();
}

// The attributes of all three ops.
#define EMBEDDING_BAG_ATTRS()           \
  Attr(kFloatingT)                      \
      .Attr("Tindices: {int32, int64}") \
      .Attr("combiner: {'sum', 'mean'} = 'sum'")

REGISTER_OP("TfExt>EmbeddingBag")
    .Input("indices: Tindices")
    .Input("params: T")
    .Input("weights: T")
    .Output("output: T")
    .EMBEDDING_BAG_ATTRS()
    .SetShapeFn(EmbeddingBagShape)
    .Doc(R"doc(
Weighted sum of the rows of a table that each bag of indices names:

    output[b, :] = sum over l of weights[b, l] * params[indices[b, l], :]

With combiner 'mean' that is divided by L, the number of indices in a bag. A bag
of no indices gives 0. An index may occur more than once.

The gathered rows are never stored: besides its arguments and its output the op
needs no memory. The sum is in float for half and bfloat16, in the order of l.

An index outside [0, V) is an InvalidArgument error on the CPU; elsewhere it is
left out of the sum.

The gradient: EmbeddingBagParamsGrad to params, a tensor as large as params;
EmbeddingBagWeightsGrad to weights.

indices: Rows of params, [B, L].
params: Table, [V, E].
weights: Weight of each index, [B, L].
output: [B, E].
combiner: 'sum', or 'mean' to divide by L.
)doc");

REGISTER_OP("TfExt>EmbeddingBagParamsGrad")
    .Input("gradients: T")
    .Input("indices: Tindices")
    .Input("params: T")
    .Input("weights: T")
    .Output("backprops: T")
    .EMBEDDING_BAG_ATTRS()
    .SetShapeFn(ParamsGradShape)
    .Doc(R"doc(
Gradient of EmbeddingBag with respect to params: to each row is added

    weights[b, l] * gradients[b, :]

for every position (b, l) whose index names it, divided by L with combiner
'mean'.

The sum is in float for half and bfloat16. Its order is that of the positions on
the CPU, for any number of threads, and on the GPU when op determinism is on. The
memory it needs is a number for each row and a few for each position.

An index outside [0, V) is an InvalidArgument error on the CPU and is left out
elsewhere.

The gradient: with dy for backprops, EmbeddingBag(indices, dy, weights) to
gradients and EmbeddingBagWeightsGrad(gradients, indices, dy) to weights; none to
params, of which only the shape is read.

gradients: Upstream gradient of EmbeddingBag's output, [B, E].
indices: Rows of params, [B, L].
params: Table, [V, E]; its values do not matter.
weights: Weight of each index, [B, L].
backprops: Gradient of params, [V, E].
combiner: As in EmbeddingBag.
)doc");

REGISTER_OP("TfExt>EmbeddingBagWeightsGrad")
    .Input("gradients: T")
    .Input("indices: Tindices")
    .Input("params: T")
    .Output("backprops: T")
    .EMBEDDING_BAG_ATTRS()
    .SetShapeFn(WeightsGradShape)
    .Doc(R"doc(
Gradient of EmbeddingBag with respect to weights: the dot product of each bag's
gradient with the row that an index names,

    backprops[b, l] = sum over e of gradients[b, e] * params[indices[b, l], e]

divided by L with combiner 'mean'. The sum is in float for half and bfloat16.

An index outside [0, V) is an InvalidArgument error on the CPU; elsewhere it
gives 0.

The gradient: with dy for backprops, EmbeddingBag(indices, params, dy) to
gradients and EmbeddingBagParamsGrad(gradients, indices, params, dy) to params.

gradients: Upstream gradient of EmbeddingBag's output, [B, E].
indices: Rows of params, [B, L].
params: Table, [V, E].
backprops: Gradient of weights, [B, L].
combiner: As in EmbeddingBag.
)doc");

#undef EMBEDDING_BAG_ATTRS

}  // namespace
}  // namespace tensorflow_ext
