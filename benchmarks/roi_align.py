# SPDX-License-Identifier: Apache-2.0
"""RoiAlign forward and backward against crop_and_resize and average pooling."""

import measure
import numpy as np
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
CALLS = 8  # in a step, each with regions of its own


def _make_rois(
    rng: np.random.Generator, images: int, size: int, rois: int, scale: float
) -> np.ndarray:
    """Boxes of the image, at `1 / scale` pixels a cell: (batch, x1, y1, x2, y2)."""
    corners = np.sort(rng.uniform(0, size / scale, size=(rois, 2, 2)), axis=1)
    batch = rng.integers(0, images, size=(rois, 1))
    return np.hstack([batch, corners[:, 0], corners[:, 1]]).astype(np.float32)


def run() -> list[measure.Result]:
    rng = np.random.default_rng(0)
    return [result for shape in SHAPES for result in _run(rng, *shape)]


def _run(
    rng: np.random.Generator,
    images: int,
    size: int,
    channels: int,
    num_rois: int,
    scale: float,
) -> list[measure.Result]:
    data = tf.constant(rng.random((images, size, size, channels), dtype=np.float32))
    inputs = [
        [data, tf.constant(_make_rois(rng, images, size, num_rois, scale))]
        for _ in range(CALLS)
    ]
    # crop_and_resize wants (y1, x1, y2, x2) relative to the image.
    rival_inputs = [
        [
            data,
            tf.gather(rois, [2, 1, 4, 3], axis=1) * scale / (size - 1),
            tf.cast(rois[:, 0], tf.int32),
        ]
        for _, rois in inputs
    ]

    def rival(x: tf.Tensor, boxes: tf.Tensor, of_image: tf.Tensor) -> tf.Tensor:
        crops = tf.image.crop_and_resize(x, boxes, of_image, (2 * BINS, 2 * BINS))
        return tf.nn.avg_pool2d(crops, 2, 2, "VALID")

    results = []
    for case, by in measure.forward_and_backward(0):
        for ratio in SAMPLING_RATIOS:

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

            bar = 1 / 2 if ratio else None
            first, *more = inputs
            side = measure.contender(ours, first, by, more=more)
            rivals = {
                "crop_and_resize + mean": measure.contender(
                    rival, rival_inputs[0], by, bar, more=rival_inputs[1:]
                )
            }
            rivals |= pytorch.contenders(
                "roi_align", torch, first, by, side.work, layout="NCHW", more=more
            )
            results += measure.compare(
                "RoiAlign",
                f"{case}, sampling_ratio {ratio}, {num_rois} rois on "
                f"{images} x {size} x {size} x {channels}",
                side,
                rivals,
                calls=CALLS,
            )
    return results
