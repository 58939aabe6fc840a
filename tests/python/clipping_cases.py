# SPDX-License-Identifier: Apache-2.0
"""Clipping of many tensors together."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from op_case import Case, apart

import tensorflow_ext as tfx


def _flat(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
    return tf.concat([tf.reshape(tensor, [-1]) for tensor in tensors], axis=0)


def _clip(x: tf.Tensor, y: tf.Tensor, clip_norm: tf.Tensor) -> tf.Tensor:
    clipped, norm = tfx.clip_by_global_norm([x, y], clip_norm)
    return _flat([*clipped, norm])


def _reference(x: tf.Tensor, y: tf.Tensor, clip_norm: tf.Tensor) -> tf.Tensor:
    norm = tf.sqrt(tf.reduce_sum(x * x) + tf.reduce_sum(y * y))
    scale = tf.minimum(clip_norm / norm, 1.0)
    return _flat([x * scale, y * scale, norm])


_X, _Y = apart((3, 4), 0), apart((5,), 1)

CASES = [
    Case(
        "clip_by_global_norm",
        _clip,
        _reference,
        (_X, _Y, np.array(0.5)),
        exact=False,
    ),
    Case(
        "clip_by_global_norm, not clipped",
        _clip,
        _reference,
        (_X, _Y, np.array(3.0)),
        exact=False,
    ),
]
