# SPDX-License-Identifier: Apache-2.0
"""ZeroOut, whose flat first element is one of each iteration."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._common import Converter, Input, Output


def _first_kept(stacked: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Keeps the first element of each example and zeros its others; also returns
    how many were kept in each: 1, or 0 in an empty example."""
    shape = tf.shape(stacked)
    rows = tf.reshape(stacked, [shape[0], tf.reduce_prod(shape[1:])])
    first = rows[:, :1]
    zeroed = tf.concat([first, tf.zeros_like(rows[:, 1:])], axis=1)
    zeroed = tf.reshape(zeroed, shape)
    zeroed.set_shape(stacked.shape)
    return zeroed, tf.shape(first)


def _zero_out(vectorized: Input) -> Output:
    zeroed, _ = _first_kept(vectorized.stacked_input(0))
    return pfor.wrap(zeroed, True)


def _zero_out_with_index(vectorized: Input) -> list[Output]:
    zeroed, kept = _first_kept(vectorized.stacked_input(0))
    index = tf.zeros(kept, tf.int32)
    return [pfor.wrap(zeroed, True), pfor.wrap(index, True)]


CONVERTERS: dict[str, Converter] = {
    "zero_out": _zero_out,
    "zero_out_with_index": _zero_out_with_index,
}
