# SPDX-License-Identifier: Apache-2.0
"""Cases of CorrelationCost."""

import numpy as np
import tensorflow as tf
from op_case import Case, apart

import tensorflow_ext as tfx

_KERNEL_SIZE, _MAX_DISPLACEMENT, _STRIDE_1, _STRIDE_2, _PAD = 3, 2, 2, 2, 4


def _correlation_cost(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    return tfx.correlation_cost(
        a,
        b,
        kernel_size=_KERNEL_SIZE,
        max_displacement=_MAX_DISPLACEMENT,
        stride_1=_STRIDE_1,
        stride_2=_STRIDE_2,
        pad=_PAD,
    )


def _reference(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Displacement by displacement: a product, and averages over its windows."""
    edges = [[0, 0], [_PAD, _PAD], [_PAD, _PAD], [0, 0]]
    a, b = tf.pad(a, edges), tf.pad(b, edges)
    height, width = (size - 2 * _MAX_DISPLACEMENT for size in a.shape[1:3])
    top = left = _MAX_DISPLACEMENT
    steps = range(-_MAX_DISPLACEMENT, _MAX_DISPLACEMENT + 1, _STRIDE_2)
    inner = a[:, top : top + height, left : left + width]
    costs = []
    for dy in steps:
        for dx in steps:
            y, x = top + dy, left + dx
            products = inner * b[:, y : y + height, x : x + width]
            products = tf.reduce_mean(products, axis=3, keepdims=True)
            costs.append(
                tf.nn.avg_pool2d(products, _KERNEL_SIZE, _STRIDE_1, padding="VALID")
            )
    return tf.concat(costs, axis=3)


_SHAPE = (2, 5, 6, 3)

CASES: list[Case] = [
    Case(
        "correlation_cost",
        _correlation_cost,
        _reference,
        (apart(_SHAPE, 21), np.flip(apart(_SHAPE, 22), 1).copy()),
        any_shape=False,
    ),
]
