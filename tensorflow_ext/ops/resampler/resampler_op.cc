#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/images_checks.h"
#include "tensorflow_ext/ops/resampler/resampler_checks.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

// The shape of warp, which is input `index`, for images of shape `data`, and the shape of the
// output.
absl::Status InferPoints(InferenceContext* c, const char* op, ShapeHandle data, int index,
                         ShapeHandle* warp, ShapeHandle* output) {
  tensorflow::shape_inference::DimensionHandle images, two;
  ShapeHandle points;
  if (!c->WithRankAtLeast(c->input(index), 2, warp).ok() ||
      !c->Merge(c->Dim(*warp, 0), c->Dim(data, 0), &images).ok() ||
      !c->WithValue(c->Dim(*warp, -1), 2, &two).ok()) {
    return ShapeError(op, "warp", c->DebugString(c->input(index)),
                      absl::StrCat(kWarpExpected, ", data of shape ", c->DebugString(data)));
  }
  TF_RETURN_IF_ERROR(c->Subshape(*warp, 0, -1, &points));
  TF_RETURN_IF_ERROR(c->Concatenate(points, c->Vector(c->Dim(data, 3)), output));
  return CheckOutputShape(c, op, *output, kTooManyPoints);
}

absl::Status ResamplerShape(InferenceContext* c) {
  ShapeHandle data, warp, output;
  TF_RETURN_IF_ERROR(InferRank(c, "TfExt>Resampler", "data", 0, 4, kImagesExpected, &data));
  TF_RETURN_IF_ERROR(InferPoints(c, "TfExt>Resampler", data, 1, &warp, &output));
  c->set_output(0, output);
  return absl::OkStatus();
}

absl::Status ResamplerGradShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>ResamplerGrad";
  ShapeHandle gradients, data, warp, output;
  TF_RETURN_IF_ERROR(InferRank(c, kOp, "data", 1, 4, kImagesExpected, &data));
  TF_RETURN_IF_ERROR(InferPoints(c, kOp, data, 2, &warp, &output));
  TF_RETURN_IF_ERROR(
      InferShapeOf(c, kOp, "gradients", 0, "Resampler's output", output, &gradients));
  c->set_output(0, data);
  c->set_output(1, warp);
  return absl::OkStatus();
}

absl::Status ResamplerDerivativeShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>ResamplerDerivative";
  ResamplerOrder order;
  ShapeHandle data, warp, output;
  TF_RETURN_IF_ERROR(ReadOrder(c, kOp, &order));
  TF_RETURN_IF_ERROR(InferRank(c, kOp, "data", 0, 4, kImagesExpected, &data));
  TF_RETURN_IF_ERROR(InferPoints(c, kOp, data, 1, &warp, &output));
  c->set_output(0, output);
  return absl::OkStatus();
}

absl::Status ResamplerAdjointShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>ResamplerAdjoint";
  ResamplerOrder order;
  ShapeHandle gradients, data, warp, output;
  TF_RETURN_IF_ERROR(ReadOrder(c, kOp, &order));
  TF_RETURN_IF_ERROR(InferDataShape(c, kOp, 2, &data));
  TF_RETURN_IF_ERROR(InferPoints(c, kOp, data, 1, &warp, &output));
  TF_RETURN_IF_ERROR(
      InferShapeOf(c, kOp, "gradients", 0, "Resampler's output", output, &gradients));
  TF_RETURN_IF_ERROR(MergeChannels(c, gradients, &data));
  c->set_output(0, data);
  return absl::OkStatus();
}

// The attributes of ResamplerDerivative and ResamplerAdjoint.
#define ORDER_ATTRS() Attr(kFloatingT).Attr("x_order: int >= 0 = 0").Attr("y_order: int >= 0 = 0")

