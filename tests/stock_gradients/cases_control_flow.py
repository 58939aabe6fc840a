# SPDX-License-Identifier: Apache-2.0
"""If and Case, alone and in each other.

Python's own gradient of these hands values from the call on to its gradient, where
the library computes them again; both have to agree.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


def yes(value: bool) -> np.ndarray:
    return np.array(value)


def both_ways(name: str, build: Callable[..., Any], *inputs: Any) -> list[Case]:
    """One case for each branch of an If on the first input."""
    return [
        Case(op, f"{name}_{str(way).lower()}", build, [yes(way), *inputs])
        for op in ("StatelessIf",)
        for way in (True, False)
    ]


def in_branch(build: Callable[..., Any]) -> Callable[..., Any]:
    """`build` as the only branch of a Case."""
    return lambda *xs: tf.switch_case(tf.constant(0), [lambda: build(*xs)])


# ---- If


def two_formulas(p: Any, x: Any, y: Any) -> Any:
    return tf.cond(p, lambda: x * y + tf.sin(x), lambda: x * x * y)


def of_one_each(p: Any, x: Any, y: Any) -> Any:
    """Each branch depends on one input only."""
    return tf.cond(p, lambda: x * x, lambda: tf.exp(y))


def without_input(p: Any, x: Any) -> Any:
    return tf.cond(p, lambda: x * x, lambda: tf.ones_like(x))


def hands_on(p: Any, x: Any, y: Any) -> Any:
    return tf.cond(p, lambda: (x, y, x), lambda: (y, x, x * y))


def several(p: Any, x: Any, y: Any) -> Any:
    """Results of which one leads to another, one is an integer, one is unused."""

    def product() -> Any:
        z = x * y
        return z, tf.sin(z) * z, tf.shape(x)[0], tf.exp(x)

    def power() -> Any:
        z = x**3
        return z, z * y, tf.size(y), z

    first, second, count, _ = tf.cond(p, product, power)
    return [first * second, second * tf.cast(count, x.dtype)]


def nested(p: Any, x: Any, y: Any) -> Any:
    def inner() -> Any:
        return tf.cond(x[0] > y[0], lambda: x * y * y, lambda: tf.tanh(x) * y)

    return tf.cond(p, inner, lambda: inner() * x)


def integer_input(p: Any, x: Any, i: Any) -> Any:
    return tf.cond(p, lambda: tf.gather(x, i) ** 2, lambda: tf.gather(x, i[::-1]) ** 3)


def broadcast(p: Any, x: Any, y: Any) -> Any:
    return tf.cond(p, lambda: x * y * y, lambda: tf.reduce_sum(x / y, 0) + x)


def other_shapes(p: Any, x: Any) -> Any:
    """The result's shape depends on the branch."""
    return tf.reduce_sum(tf.cond(p, lambda: x[:2] * x[1:3], lambda: x * x * x))


def chained(p: Any, x: Any, y: Any) -> Any:
    z = tf.cond(p, lambda: x * y, lambda: x + y)
    return tf.cond(tf.logical_not(p), lambda: z * x, lambda: z * z * y)


def on_a_number(p: Any, x: Any) -> Any:
    return raw.StatelessIf(
        cond=p,
        input=[x],
        Tout=[tf.float64],
        then_branch=_function(lambda x: x * x),
        else_branch=_function(lambda x: tf.exp(x)),
    )[0]


def _function(body: Callable[..., Any], rank: int = 1) -> Any:
    spec = tf.TensorSpec([None] * rank, tf.float64)
    count = body.__code__.co_argcount
    return tf.function(body).get_concrete_function(*[spec] * count)


def reads_variable(p: Any, x: Any, v: Any) -> Any:
    def value() -> Any:
        return raw.ReadVariableOp(resource=v, dtype=x.dtype)

    return tf.cond(p, lambda: x * value() * value(), lambda: tf.sin(x))


def rows_of_variable(p: Any, v: Any, i: Any) -> Any:
    return tf.cond(
        p,
        lambda: raw.ResourceGather(resource=v, indices=i, dtype=tf.float64) ** 2,
        lambda: tf.zeros([3, 2], tf.float64),
    )


def reports(p: Any, x: Any) -> Any:
    """Asserts and prints in the branches do not run again."""

    def checked() -> Any:
        positive = tf.debugging.assert_greater(x + 100, tf.zeros_like(x))
        with tf.control_dependencies([positive]):
            return x * x

    return tf.cond(p, checked, lambda: -x)


