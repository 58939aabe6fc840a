# SPDX-License-Identifier: Apache-2.0
"""Iterations as more images of a batch."""

import tensorflow as tf

from tensorflow_ext._vectorize._common import HALF_TYPES, Input, Output, fold, unfold


class Folded:
    """The inputs of an op over images with the iterations folded away.

    Images [B, N, ...] become B * N images and regions [B, R, 5] become B * R
    regions, whose batch index then counts the images of the iterations before.
    Half types hold such an index only if it is small, so an op over regions runs
    in float, which changes no result: it computes in float anyway.
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
        return fold(self.whole(index))

    def whole(self, index: int) -> tf.Tensor:
        """An input as it is, in the type that the op runs in."""
        tensor = self.tensor(index)
        return tf.cast(tensor, tf.float32) if tensor.dtype in HALF_TYPES else tensor

    def fold_rois(self, index: int, images: tf.Tensor) -> tf.Tensor:
        """Regions [B, R, 5] as [B * R, 5], iteration b counting its images from
        b * `images`. An index that named no image names none afterwards."""
        rois = self.whole(index)
        images = tf.cast(images, rois.dtype)
        batch = rois[..., 0]
        # As the op reads it: the fraction is dropped.
        batch = tf.where(batch < 0, tf.math.ceil(batch), tf.math.floor(batch))
        offset = tf.cast(tf.range(self.length), rois.dtype)[:, tf.newaxis] * images
        valid = (batch >= 0) & (batch < images)
        batch = tf.where(valid, batch + offset, -tf.ones_like(batch))
        rois = tf.concat([batch[..., tf.newaxis], rois[..., 1:]], axis=2)
        return tf.reshape(rois, [-1, 5])

    def shape(self, index: int) -> tf.Tensor:
        """The value of an input that is the shape of images, in one iteration."""
        shape = self.tensor(index)
        if self.is_stacked(index):
            # Outputs that stack have one shape.
            same = tf.debugging.assert_equal(shape, shape[:1])
            with tf.control_dependencies([same]):
                shape = tf.identity(shape)[0]
        return shape

    def fold_shape(self, shape: tf.Tensor) -> tf.Tensor:
        """[N, H, W, C] as [B * N, H, W, C]."""
        return tf.concat([[self.length * shape[0]], shape[1:]], axis=0)

    def unfold(self, tensor: tf.Tensor) -> Output:
        """[B * n, ...] as [B, n, ...]."""
        if tensor.dtype == tf.float32:
            tensor = tf.cast(tensor, self.dtype)
        return unfold(self.vectorized, tensor)
