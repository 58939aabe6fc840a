# SPDX-License-Identifier: Apache-2.0
"""Cases of EmbeddingBag."""

import numpy as np
import tensorflow as tf
from op_case import Case, apart

import tensorflow_ext as tfx

_INDICES = np.array([[0, 2, 5, 2], [4, 4, 1, 0], [3, 5, 0, 2]])


def _sum(params: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    return tfx.embedding_bag(_INDICES, params, weights)


def _mean(params: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    indices = tf.constant(_INDICES, tf.int32)
    return tfx.embedding_bag(indices, params, weights, combiner="mean")


def _sum_reference(params: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    # By a product, so that the gradient is a tensor and not IndexedSlices.
    rows = tf.tensordot(tf.one_hot(_INDICES, 6, dtype=params.dtype), params, 1)
    return tf.reduce_sum(rows * weights[..., tf.newaxis], axis=1)


def _mean_reference(params: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    return _sum_reference(params, weights) / _INDICES.shape[1]


_INPUTS = (apart((6, 5), 23), apart(_INDICES.shape, 24))

CASES: list[Case] = [
    Case("embedding_bag", _sum, _sum_reference, _INPUTS, any_shape=False),
    Case("embedding_bag, mean", _mean, _mean_reference, _INPUTS, any_shape=False),
]
