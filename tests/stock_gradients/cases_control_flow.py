# SPDX-License-Identifier: Apache-2.0
"""If and Case, alone and in each other.

Python's own gradient of these hands values from the call on to its gradient, where
the library computes them again; both have to agree.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal, single
from rows import call, case, ints, numeric


def both_ways(
    op: str, name: str, build: Callable[..., Any], *inputs: Any, **more: Any
) -> list[Case]:
    """One case for each branch of an If on the first input."""
    return [
        case(op, f"{name}_{way}", np.array(way == "true"), *inputs, build=build, **more)
        for way in ("true", "false")
    ]


def in_branch(build: Callable[..., Any]) -> Callable[..., Any]:
    """`build` as the only branch of a Case."""
    return lambda *xs: tf.switch_case(tf.constant(0), [lambda: build(*xs)])


def read(variable: Any, like: Any) -> Any:
    return call("ReadVariableOp", variable, dtype=like.dtype)


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
    def function(body: Callable[..., Any]) -> Any:
        return tf.function(body).get_concrete_function(tf.TensorSpec([None], tf.float64))

    branches = {"then_branch": function(lambda x: x * x), "else_branch": function(tf.exp)}
    return call("StatelessIf", p, [x], Tout=[tf.float64], **branches)


def reads_variable(p: Any, x: Any, v: Any) -> Any:
    return tf.cond(p, lambda: x * read(v, x) * read(v, x), lambda: tf.sin(x))


def rows_of_variable(p: Any, v: Any, i: Any) -> Any:
    def rows() -> Any:
        return call("ResourceGather", v, i, dtype=tf.float64) ** 2

    return tf.cond(p, rows, lambda: tf.zeros([3, 2], tf.float64))


def reports(p: Any, x: Any) -> Any:
    """Asserts and prints in the branches do not run again."""

    def checked() -> Any:
        positive = tf.debugging.assert_greater(x + 100, tf.zeros_like(x))
        with tf.control_dependencies([positive]):
            return x * x

    return tf.cond(p, checked, lambda: -x)


def list_of_tensors(p: Any, x: Any) -> Any:
    """A list in a variant goes in and comes out."""
    handle = call("TensorListFromTensor", x * x, element_shape=[2])

    def longer() -> Any:
        return call("TensorListPushBack", handle, x[0] * x[1])

    out = tf.cond(p, longer, lambda: handle)
    return call("TensorListStack", out, element_shape=[2], element_dtype=x.dtype)


X, Y = normal(3), normal(3, seed=1)
one_if = functools.partial(both_ways, "StatelessIf")
IF = [
    *one_if("two_formulas", two_formulas, X, Y),
    *one_if("of_one_each", of_one_each, X, Y),
    *one_if("without_input", without_input, X),
    *one_if("hands_on", hands_on, X, Y),
    *one_if("nested", nested, X, Y),
    *one_if("integers", integer_input, normal(4), ints(2, 0, 2)),
    *one_if("broadcast", broadcast, normal(3, 2), normal(2)),
    *one_if("other_shapes", other_shapes, normal(4)),
    *one_if("chained", chained, X, Y),
    *one_if("list_of_tensors", list_of_tensors, normal(3, 2)),
    *one_if("complex", two_formulas, complex_normal(3), complex_normal(3, seed=1)),
    *one_if("float", two_formulas, single(3), single(3, seed=1)),
    *one_if("several", several, X, X),
    # Python's gradient wants a boolean.
    *[
        numeric("StatelessIf", f"on_number_{number}", np.array(number), X, build=on_a_number)
        for number in (0, 2)
    ],
    case(
        "StatelessIf",
        "unknown_rank",
        *(np.array(True), normal(3, 2), normal(2)),
        build=broadcast,
        known_shapes="rank",
    ),
    case("StatelessIf", "known_shapes", np.array(False), X, Y, build=nested, known_shapes=True),
    *both_ways("If", "variable", reads_variable, X, X, variables=[2]),
    *both_ways(
        "If",
        "rows_of_variable",
        rows_of_variable,
        *(normal(4, 2), ints(2, 0, 2, dtype=np.int64)),
        variables=[1],
    ),
    *both_ways("If", "reports", reports, X),
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
    branches = [lambda: x * read(v, x), lambda: tf.exp(x), lambda: read(v, x) ** 2]
    return tf.switch_case(i, branches)


def choices(op: str, name: str, build: Callable[..., Any], numbers: Any, **more: Any) -> list[Case]:
    return [case(op, f"{name}_{i}", ints(i)[0], X, Y, build=build, **more) for i in numbers]


CASES = [
    *IF,
    *choices("StatelessCase", "choice", three_formulas, (0, 1, 2, 7, -1)),
    *choices("StatelessCase", "nested", case_in_case, (0, 1)),
    case("StatelessCase", "only_one", ints(0)[0], X, build=only_one),
    *choices("Case", "variable", cases_read_variable, (0, 1, 2), variables=[2]),
]
