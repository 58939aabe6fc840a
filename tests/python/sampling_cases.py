# SPDX-License-Identifier: Apache-2.0
"""Bilinear sampling of images."""

import numpy as np
import tensorflow as tf
from op_case import Case, apart

import tensorflow_ext as tfx

# One region inside the image, one that hangs over its edge, one outside.
ROIS = np.array([[0, 1, 0, 7, 5], [1, 2, 3, 12, 13], [1, 20, 20, 22, 24]], np.float64)
_BINS = 2, 3

# Points inside, around the edge and outside of two images of 5 x 5 pixels.
POINTS = np.array(
    [
        [[0.3, 0.6], [3.7, 2.2], [-0.6, 1.4], [4.3, 4.8]],
        [[2.5, -0.2], [1.1, 4.4], [-1.7, 2.3], [2.4, 2.1]],
    ]
)


def _roi_align(data: tf.Tensor, rois: tf.Tensor) -> tf.Tensor:
    height, width = _BINS
    return tfx.roi_align(
        data, rois, pooled_height=height, pooled_width=width, spatial_scale=0.5
    )


def _roi_align_reference(data: tf.Tensor, rois: tf.Tensor) -> tf.Tensor:
    del rois
    return tf.stack([_one_region(data, *roi) for roi in ROIS])


def _one_region(
    data: tf.Tensor, batch: float, x1: float, y1: float, x2: float, y2: float
) -> tf.Tensor:
    rows = _weights(0.5 * y1 - 0.5, 0.5 * y2 - 0.5, _BINS[0], data.shape[1])
    columns = _weights(0.5 * x1 - 0.5, 0.5 * x2 - 0.5, _BINS[1], data.shape[2])
    return tf.einsum(
        "iy,jx,yxc->ijc",
        tf.constant(rows, data.dtype),
        tf.constant(columns, data.dtype),
        data[int(batch)],
    )


def _weights(begin: float, end: float, bins: int, pixels: int) -> np.ndarray:
    """The mean of each bin's samples as weights of the pixels, [bins, pixels]."""
    weights = np.zeros((bins, pixels))
    size = (end - begin) / bins
    count = int(np.ceil(size))
    for i in range(bins):
        for k in range(count):
            sample = begin + i * size + (k + 0.5) * size / count
            if not -1 <= sample <= pixels:
                continue
            sample = np.clip(sample, 0, pixels - 1)
            low = min(int(sample), pixels - 1)
            weights[i, low] += (1 - (sample - low)) / count
            if low + 1 < pixels:
                weights[i, low + 1] += (sample - low) / count
    return weights


def _resampler_reference(data: tf.Tensor, warp: tf.Tensor) -> tf.Tensor:
    """Every pixel times its weight in every point."""
    height, width = data.shape[1:3]
    distance_x = warp[:, :, :1] - tf.range(width, dtype=warp.dtype)
    distance_y = warp[:, :, 1:] - tf.range(height, dtype=warp.dtype)
    x = tf.nn.relu(1 - tf.abs(distance_x))
    y = tf.nn.relu(1 - tf.abs(distance_y))
    return tf.einsum("npy,npx,nyxc->npc", y, x, data)


CASES = [
    Case(
        "roi_align",
        _roi_align,
        _roi_align_reference,
        (apart((2, 5, 5, 2), 2), ROIS),
        none=(1,),
        any_shape=False,
    ),
    Case(
        "resampler",
        tfx.resampler,
        _resampler_reference,
        (apart((2, 5, 5, 3), 4), POINTS),
        any_shape=False,
    ),
]
