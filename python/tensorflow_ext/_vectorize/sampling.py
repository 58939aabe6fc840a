# SPDX-License-Identifier: Apache-2.0
"""Bilinear sampling: in regions and at given points."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._common import Converter, Input, Output, call
from tensorflow_ext._vectorize._folded import Folded


def _roi_align(vectorized: Input) -> Output:
    roi = Folded(vectorized)
    if roi.is_stacked(0):
        roi.stack(1)
        data = roi.fold(0)
        rois = roi.fold_rois(1, tf.shape(roi.tensor(0))[1])
    else:
        data, rois = roi.whole(0), roi.fold(1)
    return roi.unfold(call(vectorized, data, rois))


def _roi_align_grad(vectorized: Input) -> Output:
    roi = Folded(vectorized)
    roi.stack(0, 1)
    shape = roi.shape(2)
    rois = roi.fold_rois(1, shape[0])
    return roi.unfold(call(vectorized, roi.fold(0), rois, roi.fold_shape(shape)))


def _swap(tensor: tf.Tensor) -> tf.Tensor:
    """Swaps the first two dimensions."""
    rank = tf.rank(tensor)
    return tf.transpose(tensor, tf.concat([[1, 0], tf.range(2, rank)], axis=0))


def _resampler(vectorized: Input) -> Output:
    if not vectorized.input(0).is_stacked:
        # All iterations' points on the same images.
        data, warp = vectorized.input(0).t, vectorized.input(1).t
        return pfor.wrap(_swap(call(vectorized, data, _swap(warp))), True)
    points = Folded(vectorized)
    points.stack(1)
    return points.unfold(call(vectorized, points.fold(0), points.fold(1)))


def _resampler_grad(vectorized: Input) -> list[Output]:
    points = Folded(vectorized)
    points.stack(0, 1, 2)
    inputs = (points.fold(index) for index in range(3))
    return [points.unfold(output) for output in call(vectorized, *inputs)]


def _resampler_adjoint(vectorized: Input) -> Output:
    points = Folded(vectorized)
    points.stack(0, 1)
    shape = points.fold_shape(points.shape(2))
    return points.unfold(call(vectorized, points.fold(0), points.fold(1), shape))


CONVERTERS: dict[str, Converter] = {
    "roi_align": _roi_align,
    "roi_align_grad": _roi_align_grad,
    "resampler": _resampler,
    "resampler_grad": _resampler_grad,
    "resampler_derivative": _resampler,
    "resampler_adjoint": _resampler_adjoint,
}
