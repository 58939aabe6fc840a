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
  TF_RETURN_IF_ERROR(InferRank(c, kOp, "indices", 0, 2, kIndicesExpected, &indices));
  TF_RETURN_IF_ERROR(InferRank(c, kOp, "params", 1, 2, kParamsExpected, &params));
  TF_RETURN_IF_ERROR(InferShapeOf(c, kOp, "weights", 2, "indices", indices, &indices));
  const ShapeHandle output = c->Matrix(c->Dim(indices, 0), c->Dim(params, 1));
  c->set_output(0, output);
  return CheckOutputShape(c, kOp, output, kTooManyBags);
}

// Checks gradients, indices and params, the first inputs of the gradient ops.
absl::Status GradShapes(InferenceContext* c, const char* op, ShapeHandle* indices,
                        ShapeHandle* params) {
  ShapeHandle gradients;
  TF_RETURN_IF_ERROR(InferRank(c, op, "gradients", 0, 2, kGradientsExpected, &gradients));
  TF_RETURN_IF_ERROR(InferRank(c, op, "indices", 1, 2, kIndicesExpected, indices));
  TF_RETURN_IF_ERROR(InferRank(c, op, "params", 2, 2, kParamsExpected, params));
  TF_RETURN_IF_ERROR(InferShapeOf(c, op, "gradients", 0, "output of EmbeddingBag",
                                  c->Matrix(c->Dim(*indices, 0), c->Dim(*params, 1)), &gradients));
  TF_RETURN_IF_ERROR(c->ReplaceDim(*indices, 0, c->Dim(gradients, 0), indices));
  return c->ReplaceDim(*params, 1, c->Dim(gradients, 1), params);
}

absl::Status ParamsGradShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>EmbeddingBagParamsGrad";
  ShapeHandle indices, params;
  TF_RETURN_IF_ERROR(GradShapes(c, kOp, &indices, &params));
  TF_RETURN_IF_ERROR(InferShapeOf(c, kOp, "weights", 3, "indices", indices, &indices));
  c->set_output(0, params);
  return absl::OkStatus();
}

absl::Status WeightsGradShape(InferenceContext* c) {
  ShapeHandle indices, params;
  TF_RETURN_IF_ERROR(GradShapes(c, "TfExt>EmbeddingBagWeightsGrad", &indices, &params));
  c->set_output(0, indices);
  return absl::OkStatus();
}

// The attributes of all three ops.
#define EMBEDDING_BAG_ATTRS() \
  Attr(kFloatingT).Attr("Tindices: {int32, int64}").Attr("combiner: {'sum', 'mean'} = 'sum'")

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

With combiner 'mean', the sum is divided by L, the number of indices in a bag. A
bag without indices gives 0. An index may occur more than once.

The op never stores the gathered rows. It needs no memory except its arguments
and its output. The sum is in float for half and bfloat16, in the order of l.

An index outside [0, V) is an InvalidArgument error on the CPU. Elsewhere it is
left out of the sum.

The gradient: EmbeddingBagParamsGrad for params, a tensor as large as params;
EmbeddingBagWeightsGrad for weights.

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
Gradient of EmbeddingBag with respect to params. Each row is the sum of

    weights[b, l] * gradients[b, :]

over all positions (b, l) whose index names it, divided by L with combiner
'mean'.

The sum is in float for half and bfloat16. It follows the order of the positions
on the CPU, for any number of threads, and on the GPU if op determinism is on.
The op needs memory for one number per row and a few numbers per position.

An index outside [0, V) is an InvalidArgument error on the CPU. Elsewhere it is
left out.

The gradient: with dy for backprops, EmbeddingBag(indices, dy, weights) for
gradients and EmbeddingBagWeightsGrad(gradients, indices, dy) for weights; none
for params, because the op reads only its shape.

gradients: Upstream gradient of EmbeddingBag's output, [B, E].
indices: Rows of params, [B, L].
params: Table, [V, E]. Only its shape matters.
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

An index outside [0, V) is an InvalidArgument error on the CPU. Elsewhere it
gives 0.

The gradient: with dy for backprops, EmbeddingBag(indices, params, dy) for
gradients and EmbeddingBagParamsGrad(gradients, indices, params, dy) for params.

gradients: Upstream gradient of EmbeddingBag's output, [B, E].
indices: Rows of params, [B, L].
params: Table, [V, E].
backprops: Gradient of weights, [B, L].
combiner: As in EmbeddingBag.
)doc");

#undef EMBEDDING_BAG_ATTRS

}  // namespace
}  // namespace tensorflow_ext
