# SPDX-License-Identifier: Apache-2.0
"""Sampling of images at given points."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._batches import Role, batched
from tensorflow_ext._vectorize._rules import Output, Vectorized, call

_images_of_each = batched(Role.ROWS, Role.ROWS)


def resampler(vectorized: Vectorized) -> Output | list[Output]:
    """The rule for images [N, H, W, C] and points [N, ..., 2]."""
    images, points = vectorized.inputs
    if images.is_stacked:
        return _images_of_each(vectorized)
    # The points of all iterations become more points of each image.
    return pfor.wrap(_swap(call(vectorized, images.t, _swap(points.t))), True)


def _swap(tensor: tf.Tensor) -> tf.Tensor:
    """Swaps the first two dimensions."""
    order = tf.concat([[1, 0], tf.range(2, tf.rank(tensor))], axis=0)
    return tf.transpose(tensor, order)
