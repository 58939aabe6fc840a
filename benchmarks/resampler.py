"""Resampler forward and backward against gathers of the four corners."""

from typing import Any

import limits
import measure
import numpy as np
import ops
import pytorch
import tensorflow as tf

import tensorflow_ext as tfe

# (images, size, channels): an image, features, and many features.
SHAPES = ((4, 128, 3), (4, 64, 64), (2, 32, 256))


def gathered(data: tf.Tensor, warp: tf.Tensor, image: tf.Tensor | None = None) -> tf.Tensor:
    """The best composition of stock ops: four gathers of pixels, clamped into the image, times
    weights that are 0 outside.

    Args:
      data: The images.
      warp: The points of each image, or of each entry of `image`.
      image: The image of each point; if not given, warp has the points of all images in order.
    """
    images, height, width, _ = data.shape
    image = tf.range(images) if image is None else image
    x, y = tf.unstack(warp, axis=-1)
    left, top = tf.floor(x), tf.floor(y)
    column, row = tf.cast(left, tf.int32), tf.cast(top, tf.int32)
    image = image[:, tf.newaxis] * tf.ones_like(row)
    total = tf.zeros([], data.dtype)
    for down in (0, 1):
        for right in (0, 1):
            w, h = column + right, row + down
            inside = (w >= 0) & (w < width) & (h >= 0) & (h < height)
            weight = (1 - tf.abs(x - left - right)) * (1 - tf.abs(y - top - down))
            weight = tf.where(inside, weight, 0)
            index = tf.stack(
                [image, tf.clip_by_value(h, 0, height - 1), tf.clip_by_value(w, 0, width - 1)],
                axis=-1,
            )
            total += weight[..., tf.newaxis] * tf.gather_nd(data, index)
    return total


def _torch(data: pytorch.Tensor, warp: pytorch.Tensor) -> pytorch.Tensor:
    """PyTorch's coordinates range from -1 to 1, the centres of the outermost pixels."""
    size = data.shape[1]
    sampled = pytorch.functional.grid_sample(
        data.movedim(-1, 1),
        (warp * (2 / (size - 1)) - 1).unsqueeze(1),
        mode="bilinear",
        padding_mode="zeros",
        align_corners=True,
    )
    return sampled.squeeze(2).movedim(1, -1)


def run() -> list[measure.Result]:
    return [result for shape in SHAPES for result in of_shape(*shape)]


def make_inputs(rng: np.random.Generator, images: int, size: int, channels: int) -> list[tf.Tensor]:
    """Images, and for each of their pixels a point."""
    data = tf.constant(rng.random((images, size, size, channels), dtype=np.float32))
    # A grid shifted by up to two pixels.
    grid = np.stack(np.meshgrid(np.arange(size), np.arange(size)), axis=-1)
    shifts = rng.uniform(-2, 2, (images, size**2, 2))
    return [data, tf.constant(grid.reshape(1, -1, 2) + shifts, tf.float32)]


def of_shape(images: int, size: int, channels: int, **options: Any) -> list[measure.Result]:
    """Measures images of one shape; `options` are those of ops.compare."""
    inputs = make_inputs(np.random.default_rng(0), images, size, channels)
    points, values = images * size**2, images * size**2 * channels
    results = []
    for case, by in measure.forward_and_backward(0, 1):
        results += ops.compare(
            "Resampler",
            f"{case}, {size**2} points on {images} x {size} x {size} x {channels}",
            tfe.resampler,
            inputs,
            {
                "gather_nd of 4 corners": ops.Rival(gathered, bar=1 / 3),
                "gather_nd of 4 corners, jit_compile": ops.Rival(
                    gathered, bar=1.0, mode="jit_compile"
                ),
            },
            # Data, warp and output, with their gradients; for each channel of a point four products
            # and sums, then those of three gradients.
            limits.Needs(
                4 * (2 if by else 1) * (2 * values + 2 * points), (8 + 8 + 14 if by else 8) * values
            ),
            {f"grid_sample, {layout}": ops.Torch(_torch, layout) for layout in ("NCHW", "NHWC")},
            by,
            **options,
        )
    return results
