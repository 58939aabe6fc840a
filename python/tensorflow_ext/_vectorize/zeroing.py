# SPDX-License-Identifier: Apache-2.0
"""ZeroOut: each iteration keeps its own first element."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._rules import Output, Vectorized


def zero_out(vectorized: Vectorized) -> Output:
    zeroed, _ = _keep_first(vectorized.stacked_input(0))
    return pfor.wrap(zeroed, True)


def zero_out_with_index(vectorized: Vectorized) -> list[Output]:
    zeroed, kept = _keep_first(vectorized.stacked_input(0))
    index = tf.zeros(kept, tf.int32)
    return [pfor.wrap(zeroed, True), pfor.wrap(index, True)]


def _keep_first(stacked: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Zeros all but the first element of each iteration. Also returns the shape of the kept
    elements: [B, 1], or [B, 0] if iterations are empty."""
    shape = tf.shape(stacked)
    rows = tf.reshape(stacked, [shape[0], tf.reduce_prod(shape[1:])])
    first = rows[:, :1]
    zeroed = tf.concat([first, tf.zeros_like(rows[:, 1:])], axis=1)
    zeroed = tf.reshape(zeroed, shape)
    zeroed.set_shape(stacked.shape)
    return zeroed, tf.shape(first)
