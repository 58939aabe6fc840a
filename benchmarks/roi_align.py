"""RoiAlign forward and backward against crop_and_resize and average pooling."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import limits
import measure
import numpy as np
import ops
import pytorch
import resampler
import tensorflow as tf

import tensorflow_ext as tfe

# (images, size, channels, rois, scale): the sizes in benchmarks/roi_pool.py, and a map of a feature
# pyramid with its proposals.
SHAPES = ((2, 64, 64, 128, 1 / 16), (1, 100, 256, 256, 1 / 8))
# Samples along a side of a bin. With 2, both sides take the same samples. With 0, RoiAlign takes
# one per pixel, here up to 14 x 14, which its rival cannot.
SAMPLING_RATIOS = (2, 0)
BINS = 7


def make_inputs(
    images: int, size: int, channels: int, rois: int, scale: float, margin: int = 0
) -> list[tf.Tensor]:
    """Images, and boxes of an image at `1 / scale` pixels per cell: (batch, x1, y1, x2, y2). They
    leave out the last `margin` pixels."""
    rng = np.random.default_rng(0)
    data = rng.random((images, size, size, channels), dtype=np.float32)
    corners = np.sort(rng.uniform(0, size / scale - margin, size=(rois, 2, 2)), axis=1)
    batch = rng.integers(0, images, size=(rois, 1))
    boxes = np.hstack([batch, corners[:, 0], corners[:, 1]])
    return [tf.constant(data), tf.constant(boxes, tf.float32)]


def crop_and_resize(
    pool: Callable[..., tf.Tensor],
    data: tf.Tensor,
    rois: tf.Tensor,
    scale: float,
    bar: float | None,
) -> ops.Rival:
    """Two samples along each side of a bin, then a pooling of TensorFlow."""
    # crop_and_resize expects (y1, x1, y2, x2) relative to the image.
    boxes = tf.gather(rois, [2, 1, 4, 3], axis=1) * scale / (data.shape[1] - 1)

    def pooled(x: tf.Tensor, boxes: tf.Tensor, of_image: tf.Tensor) -> tf.Tensor:
        crops = tf.image.crop_and_resize(x, boxes, of_image, (2 * BINS, 2 * BINS))
        return pool(crops, 2, 2, "VALID")

    return ops.Rival(pooled, [data, boxes, tf.cast(rois[:, 0], tf.int32)], bar)


def ours(x: tf.Tensor, rois: tf.Tensor, scale: float, sampling_ratio: int) -> tf.Tensor:
    return tfe.roi_align(
        x,
        rois,
        pooled_height=BINS,
        pooled_width=BINS,
        spatial_scale=scale,
        sampling_ratio=sampling_ratio,
    )


def _sample(rois: tf.Tensor, first: int, scale: float, size: int) -> tf.Tensor:
    """Two samples per bin, [R, 2 * BINS], of regions whose corners are columns `first` and `first`
    + 2. Samples beyond the centres of the outermost pixels are moved there."""
    begin, end = (rois[:, k, tf.newaxis] * scale - 0.5 for k in (first, first + 2))
    steps = (tf.range(2 * BINS, dtype=rois.dtype) + 0.5) / (2 * BINS)
    return tf.clip_by_value(begin + (end - begin) * steps, 0, size - 1)


def gathered(x: tf.Tensor, rois: tf.Tensor, scale: float) -> tf.Tensor:
    """The same maths in stock ops: 2 x 2 samples per bin, each with its four corners."""
    size, channels = x.shape[2:]
    row = _sample(rois, 2, scale, size)[:, :, tf.newaxis]
    column = _sample(rois, 1, scale, size)[:, tf.newaxis]
    shape = [rois.shape[0], 2 * BINS, 2 * BINS]
    points = tf.stack([tf.broadcast_to(column, shape), tf.broadcast_to(row, shape)], axis=-1)
    samples = resampler.gathered(
        x, tf.reshape(points, [shape[0], -1, 2]), tf.cast(rois[:, 0], tf.int32)
    )
    samples = tf.reshape(samples, [shape[0], BINS, 2, BINS, 2, channels])
    return tf.reduce_mean(samples, axis=[2, 4])


def multiplied(x: tf.Tensor, rois: tf.Tensor, scale: float) -> tf.Tensor:
    """The same maths in stock ops: products with the weights of all rows and all columns in each
    bin."""
    size = x.shape[2]

    def weights(first: int) -> tf.Tensor:
        samples = _sample(rois, first, scale, size)[..., tf.newaxis]
        pixels = tf.nn.relu(1 - tf.abs(samples - tf.range(size, dtype=x.dtype)))
        pairs = tf.reshape(pixels, [rois.shape[0], BINS, 2, size])
        return tf.reduce_mean(pairs, axis=2)

    regions = tf.gather(x, tf.cast(rois[:, 0], tf.int32))
    rows = tf.einsum("riy,ryxc->rixc", weights(2), regions)
    return tf.einsum("rjx,rixc->rijc", weights(1), rows)


def _needs(data: tf.Tensor, rois: np.ndarray, sampling_ratio: int, passes: int) -> limits.Needs:
    """Four products and four sums per sample and channel; data and output once.

    Args:
      data: Images.
      rois: Regions, in pixels of `data`.
      sampling_ratio: Samples along a side of a bin; 0 means one per pixel.
      passes: 1 forward, 2 with the gradient.
    """
    sides = rois[:, 3:] - rois[:, 1:3]
    samples = np.ceil(sides / BINS) if sampling_ratio == 0 else sampling_ratio
    a_bin = np.broadcast_to(samples, sides.shape).prod(axis=1)
    channels = data.shape[-1]
    outputs = len(rois) * BINS**2 * channels
    return limits.Needs(
        4 * passes * (data.shape.num_elements() + outputs),
        8 * passes * int(a_bin.sum()) * BINS**2 * channels,
    )


def run() -> list[measure.Result]:
    return [result for shape in SHAPES for result in of_shape(*shape)]


def of_shape(
    images: int,
    size: int,
    channels: int,
    num_rois: int,
    scale: float,
    sampling_ratios: Sequence[int] = SAMPLING_RATIOS,
    **options: Any,
) -> list[measure.Result]:
    """Measures regions of some images; `options` are those of ops.compare."""
    data, rois = make_inputs(images, size, channels, num_rois, scale)
    results = []
    for case, by in measure.forward_and_backward(0):
        for ratio in sampling_ratios:

            def torch(
                x: pytorch.Tensor, rois: pytorch.Tensor, ratio: int = ratio
            ) -> pytorch.Tensor:
                return pytorch.ops.roi_align(
                    x.movedim(-1, 1), rois, BINS, scale, ratio, aligned=True
                ).movedim(1, -1)

            bar = 1 / 2 if ratio else None
            rival = crop_and_resize(tf.nn.avg_pool2d, data, rois, scale, bar)
            results += ops.compare(
                "RoiAlign",
                f"{case}, sampling_ratio {ratio}, {num_rois} rois on "
                f"{images} x {size} x {size} x {channels}",
                functools.partial(ours, scale=scale, sampling_ratio=ratio),
                [data, rois],
                {"crop_and_resize + mean": rival},
                _needs(data, rois.numpy() * scale, ratio, 1 + len(by)),
                {"roi_align": ops.Torch(torch, "NCHW")},
                by,
                **options,
            )
    return results
