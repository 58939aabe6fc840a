# SPDX-License-Identifier: Apache-2.0
"""Activation functions."""

import math

import tensorflow as tf
from op_case import Case, apart

import tensorflow_ext as tfx

_X = apart((3, 4), 0) * 4


# tf.nn.gelu rounds its constants to float.
def _gelu(x: tf.Tensor) -> tf.Tensor:
    return 0.5 * x * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _gelu_exact(x: tf.Tensor) -> tf.Tensor:
    return 0.5 * x * (1 + tf.math.erf(x / math.sqrt(2)))


def _hardshrink(x: tf.Tensor) -> tf.Tensor:
    return tf.where((x < -0.25) | (x > 0.5), x, tf.zeros_like(x))


CASES = [
    Case("gelu", tfx.gelu, _gelu, (_X,)),
    Case(
        "gelu, exact",
        lambda x: tfx.gelu(x, approximate=False),
        _gelu_exact,
        (_X,),
    ),
    Case(
        "swiglu",
        tfx.swiglu,
        lambda gate, value: tf.nn.silu(gate) * value,
        (_X, _X[::-1] * 0.5),
    ),
    Case("mish", tfx.mish, lambda x: x * tf.tanh(tf.nn.softplus(x)), (_X,)),
    Case("lisht", tfx.lisht, lambda x: x * tf.tanh(x), (_X,)),
    Case("tanhshrink", tfx.tanhshrink, lambda x: x - tf.tanh(x), (_X,)),
    Case(
        "hardshrink",
        lambda x: tfx.hardshrink(x, lower=-0.25, upper=0.5),
        _hardshrink,
        (_X,),
    ),
    Case(
        "softshrink",
        lambda x: tfx.softshrink(x, lower=-0.25, upper=0.5),
        lambda x: tf.nn.relu(x - 0.5) - tf.nn.relu(-0.25 - x),
        (_X,),
    ),
]
