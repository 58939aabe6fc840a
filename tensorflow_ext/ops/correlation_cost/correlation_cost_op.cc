#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost_checks.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

// The shape of the output for `images`; `name` is the argument.
absl::Status OutputShapeOf(InferenceContext* c, const CorrelationCostAttributes& attributes,
                           const char* name, ShapeHandle images, ShapeHandle* output) {
  DimensionHandle pixels[2];
  for (int axis = 0; axis < 2; ++axis) {
    const DimensionHandle size = c->Dim(images, 1 + axis);
    pixels[axis] = c->UnknownDim();
    if (!c->ValueKnown(size)) continue;
    int64_t outputs;
    TF_RETURN_IF_ERROR(
        attributes.OutputPixels(name, c->DebugString(images), c->Value(size), &outputs));
    pixels[axis] = c->MakeDim(outputs);
  }
  const int64_t displacements = attributes.displacements();
  *output = c->MakeShape(
      {c->Dim(images, 0), pixels[0], pixels[1], c->MakeDim(displacements * displacements)});
  return CheckOutputShape(c, attributes.op, *output, kTooManyCosts);
}

absl::Status CorrelationCostShape(InferenceContext* c) {
  CorrelationCostAttributes attributes;
  TF_RETURN_IF_ERROR(attributes.Read("TfExt>CorrelationCost", c));
  ShapeHandle a, b, images, output;
  TF_RETURN_IF_ERROR(InferRank(c, attributes.op, "a", 0, 4, kImagesExpected, &a));
  TF_RETURN_IF_ERROR(InferRank(c, attributes.op, "b", 1, 4, kImagesExpected, &b));
  TF_RETURN_IF_ERROR(InferShapeOf(c, attributes.op, "b", 1, "a", a, &images));
  TF_RETURN_IF_ERROR(OutputShapeOf(c, attributes, "a", images, &output));
  c->set_output(0, output);
  return absl::OkStatus();
}

// The shape function of the gradients. `name` is the argument with the images.
absl::Status GradShape(InferenceContext* c, const char* op, const char* name) {
  CorrelationCostAttributes attributes;
  TF_RETURN_IF_ERROR(attributes.Read(op, c));
  ShapeHandle gradients, images, output;
  TF_RETURN_IF_ERROR(InferRank(c, op, "gradients", 0, 4, kCostsExpected, &gradients));
  TF_RETURN_IF_ERROR(InferRank(c, op, name, 1, 4, kImagesExpected, &images));
  TF_RETURN_IF_ERROR(OutputShapeOf(c, attributes, name, images, &output));
  TF_RETURN_IF_ERROR(
      InferShapeOf(c, op, "gradients", 0, "output of CorrelationCost", output, &gradients));
  TF_RETURN_IF_ERROR(c->ReplaceDim(images, 0, c->Dim(gradients, 0), &images));
  c->set_output(0, images);
  return absl::OkStatus();
}

// The attributes of all three ops.
#define CORRELATION_COST_ATTRS()          \
  Attr(kFloatingT)                        \
      .Attr("kernel_size: int >= 1")      \
      .Attr("max_displacement: int >= 0") \
      .Attr("stride_1: int >= 1")         \
      .Attr("stride_2: int >= 1")         \
      .Attr("pad: int >= 0")

REGISTER_OP("TfExt>CorrelationCost")
    .Input("a: T")
    .Input("b: T")
    .Output("costs: T")
    .CORRELATION_COST_ATTRS()
    .SetShapeFn(CorrelationCostShape)
    .Doc(R"doc(
Correlation of the surroundings of each pixel of one image with those of the
pixels around it in another: the matching costs of optical flow and stereo.

With r = floor(max_displacement / stride_2) there are D = 2 * r + 1
displacements (i - r) * stride_2 for i = 0, 1 ... D - 1 along each axis. Output
(y, x) stands for the pixel

    p = (y, x) * stride_1 + max_displacement + (kernel_size - 1) / 2 - pad

of a, and its channel i * D + j stands for the displacement d = (i - r, j - r) *
stride_2, rows first. It is the mean of a[p + o, c] * b[p + d + o, c] over the
kernel_size * kernel_size pixels o around 0 and over the channels c. A product
with a pixel outside its image counts as 0. The mean over no channels is 0.

The sum is in float for half and bfloat16. On the CPU its order is fixed: the
result does not depend on the number of threads or the instruction set.

The op is the correlation layer of A. Dosovitskiy et al., "FlowNet: Learning
Optical Flow with Convolutional Networks", ICCV 2015, section 3.

InvalidArgument if the shapes differ, or if the image is too small to have any
pixel p.

The gradient: CorrelationCostAGrad for a, CorrelationCostBGrad for b.

a: First images, [N, H, W, C].
b: Second images, the same shape.
costs: [N, OH, OW, D * D], OH = ceil((H + 2 * pad - 2 * max_displacement -
  (kernel_size - 1)) / stride_1), OW likewise.
kernel_size: Pixels of a window along each axis, odd.
max_displacement: Largest displacement along each axis, in pixels.
stride_1: Pixels of a between neighbouring outputs.
stride_2: Pixels between neighbouring displacements.
pad: Rows and columns of zeros that are added on each side of the images.
)doc");

REGISTER_OP("TfExt>CorrelationCostAGrad")
    .Input("gradients: T")
    .Input("b: T")
    .Output("backprops: T")
    .CORRELATION_COST_ATTRS()
    .SetShapeFn([](InferenceContext* c) { return GradShape(c, "TfExt>CorrelationCostAGrad", "b"); })
    .Doc(R"doc(
Gradient of CorrelationCost with respect to a. CorrelationCost is linear in a.

One thread sums each pixel, in the order of the displacements. The result does
not depend on the number of threads.

The gradient: with dy for backprops, CorrelationCost(dy, b) for gradients and
CorrelationCostBGrad(gradients, dy) for b.

gradients: Upstream gradient of CorrelationCost's costs, [N, OH, OW, D * D].
b: Second images, [N, H, W, C].
backprops: Gradient of a, [N, H, W, C].
kernel_size: As in CorrelationCost.
max_displacement: As in CorrelationCost.
stride_1: As in CorrelationCost.
stride_2: As in CorrelationCost.
pad: As in CorrelationCost.
)doc");

REGISTER_OP("TfExt>CorrelationCostBGrad")
    .Input("gradients: T")
    .Input("a: T")
    .Output("backprops: T")
    .CORRELATION_COST_ATTRS()
    .SetShapeFn([](InferenceContext* c) { return GradShape(c, "TfExt>CorrelationCostBGrad", "a"); })
    .Doc(R"doc(
Gradient of CorrelationCost with respect to b. CorrelationCost is linear in b.

One thread sums each pixel, in the order of the displacements. The result does
not depend on the number of threads.

The gradient: with dy for backprops, CorrelationCost(a, dy) for gradients and
CorrelationCostAGrad(gradients, dy) for a.

gradients: Upstream gradient of CorrelationCost's costs, [N, OH, OW, D * D].
a: First images, [N, H, W, C].
backprops: Gradient of b, [N, H, W, C].
kernel_size: As in CorrelationCost.
max_displacement: As in CorrelationCost.
stride_1: As in CorrelationCost.
stride_2: As in CorrelationCost.
pad: As in CorrelationCost.
)doc");

#undef CORRELATION_COST_ATTRS

}  // namespace
}  // namespace tensorflow_ext
