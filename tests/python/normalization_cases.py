# SPDX-License-Identifier: Apache-2.0
"""Normalization of rows."""

import numpy as np
import tensorflow as tf
from op_case import Case

import tensorflow_ext as tfx

EPSILON = 0.25
_RNG = np.random.default_rng(5)
_X = _RNG.normal(size=(2, 3, 5))
_SCALE, _OFFSET = _RNG.normal(size=(2, 5))


def _together(y: tf.Tensor, *statistics: tf.Tensor) -> tf.Tensor:
    """All outputs in one tensor, so that all are differentiated."""
    columns = [tf.cast(s, y.dtype)[..., tf.newaxis] for s in statistics]
    return tf.concat([y, *columns], axis=-1)


def _layer_norm(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    return _together(*tfx.layer_norm(x, scale, offset, epsilon=EPSILON))


def _layer_norm_reference(
    x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor
) -> tf.Tensor:
    # Not tf.nn.moments, which stops the gradient at the mean: right once, but
    # not for the second order.
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean((x - mean) ** 2, -1, keepdims=True)
    inverse = 1 / tf.sqrt(variance + EPSILON)
    y = (x - mean) * inverse * scale + offset
    return _together(y, mean[..., 0], inverse[..., 0])


def _rms_norm(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    return _together(*tfx.rms_norm(x, scale, epsilon=EPSILON))


def _rms_norm_reference(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    mean = tf.reduce_mean(x * x, -1, keepdims=True)
    inverse = 1 / tf.sqrt(mean + EPSILON)
    return _together(x * inverse * scale, inverse[..., 0])


CASES: list[Case] = [
    Case(
        "layer_norm",
        _layer_norm,
        _layer_norm_reference,
        (_X, _SCALE, _OFFSET),
        any_shape=False,
    ),
    Case("rms_norm", _rms_norm, _rms_norm_reference, (_X, _SCALE), any_shape=False),
]
