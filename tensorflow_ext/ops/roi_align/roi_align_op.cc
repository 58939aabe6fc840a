#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/images_checks.h"
#include "tensorflow_ext/kernels/regions_checks.h"
#include "tensorflow_ext/ops/roi_align/roi_align_checks.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

absl::Status RoiAlignShape(InferenceContext* c) {
  RoiAlignAttributes attributes;
  TF_RETURN_IF_ERROR(attributes.Read(c, "TfExt>RoiAlign"));
  ShapeHandle data, pooled;
  DimensionHandle num_rois;
  TF_RETURN_IF_ERROR(InferRank(c, "TfExt>RoiAlign", "data", 0, 4, kImagesExpected, &data));
  TF_RETURN_IF_ERROR(InferRois(c, "TfExt>RoiAlign", 1, &num_rois));
  TF_RETURN_IF_ERROR(
      InferPooled(c, "TfExt>RoiAlign", attributes, num_rois, c->Dim(data, 3), &pooled));
  c->set_output(0, pooled);
  return absl::OkStatus();
}

absl::Status RoiAlignGradShape(InferenceContext* c) {
  constexpr char kOp[] = "TfExt>RoiAlignGrad";
  RoiAlignAttributes attributes;
  TF_RETURN_IF_ERROR(attributes.Read(c, kOp));
  ShapeHandle gradients, data, pooled;
  DimensionHandle num_rois;
  TF_RETURN_IF_ERROR(InferDataShape(c, kOp, 2, &data));
  TF_RETURN_IF_ERROR(InferRois(c, kOp, 1, &num_rois));
  TF_RETURN_IF_ERROR(InferPooled(c, kOp, attributes, num_rois, c->Dim(data, 3), &pooled));
  TF_RETURN_IF_ERROR(InferShapeOf(c, kOp, "gradients", 0, "RoiAlign's pooled", pooled, &gradients));
  TF_RETURN_IF_ERROR(MergeChannels(c, gradients, &data));
  c->set_output(0, data);
  return absl::OkStatus();
}

// The attributes of both ops.
#define ROI_ALIGN_ATTRS()                   \
  Attr(kFloatingT)                          \
      .Attr("pooled_height: int >= 1")      \
      .Attr("pooled_width: int >= 1")       \
      .Attr("spatial_scale: float = 1.0")   \
      .Attr("sampling_ratio: int >= 0 = 0") \
      .Attr("aligned: bool = true")

REGISTER_OP("TfExt>RoiAlign")
    .Input("data: T")
    .Input("rois: T")
    .Output("pooled: T")
    .ROI_ALIGN_ATTRS()
    .SetShapeFn(RoiAlignShape)
    .Doc(R"doc(
Region-of-interest alignment: the mean of bilinear samples in each bin of a grid
laid over each region, per channel.

Corners are scaled and, if aligned, moved by -0.5, so that pixel h covers
[h, h + 1]. They are not rounded. Each of pooled_height * pooled_width bins has
sampling_ratio * sampling_ratio samples, evenly spaced, or, if that is 0,
ceil(height / pooled_height) * ceil(width / pooled_width). A sample is
interpolated between the four pixels around it. A sample beyond -1 or beyond H
(W) counts as 0; between there and the nearest pixel, it counts as that pixel.
If aligned, a region of no or negative size has no samples where sampling_ratio
is 0, and is 0. If not aligned, a region is at least 1 high and 1 wide.

The definition is that of torchvision's roi_align and of Detectron2's ROIAlign,
after K. He et al., "Mask R-CNN", ICCV 2017, section 3.

The mean is a product of means over rows and columns, so its cost does not
depend on the number of samples. A pixel of weight 0 is not read. half and
bfloat16 are computed in float. A region is 0 if a corner is NaN or infinite, or
becomes so by scaling. A batch index, without its fraction, must name an image:
otherwise it is an InvalidArgument error on the CPU, and the region reads as 0
elsewhere.

The gradient: RoiAlignGrad for data; none for rois.

data: Images, [N, H, W, C]; H and W below 2^31.
rois: Regions, [R, 5], each (batch index, x1, y1, x2, y2).
pooled: [R, pooled_height, pooled_width, C].
pooled_height: Rows of bins, below 2^30.
pooled_width: Columns of bins, below 2^30.
spatial_scale: Pixels of data per unit of the corners; finite and positive.
sampling_ratio: Samples along each side of a bin. 0 gives as many as the bin has
  pixels, rounded up.
aligned: If true, pixels are squares that cover [h, h + 1] * [w, w + 1]. If
  false, pixels are points.
)doc");

REGISTER_OP("TfExt>RoiAlignGrad")
    .Input("gradients: T")
    .Input("rois: T")
    .Input("data_shape: int32")
    .Output("backprops: T")
    .ROI_ALIGN_ATTRS()
    .SetShapeFn(RoiAlignGradShape)
    .Doc(R"doc(
Gradient of RoiAlign with respect to its data: each bin's gradient goes to the
pixels of the bin, times their weights in it.

half and bfloat16 are summed in float. The sum's order is fixed on the CPU, for
any number of threads, and on the GPU if op determinism is on. Regions are
treated as in RoiAlign; where a batch index is no error, its region is left out.

The gradient: RoiAlign of the upstream gradient for gradients, with the same
attributes; none for rois and data_shape.

gradients: Upstream gradient of RoiAlign's pooled,
  [R, pooled_height, pooled_width, C].
rois: Regions, [R, 5], each (batch index, x1, y1, x2, y2).
data_shape: Shape of RoiAlign's data, [4]: N, H, W, C.
backprops: Gradient of data, [N, H, W, C].
pooled_height: As in RoiAlign.
pooled_width: As in RoiAlign.
spatial_scale: As in RoiAlign.
sampling_ratio: As in RoiAlign.
aligned: As in RoiAlign.
)doc");

#undef ROI_ALIGN_ATTRS

}  // namespace
}  // namespace tensorflow_ext
