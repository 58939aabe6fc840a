"""Pooling over regions of images: the mean of samples of each bin."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._batches import Role, batched
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["roi_align"]


@op
def roi_align(
    data: TensorLike,
    rois: TensorLike,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
    name: str | None = None,
) -> tf.Tensor:
    """Mean of bilinear samples in each bin of a grid laid over each region.

    A region's corners are scaled and, if `aligned`, moved by -0.5; they are not
    rounded. The samples of a bin are evenly spaced. A sample beyond -1 or beyond the
    height (width) counts as 0; one between there and the nearest pixel counts as that
    pixel. The semantics are those of torchvision's `roi_align` and of Detectron2's
    ROIAlign, for images in the layout [N, H, W, C].

    The cost does not depend on the number of samples. A region gives 0 if a corner
    is NaN or infinite. If `aligned` and `sampling_ratio` is 0, a region of zero or
    negative size gives 0 too.

    Gradient: each bin's gradient, times its weights, goes to the bin's pixels; none
    to rois.

    Args:
      data: Images, of type F and shape [N, H, W, C].
      rois: Regions, of the same type and shape [R, 5], each a row (index of its
        image, x1, y1, x2, y2).
      pooled_height: Rows of bins, at least 1.
      pooled_width: Columns of bins, at least 1.
      spatial_scale: Pixels of `data` per unit of the corners.
      sampling_ratio: Samples along each side of a bin; 0 means one per pixel, rounded
        up.
      aligned: Whether corners refer to pixels that cover [h, h + 1] x [w, w + 1]. If
        not, pixels are points, and a region is at least 1 x 1.
      name: Name for the op.

    Returns:
      Tensor of type F and shape [R, pooled_height, pooled_width, C].

    Raises:
      tf.errors.InvalidArgumentError: A rank, a shape or an attribute is wrong, or
        a region names no valid image (on the CPU; on other devices such a region
        gives 0).

    Source: K. He, G. Gkioxari, P. Dollar, R. Girshick, "Mask R-CNN", ICCV 2017,
      section 3.
    """
    return raw_ops.roi_align(
        data, rois, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned, name
    )


OPS = {
    "RoiAlign": {
        "rule": batched(Role.TABLE, Role.REGIONS),
        "formula": (
            r"y_{r,b,c} = \frac{1}{n} \sum_{s \in b} \sum_p w_{s,p} \, x_{p,c}",
            r"dx_{p,c} = \sum_{r,b} \frac{1}{n} \sum_{s \in b} w_{s,p} \, dy_{r,b,c}",
        ),
    },
    "RoiAlignGrad": {"rule": batched(Role.ROWS, Role.REGIONS, Role.SHAPE)},
}
