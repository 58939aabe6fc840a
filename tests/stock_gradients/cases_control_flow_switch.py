# SPDX-License-Identifier: Apache-2.0
"""Branches of Switch and Merge, as tf.cond makes them in TensorFlow 1."""

import functools
from collections.abc import Callable
from typing import Any

import cases_control_flow as version_2
import numpy as np
import tensorflow as tf
from cases_control_flow import read
from parity import Case
from random_values import complex_normal, normal, single
from rows import call


def of_version_1(build: Callable[..., Any]) -> Callable[..., Any]:
    """`build` with control flow of TensorFlow 1."""

    def built(*inputs: Any) -> Any:
        tf.compat.v1.disable_control_flow_v2()
        try:
            return build(*inputs)
        finally:
            tf.compat.v1.enable_control_flow_v2()

    return built


def both_ways(
    op: str, name: str, build: Callable[..., Any], *inputs: Any, **more: Any
) -> list[Case]:
    return version_2.both_ways(op, name, of_version_1(build), *inputs, **more)


def nested(p: Any, x: Any, y: Any) -> Any:
    positive = tf.reduce_sum(y) > 0

    def inner() -> Any:
        return tf.cond(positive, lambda: x * y, lambda: tf.cos(y) * x)

    return tf.cond(p, inner, lambda: x + tf.cond(positive, lambda: y, lambda: y * y))


def in_a_row(p: Any, x: Any, y: Any) -> Any:
    z = tf.cond(p, lambda: x * y, lambda: tf.sin(x))
    return z * tf.cond(p, lambda: z * x, lambda: y * y)


def captured_twice(p: Any, x: Any) -> Any:
    """Of one Switch, one output is used twice and the other once."""
    no, yes = call("Switch", x * x, p)
    merged, index = call("Merge", [no * tf.sin(no), tf.exp(yes)])
    return merged * tf.cast(index + 1, x.dtype)


def of_three(p: Any, x: Any, y: Any) -> Any:
    """A Merge of three inputs."""
    no, yes = call("Switch", x, p)
    first, second = call("Switch", no, tf.reduce_sum(no) > 0)
    return call("Merge", [yes * yes, first**3, second * second])[0] * y


def with_matrix(p: Any, x: Any, w: Any) -> Any:
    return tf.cond(p, lambda: tf.matmul(x, w), lambda: tf.tanh(tf.matmul(x, w)))


def reads_variable(p: Any, x: Any, v: Any) -> Any:
    return tf.cond(p, lambda: x * read(v, x), lambda: x * x)


def loop(x: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]


def loop_in_branch(p: Any, x: Any) -> Any:
    return tf.cond(p, lambda: loop(x), lambda: x)


def loop_before(p: Any, x: Any) -> Any:
    y = loop(x)
    return tf.cond(p, lambda: y * y, lambda: x)


def of_whole_numbers_before(p: Any, x: Any) -> Any:
    """No gradient goes through the loop."""
    count = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    return tf.cond(p, lambda: x**3 * tf.cast(count, x.dtype), lambda: x)


X, Y = normal(3), normal(3, seed=1)
LOOP = "belongs to a loop of TensorFlow 1 that TF_NewWhile did not make"
switch = functools.partial(both_ways, "Switch")
merge = functools.partial(both_ways, "Merge")
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
CASES = [
    *merge("two_formulas", version_2.two_formulas, X, Y),
    *switch("of_one_each", version_2.of_one_each, X, Y),
    *merge("without_input", version_2.without_input, X),
    *switch("hands_on", version_2.hands_on, X, Y),
    *merge("several", version_2.several, X, Y),
    *merge("nested", nested, X, Y),
    *merge("nested_below", nested, X, -np.abs(Y)),
    *switch("in_a_row", in_a_row, X, Y),
    *switch("twice", captured_twice, X, **NUMERIC),
    *merge("of_three", of_three, X, Y, **NUMERIC),
    *merge("of_three_below", of_three, -np.abs(X), Y, **NUMERIC),
    *switch("complex", version_2.two_formulas, complex_normal(3), complex_normal(3, seed=1)),
    *switch("float", with_matrix, single(2, 3), single(3, 2), known_shapes=True),
    *switch("variable", reads_variable, X, Y, variables=[2]),
    *merge("loop_in_branch", loop_in_branch, X, error=LOOP),
    *merge("loop_before", loop_before, X, error=LOOP),
    *merge("of_whole_numbers_before", of_whole_numbers_before, X),
]
