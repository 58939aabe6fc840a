"""Pooling over regions of images: the maximum of each bin."""

from typing import NamedTuple

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._batches import Role, batched
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["RoiPool", "roi_pool"]


class RoiPool(NamedTuple):
    """Outputs of `roi_pool`."""

    pooled: tf.Tensor
    argmax: tf.Tensor


@op
def roi_pool(
    data: TensorLike,
    rois: TensorLike,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    name: str | None = None,
) -> RoiPool:
    """Max pooling over the bins of a grid laid over each region of interest.

    A region's corners are scaled and rounded half away from zero, and are part of
    the region: its width is max(x2 - x1 + 1, 1). Bin i covers the columns
    floor(i * width / pooled_width) up to ceil((i + 1) * width / pooled_width) of
    the region, clipped to the image; rows likewise. An empty bin gives 0.

    Gradient: each bin's gradient is added at the bin's maximum; none to rois.

    Args:
      data: Images, of type F and shape [N, H, W, C].
      rois: Regions, of the same type and shape [R, 5], each a row (index of its
        image, x1, y1, x2, y2).
      pooled_height: Rows of bins, at least 1.
      pooled_width: Columns of bins, at least 1.
      spatial_scale: Pixels of `data` per unit of the corners.
      name: Name for the op.

    Returns:
      pooled: Tensor of type F and shape [R, pooled_height, pooled_width, C].
      argmax: int32 tensor of the same shape: the flat index
        (h * W + w) * C + c of each maximum in its image, the first one on ties,
        -1 for an empty bin.

    Raises:
      tf.errors.InvalidArgumentError: A rank, a shape or an attribute is wrong, or
        a region names no valid image (on the CPU; on other devices such a region
        gives 0).

    Source: R. Girshick, "Fast R-CNN", ICCV 2015, section 2.1.
    """
    return RoiPool(*raw_ops.roi_pool(data, rois, pooled_height, pooled_width, spatial_scale, name))


OPS = {
    "RoiPool": {
        "rule": batched(Role.TABLE, Role.REGIONS),
        "formula": (
            r"y_{r,b,c} = \max_{p \in b} x_{p,c}",
            r"dx_{p,c} = \sum_{r,b \, : \, \mathrm{argmax}_{r,b,c} = p} dy_{r,b,c}",
        ),
    },
    "RoiPoolGrad": {"rule": batched(Role.ROWS, Role.REGIONS, Role.ROWS, Role.SHAPE)},
    "RoiPoolGradGrad": {"rule": batched(Role.TABLE, Role.REGIONS, Role.ROWS)},
}
