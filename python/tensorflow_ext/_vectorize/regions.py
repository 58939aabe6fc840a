# SPDX-License-Identifier: Apache-2.0
"""Ops of images and regions."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._common import (
    HALF_TYPES,
    Converter,
    Input,
    Output,
    call,
)


class _RoiPool:
    """The inputs of one of the RoiPool ops with the iterations folded away.

    Images [B, N, ...] become B * N images and regions [B, R, 5] become B * R
    regions, whose batch index then counts the images of the iterations before.
    Half types hold such an index only if it is small, so the op runs in float,
    which changes no result: it pools, gathers, or sums in float anyway.
    """

    def __init__(self, vectorized: Input) -> None:
        self.vectorized = vectorized
        self.length = vectorized.pfor.loop_len_vector[0]
        self.dtype = vectorized.op.inputs[0].dtype

    def is_stacked(self, index: int) -> bool:
        return self.vectorized.input(index).is_stacked

    def stack(self, *indices: int) -> None:
        self.vectorized.stack_inputs(list(indices))

    def tensor(self, index: int) -> tf.Tensor:
        return self.vectorized.input(index).t

    def fold(self, index: int) -> tf.Tensor:
        """[B, n, ...] as [B * n, ...]."""
        tensor = self._widen(self.tensor(index))
        shape = tf.shape(tensor)
        folded = tf.concat([[shape[0] * shape[1]], shape[2:]], axis=0)
        result = tf.reshape(tensor, folded)
        result.set_shape(tf.TensorShape([None]).concatenate(tensor.shape[2:]))
        return result

    def whole(self, index: int) -> tf.Tensor:
        """An input that no iteration changes."""
        return self._widen(self.tensor(index))

    def fold_rois(self, index: int, images: tf.Tensor) -> tf.Tensor:
        """Regions [B, R, 5] as [B * R, 5], iteration b counting its images from
        b * `images`. An index that named no image names none afterwards."""
        rois = self._widen(self.tensor(index))
        images = tf.cast(images, rois.dtype)
        batch = rois[..., 0]
        # As the op reads it: the fraction is dropped.
        batch = tf.where(batch < 0, tf.math.ceil(batch), tf.math.floor(batch))
        offset = tf.cast(tf.range(self.length), rois.dtype)[:, tf.newaxis] * images
        valid = (batch >= 0) & (batch < images)
        batch = tf.where(valid, batch + offset, -tf.ones_like(batch))
        rois = tf.concat([batch[..., tf.newaxis], rois[..., 1:]], axis=2)
        return tf.reshape(rois, [-1, 5])

    def unfold(self, tensor: tf.Tensor) -> Output:
        """[B * n, ...] as [B, n, ...]."""
        shape = tf.shape(tensor)
        # Not -1, which an empty tensor leaves open.
        count = shape[0] // tf.maximum(self.length, 1)
        unfolded = tf.concat([[self.length, count], shape[1:]], axis=0)
        result = tf.reshape(tensor, unfolded)
        if tensor.dtype == tf.float32:
            result = tf.cast(result, self.dtype)
        return pfor.wrap(result, True)

    def _widen(self, tensor: tf.Tensor) -> tf.Tensor:
        return tf.cast(tensor, tf.float32) if tensor.dtype in HALF_TYPES else tensor


def _roi_pool(vectorized: Input) -> list[Output]:
    roi = _RoiPool(vectorized)
    if roi.is_stacked(0):
        roi.stack(1)
        data = roi.fold(0)
        rois = roi.fold_rois(1, tf.shape(roi.tensor(0))[1])
    else:
        data, rois = roi.whole(0), roi.fold(1)
    return [roi.unfold(output) for output in call(vectorized, data, rois)]


def _roi_pool_grad(vectorized: Input) -> Output:
    roi = _RoiPool(vectorized)
    roi.stack(0, 1, 2)
    shape = roi.tensor(3)
    if roi.is_stacked(3):
        # Outputs that stack have one shape.
        with tf.control_dependencies([tf.debugging.assert_equal(shape, shape[:1])]):
            shape = tf.identity(shape)[0]
    rois = roi.fold_rois(1, shape[0])
    folded_shape = tf.concat([[roi.length * shape[0]], shape[1:]], axis=0)
    return roi.unfold(call(vectorized, roi.fold(0), rois, roi.fold(2), folded_shape))


def _roi_pool_grad_grad(vectorized: Input) -> Output:
    roi = _RoiPool(vectorized)
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
