# SPDX-License-Identifier: Apache-2.0
"""Bilinear sampling of images: in regions of interest and at given points."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["resampler", "roi_align"]


@op
def roi_align(
    data: TensorLike,
    rois: TensorLike,
    *,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
    name: str | None = None,
) -> tf.Tensor:
    """Means of bilinear samples in the bins of a grid laid over each region.

    A region's corners are scaled and, if `aligned`, moved by -0.5; they are not
    rounded. The samples of a bin are evenly spaced. One beyond -1 or beyond the
    height (width) counts as 0, one between there and the nearest pixel as that
    pixel. Semantics are those of torchvision's `roi_align` and of Detectron2's
    ROIAlign, for images in the layout [N, H, W, C].

    The cost does not depend on the number of samples. A region with a corner
    that is NaN or infinite is 0, and so is, if `aligned` and `sampling_ratio` is
    0, one of no or negative size.

    Gradient: each bin's gradient, times its weights, to the bin's pixels; none
    to rois.

    Args:
      data: Images, of type F and shape [N, H, W, C].
      rois: Regions, of the same type and shape [R, 5], each a row (index of its
        image, x1, y1, x2, y2).
      pooled_height: Rows of bins, at least 1.
      pooled_width: Columns of bins, at least 1.
      spatial_scale: Pixels of `data` per unit of the corners.
      sampling_ratio: Samples along each side of a bin; 0: as many as it has
        pixels, rounded up.
      aligned: Whether corners are those of pixels that cover [h, h + 1] x
        [w, w + 1]. If not, pixels are points, and a region is at least 1 x 1.
      name: Name for the op.

    Returns:
      Tensor of type F and shape [R, pooled_height, pooled_width, C].

    Raises:
      tf.errors.InvalidArgumentError: A rank, a shape or an attribute is wrong, or
        a region names no image (on the CPU; elsewhere it reads as 0).

    Source: K. He, G. Gkioxari, P. Dollar, R. Girshick, "Mask R-CNN", ICCV 2017,
      section 3.
    """
    return raw_ops.roi_align(
        data,
        rois,
        pooled_height,
        pooled_width,
        spatial_scale,
        sampling_ratio,
        aligned,
        name,
    )


@op
def resampler(
    data: TensorLike, warp: TensorLike, *, name: str | None = None
) -> tf.Tensor:
    """Samples images at given points by bilinear interpolation.

    Pixels outside of the image count as 0, so that the value falls to 0 within
    one pixel of the edge; a point outside of (-1, W) x (-1, H), or with a
    coordinate that is NaN, is 0.

    Gradient: to both inputs. Where a coordinate is a whole number its derivative
    has a jump, and is the one from the right.

    Args:
      data: Images, of type F and shape [N, H, W, C].
      warp: Points (x, y) in pixels, of the same type and shape [N, ..., 2].
      name: Name for the op.

    Returns:
      Tensor of type F and shape [N, ..., C].

    Raises:
      tf.errors.InvalidArgumentError: A rank or a shape is wrong.

    Source: M. Jaderberg, K. Simonyan, A. Zisserman, K. Kavukcuoglu, "Spatial
      Transformer Networks", NeurIPS 2015, section 3.3.
    """
    return raw_ops.resampler(data, warp, name)
