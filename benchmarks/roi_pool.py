"""RoiPool forward and backward against crop_and_resize and a maximum."""

from typing import Any

import limits
import measure
import numpy as np
import ops
import pytorch
import roi_align
import tensorflow as tf
from roi_align import BINS, crop_and_resize

import tensorflow_ext as tfe

IMAGES, SIZE, CHANNELS, ROIS, SCALE = 2, 64, 64, 128, 1 / 16


def make_inputs() -> list[tf.Tensor]:
    """Images and regions."""
    return roi_align.make_inputs(IMAGES, SIZE, CHANNELS, ROIS, SCALE, margin=1)


def ours(x: tf.Tensor, rois: tf.Tensor) -> tf.Tensor:
    return tfe.roi_pool(x, rois, pooled_height=BINS, pooled_width=BINS, spatial_scale=SCALE).pooled


def masked(x: tf.Tensor, rois: tf.Tensor) -> tf.Tensor:
    """The same maxima in stock ops: over each bin's rows, then over its columns. Intended for XLA,
    which does not store the operands of a maximum."""
    image = tf.cast(rois[:, 0], tf.int32)
    lowest = tf.constant(-np.inf, x.dtype)

    def is_in_bin(first: int) -> tf.Tensor:
        """The masks of regions whose corners are columns `first` and `first` + 2: [R, BINS,
        SIZE]."""
        corners = tf.floor(tf.gather(rois, [first, first + 2], axis=1) * SCALE + 0.5)
        begin, end = tf.unstack(corners[..., tf.newaxis, tf.newaxis], axis=1)
        length = tf.maximum(end - begin + 1, 1)
        of_bin = tf.range(BINS, dtype=rois.dtype)[:, tf.newaxis]
        pixel = tf.range(SIZE, dtype=rois.dtype) - begin
        return (pixel >= tf.floor(of_bin * length / BINS)) & (
            pixel < tf.math.ceil((of_bin + 1) * length / BINS)
        )

    rows = is_in_bin(2)[:, :, :, tf.newaxis, tf.newaxis]
    columns = is_in_bin(1)[:, tf.newaxis, :, :, tf.newaxis]
    regions = tf.gather(x, image)[:, tf.newaxis]
    maxima = tf.reduce_max(tf.where(rows, regions, lowest), axis=2)
    return tf.reduce_max(tf.where(columns, maxima[:, :, tf.newaxis], lowest), axis=3)


def _torch(x: pytorch.Tensor, rois: pytorch.Tensor) -> pytorch.Tensor:
    x = x.movedim(-1, 1)
    return pytorch.ops.roi_pool(x, rois, BINS, SCALE).movedim(1, -1)


def run(**options: Any) -> list[measure.Result]:
    """Measures RoiPool; `options` are those of ops.compare."""
    data, rois = make_inputs()
    rival = crop_and_resize(tf.nn.max_pool2d, data, rois, SCALE, bar=1.0)
    # Each channel of a region's pixels is compared; data, output and argmax are read or written
    # once, and so are their gradients in the backward pass.
    sides = np.floor((rois.numpy()[:, 3:] - rois.numpy()[:, 1:3]) * SCALE) + 1
    pooled = ROIS * BINS**2 * CHANNELS
    comparisons = int(np.prod(sides, axis=1).sum()) * CHANNELS
    return [
        result
        for case, by in measure.forward_and_backward(0)
        for result in ops.compare(
            "RoiPool",
            f"{case}, {ROIS} rois on {IMAGES} x {SIZE} x {SIZE} x {CHANNELS}",
            ours,
            [data, rois],
            {"crop_and_resize + max": rival},
            limits.Needs(4 * (1 + len(by)) * (data.shape.num_elements() + 2 * pooled), comparisons),
            {
                # PyTorch rounds the bounds of bins, so some have an extra row.
                "roi_pool": ops.Torch(_torch, "NCHW", tolerance=0.05)
            },
            by,
            **options,
        )
    ]
