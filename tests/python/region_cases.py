# SPDX-License-Identifier: Apache-2.0
"""Regions of interest in images."""

import numpy as np
import tensorflow as tf
from op_case import Case, apart

import tensorflow_ext as tfx

# One region inside the image, one that hangs over its edge, one empty.
ROIS = np.array([[0, 1, 0, 4, 3], [1, 2, 2, 9, 9], [1, 7, 7, 8, 8]], np.float64)


def _roi_pool(data: tf.Tensor, rois: tf.Tensor) -> tf.Tensor:
    return tfx.roi_pool(
        data, rois, pooled_height=2, pooled_width=3, spatial_scale=0.5
    ).pooled


def _roi_pool_reference(data: tf.Tensor, rois: tf.Tensor) -> tf.Tensor:
    del rois
    regions = [_one_region(data, roi) for roi in ROIS]
    return tf.stack(regions)


def _one_region(data: tf.Tensor, roi: np.ndarray) -> tf.Tensor:
    batch = int(roi[0])
    x1, y1, x2, y2 = (int(np.floor(corner * 0.5 + 0.5)) for corner in roi[1:])
    rows = _bins(y1, max(y2 - y1 + 1, 1), 2, data.shape[1])
    columns = _bins(x1, max(x2 - x1 + 1, 1), 3, data.shape[2])

    def maximum(row: slice, column: slice) -> tf.Tensor:
        region = data[batch, row, column]
        if 0 in region.shape:
            return tf.zeros([data.shape[3]], data.dtype)
        return tf.reduce_max(region, axis=[0, 1])

    return tf.stack([tf.stack([maximum(r, c) for c in columns]) for r in rows])


def _bins(start: int, size: int, count: int, limit: int) -> list[slice]:
    def clip(position: int) -> int:
        return min(max(start + position, 0), limit)

    return [
        slice(clip(i * size // count), clip(-(-(i + 1) * size // count)))
        for i in range(count)
    ]


CASES = [
    Case(
        "roi_pool",
        _roi_pool,
        _roi_pool_reference,
        (apart((2, 5, 5, 2), 2), ROIS),
        none=(1,),
        any_shape=False,
    ),
]
