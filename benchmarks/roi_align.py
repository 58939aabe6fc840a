# SPDX-License-Identifier: Apache-2.0
"""RoiAlign forward and backward against crop_and_resize and average pooling."""

from collections.abc import Sequence
from typing import Any

import limits
import measure
import numpy as np
import ops
import pytorch
import tensorflow as tf

import tensorflow_ext as tfe

# (images, size, channels, rois, scale): as in benchmarks/roi_pool.py, and a map
# of a feature pyramid with its proposals.
SHAPES = ((2, 64, 64, 128, 1 / 16), (1, 100, 256, 256, 1 / 8))
# Samples along a side of a bin. With 2, both sides take the same samples; with 0
# RoiAlign takes one a pixel, here up to 14 x 14 of them, which its rival cannot.
SAMPLING_RATIOS = (2, 0)
BINS = 7


def _make_rois(
    rng: np.random.Generator, images: int, size: int, rois: int, scale: float
) -> np.ndarray:
    """Boxes of the image, at `1 / scale` pixels a cell: (batch, x1, y1, x2, y2)."""
    corners = np.sort(rng.uniform(0, size / scale, size=(rois, 2, 2)), axis=1)
    batch = rng.integers(0, images, size=(rois, 1))
    return np.hstack([batch, corners[:, 0], corners[:, 1]]).astype(np.float32)


def _needs(
    data: tf.Tensor, rois: np.ndarray, sampling_ratio: int, passes: int
) -> limits.Needs:
    """Of each sample four products and four sums a channel; data and output once.

    Args:
      data: Images.
      rois: Regions, in pixels of `data`.
      sampling_ratio: Samples along a side of a bin; 0: one a pixel.
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
    """Regions of some images; `options` are those of ops.compare."""
    rng = np.random.default_rng(0)
    data = tf.constant(rng.random((images, size, size, channels), dtype=np.float32))
    rois = tf.constant(_make_rois(rng, images, size, num_rois, scale))
    # crop_and_resize wants (y1, x1, y2, x2) relative to the image.
    boxes = tf.gather(rois, [2, 1, 4, 3], axis=1) * scale / (size - 1)
    of_image = tf.cast(rois[:, 0], tf.int32)

    def rival(x: tf.Tensor, boxes: tf.Tensor, of_image: tf.Tensor) -> tf.Tensor:
        crops = tf.image.crop_and_resize(x, boxes, of_image, (2 * BINS, 2 * BINS))
        return tf.nn.avg_pool2d(crops, 2, 2, "VALID")

    results = []
    for case, by in measure.forward_and_backward(0):
        for ratio in sampling_ratios:

            def ours(x: tf.Tensor, rois: tf.Tensor, ratio: int = ratio) -> tf.Tensor:
                return tfe.roi_align(
                    x,
                    rois,
                    pooled_height=BINS,
                    pooled_width=BINS,
                    spatial_scale=scale,
                    sampling_ratio=ratio,
                )

            def torch(
                x: pytorch.Tensor, rois: pytorch.Tensor, ratio: int = ratio
            ) -> pytorch.Tensor:
                return pytorch.ops.roi_align(
                    x.movedim(-1, 1), rois, BINS, scale, ratio, aligned=True
                ).movedim(1, -1)

            results += ops.compare(
                "RoiAlign",
                f"{case}, sampling_ratio {ratio}, {num_rois} rois on "
                f"{images} x {size} x {size} x {channels}",
                ours,
                [data, rois],
                {
                    "crop_and_resize + mean": ops.Rival(
                        rival, [data, boxes, of_image], 1 / 2 if ratio else None
                    )
                },
                _needs(data, rois.numpy() * scale, ratio, 1 + len(by)),
                {"roi_align": ops.Torch(torch, "NCHW")},
                by,
                **options,
            )
    return results