REGISTER_OP("TfExt>Resampler")
    .Input("data: T")
    .Input("warp: T")
    .Output("output: T")
    .Attr(kFloatingT)
    .SetShapeFn(ResamplerShape)
    .Doc(R"doc(
Samples images at given points by bilinear interpolation, per channel.

The value at (x, y) is interpolated between the four pixels around it. Pixels
outside the image count as 0, so the value falls to 0 within one pixel of the
edge. It is 0 at a point outside (-1, W) x (-1, H) or with a coordinate that is
NaN. A pixel of weight 0 is not read. half and bfloat16 are computed in float.

The sampler is that of M. Jaderberg et al., "Spatial Transformer Networks",
NeurIPS 2015, section 3.3, and of TensorFlow Addons' resampler.

The gradient: ResamplerGrad for both inputs. Where a coordinate is a whole
number, its derivative has a jump and takes the value from the right.

data: Images, [N, H, W, C]; H and W below 2^31.
warp: Points (x, y) in pixels, [N, ..., 2].
output: [N, ..., C].
)doc");

REGISTER_OP("TfExt>ResamplerGrad")
    .Input("gradients: T")
    .Input("data: T")
    .Input("warp: T")
    .Output("data_backprops: T")
    .Output("warp_backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn(ResamplerGradShape)
    .Doc(R"doc(
Gradients of Resampler with respect to data and warp.

half and bfloat16 are summed in float. The order of the sums is fixed on the
CPU, for any number of threads, and on the GPU if op determinism is on.

The gradient: through ResamplerDerivative and ResamplerAdjoint, for all inputs.

gradients: Upstream gradient of Resampler's output, [N, ..., C].
data: Images, [N, H, W, C].
warp: Points (x, y) in pixels, [N, ..., 2].
data_backprops: Gradient of data, [N, H, W, C].
warp_backprops: Gradient of warp, [N, ..., 2].
)doc");

REGISTER_OP("TfExt>ResamplerDerivative")
    .Input("data: T")
    .Input("warp: T")
    .Output("output: T")
    .ORDER_ATTRS()
    .SetShapeFn(ResamplerDerivativeShape)
    .Doc(R"doc(
A derivative of Resampler's output by the coordinates of its points.

It is linear in data and, within a cell of the pixel grid, in each coordinate.
At a cell's edge it takes the value from the right. It is 0 where Resampler is.

The gradient: ResamplerAdjoint for data; for warp, sums over the channels of the
upstream gradient times derivatives of the next order.

data: Images, [N, H, W, C]; H and W below 2^31.
warp: Points (x, y) in pixels, [N, ..., 2].
output: [N, ..., C].
x_order: Order of the derivative by x, 0 or 1.
y_order: Order of the derivative by y, 0 or 1.
)doc");

REGISTER_OP("TfExt>ResamplerAdjoint")
    .Input("gradients: T")
    .Input("warp: T")
    .Input("data_shape: int32")
    .Output("backprops: T")
    .ORDER_ATTRS()
    .SetShapeFn(ResamplerAdjointShape)
    .Doc(R"doc(
Gradient of ResamplerDerivative with respect to its data: each point's gradient
goes to the pixels around it, times their weights in that derivative.

half and bfloat16 are summed in float. The order of the sum is fixed on the CPU,
for any number of threads, and on the GPU if op determinism is on.

The gradient: ResamplerDerivative of the upstream gradient for gradients; for
warp, sums over the channels of gradients times ResamplerDerivative of the
upstream gradient at the next order; none for data_shape.

gradients: Upstream gradient of ResamplerDerivative's output, [N, ..., C].
warp: Points (x, y) in pixels, [N, ..., 2].
data_shape: Shape of ResamplerDerivative's data, [4]: N, H, W, C.
backprops: Gradient of data, [N, H, W, C].
x_order: As in ResamplerDerivative.
y_order: As in ResamplerDerivative.
)doc");

#undef ORDER_ATTRS

}  // namespace
}  // namespace tensorflow_ext
