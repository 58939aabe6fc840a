# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops, with and without broadcasting, and ZeroOut."""

import numpy as np
import tensorflow as tf
from op_case import Case, Function, apart, with_value

import tensorflow_ext as tfx


def _first_only(x: tf.Tensor) -> tf.Tensor:
    flat = tf.reshape(x, [-1])
    return tf.reshape(tf.concat([flat[:1], flat[1:] * 0], 0), tf.shape(x))


@tf.custom_gradient
def _clip_gradient(x: tf.Tensor) -> tuple[tf.Tensor, Function]:
    return tf.identity(x), lambda dy: tf.clip_by_value(dy, -0.5, 0.25)


_X = apart((3, 4), 0)
_ROW = apart((4,), 1) * 8 + 0.3

CASES = [
    Case("relu", tfx.relu, tf.nn.relu, (_X,)),
    Case("zero_out", tfx.zero_out, _first_only, (_X,)),
    Case(
        "zero_out_with_index",
        lambda x: tfx.zero_out_with_index(x).zeroed,
        _first_only,
        (_X,),
    ),
    Case(
        "sign_straight_through",
        lambda x: tfx.sign_straight_through(x, clip=0.25),
        lambda x: with_value(tf.clip_by_value(x, -0.25, 0.25), tf.sign(x)),
        (_X,),
    ),
    Case(
        "round_straight_through",
        lambda x: tfx.round_straight_through(x),
        lambda x: with_value(x, tf.round(x)),
        (_X * 9,),
    ),
    Case(
        "reverse_gradient",
        lambda x: tfx.reverse_gradient(x, scale=0.5),
        lambda x: with_value(-0.5 * x, x),
        (_X,),
    ),
    Case(
        "reverse_gradient_n",
        lambda x: tfx.reverse_gradient_n([x, tf.constant(3)], scale=0.5)[0],
        lambda x: with_value(-0.5 * x, x),
        (_X,),
    ),
    Case(
        "scale_gradient",
        lambda x: tfx.scale_gradient(x, scale=-3.0),
        lambda x: with_value(-3.0 * x, x),
        (_X,),
    ),
    Case(
        "clip_gradient",
        lambda x: tfx.clip_gradient(x, min=-0.5, max=0.25),
        _clip_gradient,
        (_X,),
    ),
    Case(
        "straight_through",
        tfx.straight_through,
        lambda value, surrogate: with_value(surrogate, value),
        (_X, _X[::-1] * 2),
        none=(0,),
    ),
    Case(
        "floor_mod",
        tfx.floor_mod,
        lambda x, y: x - tf.stop_gradient(tf.math.floor(x / y)) * y,
        (_X[:, np.newaxis] * 9, _ROW),
    ),
    Case(
        "multiply_left",
        tfx.multiply_left,
        lambda x, y: x * tf.stop_gradient(y),
        (_ROW, _X),
        none=(1,),
    ),
]
