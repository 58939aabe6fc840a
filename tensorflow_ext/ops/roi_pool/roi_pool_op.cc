#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/images_checks.h"
#include "tensorflow_ext/kernels/regions_checks.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool_checks.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

absl::Status RoiPoolShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>RoiPool";
  RegionAttributes attributes;
  TF_RETURN_IF_ERROR(attributes.Read(c, kOp));
  ShapeHandle data, pooled;
  DimensionHandle num_rois;
  TF_RETURN_IF_ERROR(InferRank(c, kOp, "data", 0, 4, kImagesExpected, &data));
  TF_RETURN_IF_ERROR(InferRois(c, kOp, 1, &num_rois));
  TF_RETURN_IF_ERROR(InferPooled(c, kOp, attributes, num_rois, c->Dim(data, 3), &pooled));
  c->set_output(0, pooled);
  c->set_output(1, pooled);
  return absl::OkStatus();
}

// Checks argmax against the regions of rois and the channels of images `data`.
absl::Status InferArgmax(InferenceContext* c, const char* op, ShapeHandle data,
                         ShapeHandle* argmax) {
  DimensionHandle num_rois;
  TF_RETURN_IF_ERROR(InferRois(c, op, 1, &num_rois));
  const ShapeHandle wanted =
      c->MakeShape({num_rois, c->UnknownDim(), c->UnknownDim(), c->Dim(data, 3)});
  if (c->Merge(c->input(2), wanted, argmax).ok()) return absl::OkStatus();
  return WrongArgmaxShape(op, c->DebugString(c->input(2)), c->DebugString(wanted));
}

absl::Status RoiPoolGradShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>RoiPoolGrad";
  ShapeHandle gradients, data, argmax;
  TF_RETURN_IF_ERROR(InferDataShape(c, kOp, 3, &data));
  TF_RETURN_IF_ERROR(InferArgmax(c, kOp, data, &argmax));
  TF_RETURN_IF_ERROR(InferShapeOf(c, kOp, "gradients", 0, "argmax", argmax, &gradients));
  TF_RETURN_IF_ERROR(MergeChannels(c, gradients, &data));
  c->set_output(0, data);
  return absl::OkStatus();
}

absl::Status RoiPoolGradGradShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>RoiPoolGradGrad";
  ShapeHandle gradients, argmax;
  TF_RETURN_IF_ERROR(InferRank(c, kOp, "gradients", 0, 4, kImagesExpected, &gradients));
  TF_RETURN_IF_ERROR(InferArgmax(c, kOp, gradients, &argmax));
  c->set_output(0, argmax);
  return absl::OkStatus();
}

REGISTER_OP("TfExt>RoiPool")
    .Input("data: T")
    .Input("rois: T")
    .Output("pooled: T")
    .Output("argmax: int32")
    .Attr(kFloatingT)
    .Attr("pooled_height: int >= 1")
    .Attr("pooled_width: int >= 1")
    .Attr("spatial_scale: float = 1.0")
    .SetShapeFn(RoiPoolShape)
    .Doc(R"doc(
Region-of-interest max pooling: the largest value in each bin of a grid laid
over each region, per channel.

The corners of a region are scaled and rounded half away from zero. Both ends
are inside, so its width is max(x2 - x1 + 1, 1). Bin i of pooled_width bins
covers the columns x1 + floor(i * width / pooled_width) up to
x1 + ceil((i + 1) * width / pooled_width), clipped to the image; rows likewise.
A bin without a pixel gives 0 with argmax -1, and so does every bin of a region
with a NaN corner. A bin that contains NaN gives NaN. Corners are read as float
for half and bfloat16, and clamped to +-2^30 after rounding.

The layer is that of R. Girshick, "Fast R-CNN", ICCV 2015, section 2.1.

A batch index, without its fraction, must name an image: otherwise it is an
InvalidArgument error on the CPU, and the region reads as 0 with argmax -1
elsewhere. height * width * channels must be below 2^31.

The gradient: each bin's gradient is added at the bin's argmax; none for rois.

data: Images, [N, H, W, C].
rois: Regions, [R, 5], each (batch index, x1, y1, x2, y2).
pooled: [R, pooled_height, pooled_width, C].
argmax: (h * W + w) * C + c of each bin's maximum in its image, the first one on
  ties; the shape of pooled.
pooled_height: Rows of bins, below 2^30.
pooled_width: Columns of bins, below 2^30.
spatial_scale: Pixels of data per unit of the corners; finite and positive.
)doc");

REGISTER_OP("TfExt>RoiPoolGrad")
    .Input("gradients: T")
    .Input("rois: T")
    .Input("argmax: int32")
    .Input("data_shape: int32")
    .Output("backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn(RoiPoolGradShape)
    .Doc(R"doc(
Gradient of RoiPool with respect to its data: each bin's gradient is added at
the bin's argmax.

half and bfloat16 are summed in float. The sum's order is fixed on the CPU, for
any number of threads, and on the GPU if op determinism is on. An entry of
argmax must be -1 or the index of an element in the entry's channel, and a batch
index must name an image. Others are an InvalidArgument error on the CPU and are
left out elsewhere.

The gradient: RoiPoolGradGrad for gradients; none for rois, argmax, data_shape.

gradients: Upstream gradient of RoiPool's pooled, [R, PH, PW, C].
rois: Regions, [R, 5]; only the batch index is read.
argmax: RoiPool's argmax, [R, PH, PW, C].
data_shape: Shape of RoiPool's data, [4]: N, H, W, C.
backprops: Gradient of data, [N, H, W, C].
)doc");

REGISTER_OP("TfExt>RoiPoolGradGrad")
    .Input("gradients: T")
    .Input("rois: T")
    .Input("argmax: int32")
    .Output("backprops: T")
    .Attr(kFloatingT)
    .SetShapeFn(RoiPoolGradGradShape)
    .Doc(R"doc(
Gradient of RoiPoolGrad with respect to its gradients: the value at each bin's
argmax, 0 where argmax is -1.

Entries of argmax and batch indices are treated as in RoiPoolGrad.

The gradient: RoiPoolGrad for gradients; none for rois and argmax.

gradients: Upstream gradient of RoiPoolGrad's backprops, [N, H, W, C].
rois: Regions, [R, 5]; only the batch index is read.
argmax: RoiPool's argmax, [R, PH, PW, C].
backprops: [R, PH, PW, C].
)doc");

}  // namespace
}  // namespace tensorflow_ext
