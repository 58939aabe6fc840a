# SPDX-License-Identifier: Apache-2.0
"""Points in images."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["resampler"]


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
