# SPDX-License-Identifier: Apache-2.0
"""XlaWhile, which TensorFlow knows only in what XLA compiles."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case
from random_values import complex_normal, normal
from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla


def concrete(function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
    return tf.function(function).get_concrete_function(*specs)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return tf.function(function, jit_compile=True, autograph=False)


@compiled
def loop(x: Any, y: Any, count: Any) -> Any:
    """x sin(y)^count, and y."""
    variables = [tf.constant(0), count, x, y]
    _, _, *results = xla.xla_while(
        input=variables,
        cond=concrete(lambda i, n, x, y: i < n, variables),
        body=concrete(lambda i, n, x, y: (i + 1, n, x * tf.sin(y), y), variables),
    )
    return results


def three_times(x: Any, y: Any) -> Any:
    return loop(x, y, tf.constant(3))


INPUTS = [normal(2), normal(2, seed=1)]
SINGLE = [x.astype(np.float32) for x in INPUTS]
COMPLEX = [complex_normal(2), complex_normal(2, seed=1)]
COARSE = {"step": 2**-6, "tolerance": 1e-2}
CASES: list[Case] = [
    numeric("XlaWhile", name, three_times, inputs, second_order=None, **more)
    for name, inputs, more in (
        ("double", INPUTS, {}),
        ("known_shapes", INPUTS, {"known_shapes": True}),
        ("complex", COMPLEX, {}),
        ("float", SINGLE, COARSE),
    )
]
