# SPDX-License-Identifier: Apache-2.0
"""Ops of images and regions."""

import tensorflow as tf

from tensorflow_ext._vectorize._common import Converter, Input, Output, call
from tensorflow_ext._vectorize._folded import Folded


def _roi_pool(vectorized: Input) -> list[Output]:
    roi = Folded(vectorized)
    if roi.is_stacked(0):
        roi.stack(1)
        data = roi.fold(0)
        rois = roi.fold_rois(1, tf.shape(roi.tensor(0))[1])
    else:
        data, rois = roi.whole(0), roi.fold(1)
    return [roi.unfold(output) for output in call(vectorized, data, rois)]


def _roi_pool_grad(vectorized: Input) -> Output:
    roi = Folded(vectorized)
    roi.stack(0, 1, 2)
    shape = roi.shape(3)
    rois = roi.fold_rois(1, shape[0])
    inputs = roi.fold(0), rois, roi.fold(2), roi.fold_shape(shape)
    return roi.unfold(call(vectorized, *inputs))


def _roi_pool_grad_grad(vectorized: Input) -> Output:
    roi = Folded(vectorized)
    if roi.is_stacked(0):
        gradients = roi.fold(0)
        roi.stack(1, 2)
        rois = roi.fold_rois(1, tf.shape(roi.tensor(0))[1])
    else:
        gradients = roi.whole(0)
        roi.stack(1, 2)
        rois = roi.fold(1)
    return roi.unfold(call(vectorized, gradients, rois, roi.fold(2)))


CONVERTERS: dict[str, Converter] = {
    "roi_pool": _roi_pool,
    "roi_pool_grad": _roi_pool_grad,
    "roi_pool_grad_grad": _roi_pool_grad_grad,
}
