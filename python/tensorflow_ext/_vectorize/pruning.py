# SPDX-License-Identifier: Apache-2.0
"""PruneByMagnitude with a threshold for each iteration, by stock ops with the same
gradient."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._rules import Output, Vectorized, align, tensors


def prune_by_magnitude(vectorized: Vectorized) -> Output:
    vectorized.stack_inputs()
    weights, thresholds = tensors(vectorized)
    pruned = _prune(weights, weights, thresholds)
    if vectorized.op.get_attr("gradient") == b"straight_through":
        pruned = raw_ops.straight_through(pruned, weights)
    return pfor.wrap(pruned, True)


def prune_by_magnitude_grad(vectorized: Vectorized) -> Output:
    vectorized.stack_inputs()
    return pfor.wrap(_prune(*tensors(vectorized)), True)


def _prune(values: tf.Tensor, weights: tf.Tensor, thresholds: tf.Tensor) -> tf.Tensor:
    """`values` where the weights of an iteration reach its threshold, else 0."""
    is_pruned = tf.abs(weights) < align(thresholds, like=weights)
    return tf.where(is_pruned, tf.zeros_like(values), values)
