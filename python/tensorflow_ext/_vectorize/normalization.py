# SPDX-License-Identifier: Apache-2.0
"""Normalization of rows. The iterations are more rows; what differs from one
iteration to the next, or is summed over its rows, stands outside of the op."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._common import Converter, Input, Output, call

_X, _SCALE, _OFFSET = 0, 1, 2  # of the forward ops


def _widen(tensor: tf.Tensor) -> tf.Tensor:
    """In the type that the op computes in, so that nothing is rounded twice."""
    return tensor if tensor.dtype == tf.float64 else tf.cast(tensor, tf.float32)


def _along_rows(parameter: Input, rows: Input) -> tf.Tensor:
    """scale or offset so that it multiplies the rows of one or all iterations."""
    if not parameter.is_stacked:
        return _widen(parameter.t)
    between = tf.rank(rows.t) - (2 if rows.is_stacked else 1)
    shape = tf.shape(parameter.t)
    shape = tf.concat([shape[:1], tf.ones([between], tf.int32), shape[1:]], axis=0)
    return tf.reshape(_widen(parameter.t), shape)


def _forward(vectorized: Input) -> list[Output]:
    """layer_norm and rms_norm."""
    x, scale = vectorized.input(_X), vectorized.input(_SCALE)
    offset = vectorized.input(_OFFSET) if vectorized.num_inputs > 2 else None
    parameters = [scale] if offset is None else [scale, offset]
    if not any(parameter.is_stacked for parameter in parameters):
        outputs = call(vectorized, x.t, *[parameter.t for parameter in parameters])
        return [pfor.wrap(output, True) for output in outputs]
    wide = _widen(x.t)
    ones = tf.ones(tf.shape(wide)[-1:], wide.dtype)
    plain = [ones] if offset is None else [ones, tf.zeros_like(ones)]
    normal, *statistics = call(vectorized, wide, *plain)
    y = normal * _along_rows(scale, x)
    if offset is not None:
        y += _along_rows(offset, x)
    return [
        pfor.wrap(tf.cast(y, x.t.dtype), True),
        *[pfor.wrap(statistic, x.is_stacked) for statistic in statistics],
    ]


def _sum_rows(stacked: tf.Tensor) -> tf.Tensor:
    """The sum over the rows of each iteration: [B, ..., D] as [B, D]."""
    return tf.reduce_sum(stacked, axis=tf.range(1, tf.rank(stacked) - 1))


def _backward(vectorized: Input, centered: bool) -> list[Output]:
    """Inputs: gradients, those of the statistics, x, scale, the statistics."""
    count = 2 if centered else 1  # of statistics
    x, scale = vectorized.input(count + 1), vectorized.input(count + 2)
    of_x = [count + 1, *range(count + 3, 2 * count + 3)]
    if any(vectorized.input(i).is_stacked for i in of_x):
        vectorized.stack_inputs(of_x)
    normal, *statistics = [_widen(vectorized.input(i).t) for i in of_x]
    if centered:
        normal -= statistics[0][..., tf.newaxis]
    normal *= statistics[-1][..., tf.newaxis]

    rows = [i for i in range(2 * count + 3) if i != count + 2]
    vectorized.stack_inputs(rows)
    gradients = vectorized.input(0)
    wide = _widen(gradients.t)
    arguments = [_widen(vectorized.input(i).t) for i in range(2 * count + 3)]
    arguments[0] = wide * _along_rows(scale, gradients)
    arguments[count + 2] = tf.ones(tf.shape(wide)[-1:], wide.dtype)
    outputs = [call(vectorized, *arguments)[0], _sum_rows(wide * normal)]
    if centered:
        outputs.append(_sum_rows(wide))
    return [pfor.wrap(tf.cast(output, x.t.dtype), True) for output in outputs]


def _layer_norm_grad(vectorized: Input) -> list[Output]:
    return _backward(vectorized, centered=True)


def _rms_norm_grad(vectorized: Input) -> list[Output]:
    return _backward(vectorized, centered=False)


CONVERTERS: dict[str, Converter] = {
    "layer_norm": _forward,
    "layer_norm_grad": _layer_norm_grad,
    "rms_norm": _forward,
    "rms_norm_grad": _rms_norm_grad,
}
