# SPDX-License-Identifier: Apache-2.0
"""Normalization of rows: one op runs the rows of all iterations. Multiplications by its
parameters, and sums over the rows of an iteration, are separate ops."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext._vectorize._rules import Output, Vectorized, call, tensors, widen


def with_parameters_of_each(vectorized: Vectorized) -> list[Output]:
    """The rule of layer_norm and rms_norm if scale or offset differs between iterations."""
    x, scale, *offset = vectorized.inputs
    wide = widen(x.t)
    ones = tf.ones(tf.shape(wide)[-1:], wide.dtype)
    zeros = [tf.zeros_like(ones)] * len(offset)
    normal, *statistics = call(vectorized, wide, ones, *zeros)
    y = normal * _along_rows(scale, x)
    for parameter in offset:
        y += _along_rows(parameter, x)
    return [
        pfor.wrap(tf.cast(y, x.t.dtype), True),
        *[pfor.wrap(statistic, x.is_stacked) for statistic in statistics],
    ]


def gradient(vectorized: Vectorized) -> list[Output]:
    """The rule of layer_norm_grad and rms_norm_grad. Their inputs are the gradients, those of
    the statistics, x, scale and the statistics: the mean (only for layer_norm) and the inverse."""
    last = vectorized.num_inputs - 1
    count = last // 2 - 1  # number of statistics
    has_mean = count == 2
    x, scale = count + 1, count + 2
    of_x = [x, *range(scale + 1, last + 1)]
    if any(vectorized.input(i).is_stacked for i in of_x):
        vectorized.stack_inputs(of_x)
    normal, *statistics = [widen(vectorized.input(i).t) for i in of_x]
    if has_mean:
        normal -= statistics[0][..., tf.newaxis]
    normal *= statistics[-1][..., tf.newaxis]

    vectorized.stack_inputs([i for i in range(last + 1) if i != scale])
    arguments = [widen(tensor) for tensor in tensors(vectorized)]
    gradients = arguments[0]
    arguments[0] *= _along_rows(vectorized.input(scale), vectorized.input(0))
    arguments[scale] = tf.ones(tf.shape(gradients)[-1:], gradients.dtype)
    outputs = [call(vectorized, *arguments)[0], _sum_rows(gradients * normal)]
    if has_mean:
        outputs.append(_sum_rows(gradients))
    dtype = vectorized.op.outputs[0].dtype
    return [pfor.wrap(tf.cast(output, dtype), True) for output in outputs]


def _along_rows(parameter: Output, rows: Output) -> tf.Tensor:
    """scale or offset so that it multiplies the rows of one or all iterations."""
    if not parameter.is_stacked:
        return widen(parameter.t)
    between = tf.rank(rows.t) - (2 if rows.is_stacked else 1)
    shape = tf.shape(parameter.t)
    shape = tf.concat([shape[:1], tf.ones([between], tf.int32), shape[1:]], axis=0)
    return tf.reshape(widen(parameter.t), shape)


def _sum_rows(stacked: tf.Tensor) -> tf.Tensor:
    """The sum over the rows of each iteration: [B, ..., D] as [B, D]."""
    return tf.reduce_sum(stacked, axis=tf.range(1, tf.rank(stacked) - 1))
