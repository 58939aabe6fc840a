# SPDX-License-Identifier: Apache-2.0
"""XLA's ops in functions that XLA compiles, and their gradients with them.

The ops but XlaWhile, which TensorFlow knows only there, run by themselves in the other
cases, and each op of their gradients as well.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import cases_xla
import cases_xla_convolution
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal
from rows import call, floats, numeric

_NAMES = {
    "XlaBroadcastHelper": "lhs",
    "XlaConcatND": "padded",
    "XlaConv": "groups",
    "XlaConvV2": "batch_groups",
    "XlaDot": "batch",
    "XlaDotV2": "two_of_each",
    "XlaDynamicSlice": "beyond_the_end_int32",
    "XlaDynamicUpdateSlice": "complex_int32",
    "XlaGather": "known_shapes",
    "XlaKeyValueSort": "rows",
    "XlaOptimizationBarrier": "of_all_kinds",
    "XlaPad": "cropped",
    "XlaReducePrecision": "float",
    "XlaSelfAdjointEig": "upper",
    "XlaSort": "rows",
    "XlaSplitND": "padded",
    "XlaSvd": "tall",
}


def _compiled(case: Case) -> Case:
    def build(*inputs: Any) -> Any:
        return tf.function(case.build, jit_compile=True)(*inputs)

    return dataclasses.replace(case, name=f"{case.name}_compiled", build=build, known_shapes=True)


# ---- XlaWhile


def concrete(function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
    return tf.function(function).get_concrete_function(*specs)


@functools.partial(tf.function, jit_compile=True, autograph=False)
def loop(x: Any, y: Any, count: Any) -> Any:
    """x sin(y)^count, and y."""
    variables = [tf.constant(0), count, x, y]
    cond = concrete(lambda i, n, x, y: i < n, variables)
    body = concrete(lambda i, n, x, y: (i + 1, n, x * tf.sin(y), y), variables)
    return call("XlaWhile", variables, cond=cond, body=body)[2:]


def three_times(x: Any, y: Any) -> Any:
    return loop(x, y, tf.constant(3))


INPUTS = normal(2), normal(2, seed=1)
COMPLEX = complex_normal(2), complex_normal(2, seed=1)
times = functools.partial(numeric, "XlaWhile", build=three_times, second_order=None)
CASES = [
    *(
        _compiled(case)
        for case in [*cases_xla.CASES, *cases_xla_convolution.CASES]
        if case.name == _NAMES[case.op]
    ),
    times("double", *INPUTS),
    times("known_shapes", *INPUTS, known_shapes=True),
    times("complex", *COMPLEX),
    times("float", *floats(*INPUTS), step=2**-6, tolerance=1e-2),
]
