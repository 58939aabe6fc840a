# SPDX-License-Identifier: Apache-2.0
"""PruneByMagnitude: elementwise, with a threshold that all elements share."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._common import Converter, Input, Output, call


def _pruned(weights: tf.Tensor, thresholds: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """`values` where the weights of an iteration reach its threshold, else 0."""
    ones = tf.ones([tf.rank(weights) - 1], tf.int32)
    shape = tf.concat([tf.shape(thresholds), ones], axis=0)
    is_pruned = tf.abs(weights) < tf.reshape(thresholds, shape)
    return tf.where(is_pruned, tf.zeros_like(values), values)


def _prune_by_magnitude(vectorized: Input) -> Output:
    """One op for one threshold; of several, stock ops with the same gradient."""
    if not vectorized.input(1).is_stacked:
        weights = vectorized.stacked_input(0)
        return pfor.wrap(call(vectorized, weights, vectorized.input(1).t), True)
    vectorized.stack_inputs()
    weights, thresholds = vectorized.input(0).t, vectorized.input(1).t
    pruned = _pruned(weights, thresholds, weights)
    if vectorized.op.get_attr("gradient") == b"straight_through":
        pruned = raw_ops.straight_through(pruned, weights)
    return pfor.wrap(pruned, True)


def _prune_by_magnitude_grad(vectorized: Input) -> Output:
    if not vectorized.input(2).is_stacked:
        vectorized.stack_inputs([0, 1])
        tensors = [vectorized.input(i).t for i in range(3)]
        return pfor.wrap(call(vectorized, *tensors), True)
    vectorized.stack_inputs()
    gradients, weights, thresholds = (vectorized.input(i).t for i in range(3))
    return pfor.wrap(_pruned(weights, thresholds, gradients), True)


CONVERTERS: dict[str, Converter] = {
    "prune_by_magnitude": _prune_by_magnitude,
    "prune_by_magnitude_grad": _prune_by_magnitude_grad,
}
