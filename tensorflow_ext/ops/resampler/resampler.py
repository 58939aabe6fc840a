"""Sampling of images at given points."""

from collections.abc import Sequence
from typing import Literal

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._batches import Role, batched
from tensorflow_ext._vectorize._rules import Output, Vectorized, call
from tensorflow_ext.ops._common import TensorLike, op

__all__ = ["dense_image_warp", "interpolate_bilinear", "resampler"]


@op
def resampler(data: TensorLike, warp: TensorLike, name: str | None = None) -> tf.Tensor:
    """Samples images at given points by bilinear interpolation.

    Pixels outside of the image count as 0, so the value falls to 0 within one pixel
    of the edge. A point outside of (-1, W) x (-1, H), or with a NaN coordinate,
    gives 0.

    Gradient: to both inputs. Where a coordinate is a whole number, its derivative
    jumps; the gradient is the derivative from the right.

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


@op
def interpolate_bilinear(
    grid: TensorLike,
    query_points: TensorLike,
    indexing: Literal["ij", "xy"] = "ij",
    name: str | None = None,
) -> tf.Tensor:
    """Samples images at given points; points outside take the nearest border.

    It matches TensorFlow Addons' function of this name, and also takes images of one
    row or one column. A NaN coordinate gives 0.

    Gradient: to both inputs. Where a coordinate is a whole number, its derivative
    jumps; the gradient is the derivative from the right. Beyond the border it is 0.

    Args:
      grid: Images, of type F and shape [N, H, W, C].
      query_points: Points in pixels, of a type F and shape [N, ..., 2], or [1, ..., 2]
        for the same points in all images.
      indexing: 'ij' for points (row, column), 'xy' for points (x, y).
      name: Name for the ops.

    Returns:
      Tensor of the type of `grid` and shape [N, ..., C], computed in float64 if either
      argument is, else in float32.

    Raises:
      ValueError: `indexing` is neither of the two; or a rank, or the last size of
        `query_points`, is known and wrong.
      TypeError: An argument is not of a type F.
      tf.errors.InvalidArgumentError: A rank or a shape is wrong.
    """
    if indexing not in ("ij", "xy"):
        raise ValueError(
            f"interpolate_bilinear: argument 'indexing' is {indexing!r}, expected 'ij' or 'xy'"
        )
    with tf.name_scope(name or "interpolate_bilinear"):
        images = _images("interpolate_bilinear", "grid", grid)
        points = _points("interpolate_bilinear", query_points)
        if indexing == "ij":
            points = tf.reverse(points, [-1])
        return _at_the_nearest(images, _of_each(images, points))


@op
def dense_image_warp(image: TensorLike, flow: TensorLike, name: str | None = None) -> tf.Tensor:
    """Moves the pixels of images by a flow, with bilinear interpolation.

    output[n, y, x] is `image[n]` at (y - flow[n, y, x, 0], x - flow[n, y, x, 1]); points
    outside take the nearest border. It matches TensorFlow Addons' function of this name,
    and also takes images of one row or one column. A NaN flow gives 0.

    Gradient: to both inputs, like that of `interpolate_bilinear`.

    Args:
      image: Images, of type F and shape [N, H, W, C].
      flow: Displacements in pixels, rows first, of a type F and shape [N, H, W, 2]. Its
        height and width may differ from those of the images; the result has the flow's.
      name: Name for the ops.

    Returns:
      Tensor of the type of `image` and shape [N, H, W, C], computed in float64 if
      either argument is, else in float32.

    Raises:
      TypeError: An argument is not of a type F.
      ValueError: A rank, or the last size of `flow`, is known and wrong.
      tf.errors.InvalidArgumentError: A rank or a shape is wrong.
    """
    with tf.name_scope(name or "dense_image_warp"):
        images = _images("dense_image_warp", "image", image)
        moves = _floating("dense_image_warp", "flow", flow)
        sizes = [None, None, None, 2]
        moves = _ensure("dense_image_warp", "flow", moves, sizes, "[N, H, W, 2]")
        # Half types cannot represent every column of a large image.
        moves = tf.cast(moves, _wide(moves.dtype))
        height, width = tf.unstack(tf.shape(moves)[1:3])
        grid = tf.stack(tf.meshgrid(tf.range(width), tf.range(height)), axis=-1)
        points = tf.cast(grid, moves.dtype) - tf.reverse(moves, [-1])
        points.set_shape(moves.shape)
        return _at_the_nearest(images, points)


def _floating(function: str, name: str, value: TensorLike) -> tf.Tensor:
    tensor = tf.convert_to_tensor(value)
    if not tensor.dtype.is_floating:
        raise TypeError(
            f"{function}: argument '{name}' is of type {tensor.dtype.name}, expected "
            "half, bfloat16, float or double"
        )
    return tensor


def _images(function: str, name: str, value: TensorLike) -> tf.Tensor:
    tensor = _floating(function, name, value)
    return _ensure(function, name, tensor, [None] * 4, "[N, H, W, C]")


def _points(function: str, value: TensorLike) -> tf.Tensor:
    name, expected = "query_points", "[N, ..., 2]"
    tensor = _floating(function, name, value)
    rank = tensor.shape.rank
    if rank is not None:
        sizes = [None] * max(rank - 1, 1) + [2]
        return _ensure(function, name, tensor, sizes, expected)
    shape = tf.shape(tensor)
    rows = tf.reshape(tensor, tf.stack([-1, shape[-1]]))
    return tf.reshape(_ensure(function, name, rows, [None, 2], expected), shape)


def _ensure(
    function: str, name: str, tensor: tf.Tensor, sizes: Sequence[int | None], expected: str
) -> tf.Tensor:
    """The tensor with its shape checked: now as far as it is known, else at run time.
    Dimensions that are too small would be broadcast."""
    if not tensor.shape.is_compatible_with(sizes):
        raise ValueError(
            f"{function}: argument '{name}' has shape {tensor.shape}, expected {expected}"
        )
    if tensor.shape.rank is not None and tensor.shape[-1] is not None:
        return tensor
    return tf.ensure_shape(tensor, sizes, name=name)


def _of_each(images: tf.Tensor, points: tf.Tensor) -> tf.Tensor:
    """`points`, repeated for each image if there is only one set of them."""
    sets = points.shape[0] if points.shape.rank else None
    if sets not in (None, 1):
        return points
    sets = tf.shape(points)[0]
    repeats = tf.where(sets == 1, tf.shape(images)[0], 1)
    rest = tf.ones([tf.rank(points) - 1], tf.int32)
    return tf.tile(points, tf.concat([[repeats], rest], axis=0))


def _wide(*types: tf.DType) -> tf.DType:
    return tf.float64 if tf.float64 in types else tf.float32


def _at_the_nearest(images: tf.Tensor, points: tf.Tensor) -> tf.Tensor:
    """Images at points (x, y); points outside are moved to the nearest border.

    From the last pixel on, the derivative from the right is 0. That of tf.clip_by_value
    is 1 there.
    """
    dtype = _wide(images.dtype, points.dtype)
    points = tf.cast(points, dtype)
    last = tf.cast(tf.shape(images)[2:0:-1] - 1, dtype)
    points = tf.where(points >= last, last, points)
    points = tf.where(points < 0, tf.zeros_like(last), points)
    return tf.cast(raw_ops.resampler(tf.cast(images, dtype), points), images.dtype)


_images_of_each = batched(Role.ROWS, Role.ROWS)


def _vectorize(vectorized: Vectorized) -> Output | list[Output]:
    """The rule for images [N, H, W, C] and points [N, ..., 2]."""
    images, points = vectorized.inputs
    if images.is_stacked:
        return _images_of_each(vectorized)
    # The points of all iterations become more points of each image.
    return pfor.wrap(_swap(call(vectorized, images.t, _swap(points.t))), True)


def _swap(tensor: tf.Tensor) -> tf.Tensor:
    """Swaps the first two dimensions."""
    order = tf.concat([[1, 0], tf.range(2, tf.rank(tensor))], axis=0)
    return tf.transpose(tensor, order)


OPS = {
    "Resampler": {
        "rule": _vectorize,
        "formula": (
            r"z_{n,c} = \sum_{p} w(x_n - p_x) \, w(y_n - p_y) \, d_{p,c}, \quad "
            r"w(t) = \max(1 - |t|, 0)",
            r"dd_{p,c} = \sum_n w(x_n - p_x) \, w(y_n - p_y) \, dz_{n,c}",
            r"dx_n = \sum_{p,c} w'(x_n - p_x) \, w(y_n - p_y) \, d_{p,c} \, dz_{n,c}",
        ),
    },
    "ResamplerGrad": {"rule": batched(Role.ROWS, Role.ROWS, Role.ROWS)},
    "ResamplerAdjoint": {"rule": batched(Role.ROWS, Role.ROWS, Role.SHAPE)},
    "ResamplerDerivative": {"rule": _vectorize},
}
