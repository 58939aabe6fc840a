# SPDX-License-Identifier: Apache-2.0
"""Branches of Switch and Merge, as tf.cond makes them in TensorFlow 1."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from cases_control_flow import hands_on, of_one_each, several, two_formulas, without_input, yes
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops
v1 = tf.compat.v1


def of_version_1(build: Callable[..., Any]) -> Callable[..., Any]:
    """`build` with control flow of TensorFlow 1."""

    def built(*inputs: Any) -> Any:
        v1.disable_control_flow_v2()
        try:
            return build(*inputs)
        finally:
            v1.enable_control_flow_v2()

    return built


def both_ways(
    op: str, name: str, build: Callable[..., Any], *inputs: Any, **settings: Any
) -> list[Case]:
    """A case for each branch."""
    return [
        Case(op, f"{name}_{str(way).lower()}", of_version_1(build), [yes(way), *inputs], **settings)
        for way in (True, False)
    ]


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
    no, yes_ = raw.Switch(data=x * x, pred=p)
    merged = raw.Merge(inputs=[no * tf.sin(no), tf.exp(yes_)])
    return merged.output * tf.cast(merged.value_index + 1, x.dtype)


def of_three(p: Any, x: Any, y: Any) -> Any:
    """A Merge of three inputs."""
    no, yes_ = raw.Switch(data=x, pred=p)
    positive = tf.reduce_sum(no) > 0
    first, second = raw.Switch(data=no, pred=positive)
    return raw.Merge(inputs=[yes_ * yes_, first**3, second * second]).output * y


def with_matrix(p: Any, x: Any, w: Any) -> Any:
    def wide() -> Any:
        return tf.matmul(x, w)

    def high() -> Any:
        return tf.tanh(tf.matmul(x, w))

    return tf.cond(p, wide, high)


def reads_variable(p: Any, x: Any, v: Any) -> Any:
    def product() -> Any:
        return x * raw.ReadVariableOp(resource=v, dtype=x.dtype)

    return tf.cond(p, product, lambda: x * x)


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
_numeric: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
CASES = [
    *both_ways("Merge", "two_formulas", two_formulas, X, Y),
    *both_ways("Switch", "of_one_each", of_one_each, X, Y),
    *both_ways("Merge", "without_input", without_input, X),
    *both_ways("Switch", "hands_on", hands_on, X, Y),
    *both_ways("Merge", "several", several, X, Y),
    *both_ways("Merge", "nested", nested, X, Y),
    *both_ways("Merge", "nested_below", nested, X, -np.abs(Y)),
    *both_ways("Switch", "in_a_row", in_a_row, X, Y),
    *both_ways("Switch", "twice", captured_twice, X, **_numeric),
    *both_ways("Merge", "of_three", of_three, X, Y, **_numeric),
    *both_ways("Merge", "of_three_below", of_three, -np.abs(X), Y, **_numeric),
    *both_ways("Switch", "complex", two_formulas, complex_normal(3), complex_normal(3, seed=1)),
    *both_ways(
        "Switch",
        "float",
        with_matrix,
        normal(2, 3, dtype=np.float32),
        normal(3, 2, dtype=np.float32),
        known_shapes=True,
    ),
    *both_ways("Switch", "variable", reads_variable, X, Y, variables=[2]),
    *both_ways("Merge", "loop_in_branch", loop_in_branch, X, error=LOOP),
    *both_ways("Merge", "loop_before", loop_before, X, error=LOOP),
    *both_ways("Merge", "of_whole_numbers_before", of_whole_numbers_before, X),
]