def list_of_tensors(p: Any, x: Any) -> Any:
    """A list in a variant goes in and comes out."""
    handle = raw.TensorListFromTensor(tensor=x * x, element_shape=[2])

    def longer() -> Any:
        return raw.TensorListPushBack(input_handle=handle, tensor=x[0] * x[1])

    out = tf.cond(p, longer, lambda: handle)
    return raw.TensorListStack(input_handle=out, element_shape=[2], element_dtype=x.dtype)


IF = [
    *both_ways("two_formulas", two_formulas, normal(3), normal(3, seed=1)),
    *both_ways("of_one_each", of_one_each, normal(3), normal(3, seed=1)),
    *both_ways("without_input", without_input, normal(3)),
    *both_ways("hands_on", hands_on, normal(3), normal(3, seed=1)),
    *both_ways("nested", nested, normal(3), normal(3, seed=1)),
    *both_ways("integers", integer_input, normal(4), np.array([2, 0, 2], np.int32)),
    *both_ways("broadcast", broadcast, normal(3, 2), normal(2)),
    *both_ways("other_shapes", other_shapes, normal(4)),
    *both_ways("chained", chained, normal(3), normal(3, seed=1)),
    *both_ways("list_of_tensors", list_of_tensors, normal(3, 2)),
    *both_ways("complex", two_formulas, complex_normal(3), complex_normal(3, seed=1)),
    *both_ways(
        "float", two_formulas, normal(3, dtype=np.float32), normal(3, dtype=np.float32, seed=1)
    ),
    *[
        Case("StatelessIf", f"several_{way}", several, [yes(way), normal(3), normal(3)])
        for way in (True, False)
    ],
    # Python's gradient wants a boolean.
    *[
        Case(
            "StatelessIf",
            f"on_number_{number}",
            on_a_number,
            [np.array(number), normal(3)],
            reference="numeric",
            second_order="numeric",
        )
        for number in (0, 2)
    ],
    Case(
        "StatelessIf",
        "unknown_rank",
        broadcast,
        [yes(True), normal(3, 2), normal(2)],
        known_shapes="rank",
    ),
    Case(
        "StatelessIf",
        "known_shapes",
        nested,
        [yes(False), normal(3), normal(3, seed=1)],
        known_shapes=True,
    ),
    *[
        Case(
            "If", f"variable_{way}", reads_variable, [yes(way), normal(3), normal(3)], variables=[2]
        )
        for way in (True, False)
    ],
    *[
        Case(
            "If",
            f"rows_of_variable_{way}",
            rows_of_variable,
            [yes(way), normal(4, 2), np.array([2, 0, 2])],
            variables=[1],
        )
        for way in (True, False)
    ],
    *[Case("If", f"reports_{way}", reports, [yes(way), normal(3)]) for way in (True, False)],
]

# ---- Case


def three_formulas(i: Any, x: Any, y: Any) -> Any:
    return tf.switch_case(i, [lambda: x * y, lambda: tf.sin(x) + x * x, lambda: y**3 * x])


def only_one(i: Any, x: Any) -> Any:
    return tf.switch_case(i, [lambda: x * x])


def case_in_case(i: Any, x: Any, y: Any) -> Any:
    def inner() -> Any:
        return tf.switch_case(1 - i, [lambda: x * x * y, lambda: y * y])

    return tf.switch_case(i, [inner, lambda: inner() * x])


def cases_read_variable(i: Any, x: Any, v: Any) -> Any:
    def value() -> Any:
        return raw.ReadVariableOp(resource=v, dtype=x.dtype)

    return tf.switch_case(i, [lambda: x * value(), lambda: tf.exp(x), lambda: value() ** 2])


CASE = [
    *[
        Case(
            "StatelessCase",
            f"choice_{i}",
            three_formulas,
            [np.array(i, np.int32), normal(3), normal(3, seed=1)],
        )
        for i in (0, 1, 2, 7, -1)
    ],
    *[
        Case(
            "StatelessCase",
            f"nested_{i}",
            case_in_case,
            [np.array(i, np.int32), normal(3), normal(3, seed=1)],
        )
        for i in (0, 1)
    ],
    Case("StatelessCase", "only_one", only_one, [np.array(0, np.int32), normal(3)]),
    *[
        Case(
            "Case",
            f"variable_{i}",
            cases_read_variable,
            [np.array(i, np.int32), normal(3), normal(3, seed=1)],
            variables=[2],
        )
        for i in (0, 1, 2)
    ],
]

CASES = [*IF, *CASE]
