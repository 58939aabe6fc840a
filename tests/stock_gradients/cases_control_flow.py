"""Branches: If and Case, alone and nested, and Switch and Merge, as tf.cond makes them in
TensorFlow 1.

Python's own gradient passes values from the call to its gradient; the library computes them again.
Both must agree.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal, single
from rows import call, case, ints, longs, numeric


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


def cond(yes: Callable[..., Any], no: Callable[..., Any]) -> Callable[..., Any]:
    """A choice between two functions of all inputs but the first, which chooses."""
    return lambda p, *xs: tf.cond(p, lambda: yes(*xs), lambda: no(*xs))


two_formulas = cond(lambda x, y: x * y + tf.sin(x), lambda x, y: x * x * y)
# Each branch depends on only one input.
of_one_each = cond(lambda x, y: x * x, lambda x, y: tf.exp(y))
without_input = cond(lambda x: x * x, tf.ones_like)
hands_on = cond(lambda x, y: (x, y, x), lambda x, y: (y, x, x * y))
gathers = cond(lambda x, i: tf.gather(x, i) ** 2, lambda x, i: tf.gather(x, i[::-1]) ** 3)
broadcast = cond(lambda x, y: x * y * y, lambda x, y: tf.reduce_sum(x / y, 0) + x)
matrices = cond(tf.matmul, lambda x, w: tf.tanh(tf.matmul(x, w)))
reads_twice = cond(lambda x, v: x * read(v, x) * read(v, x), lambda x, v: tf.sin(x))
reads_once = cond(lambda x, v: x * read(v, x), lambda x, v: x * x)
rows_of_variable = cond(
    lambda v, i: call("ResourceGather", v, i, dtype=tf.float64) ** 2,
    lambda v, i: tf.zeros([3, 2], tf.float64),
)


def several(p: Any, x: Any, y: Any) -> Any:
    """One result leads to another, one is an integer, one is unused."""

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


def chained(p: Any, x: Any, y: Any) -> Any:
    z = tf.cond(p, lambda: x * y, lambda: x + y)
    return tf.cond(tf.logical_not(p), lambda: z * x, lambda: z * z * y)


def on_a_number(p: Any, x: Any) -> Any:
    def function(body: Callable[..., Any]) -> Any:
        return tf.function(body).get_concrete_function(tf.TensorSpec([None], tf.float64))

    branches = {"then_branch": function(lambda x: x * x), "else_branch": function(tf.exp)}
    return call("StatelessIf", p, [x], Tout=[tf.float64], **branches)


def reports(p: Any, x: Any) -> Any:
    """Asserts and prints in the branches do not run again."""

    def checked() -> Any:
        positive = tf.debugging.assert_greater(x + 100, tf.zeros_like(x))
        with tf.control_dependencies([positive]):
            return x * x

    return tf.cond(p, checked, lambda: -x)


def list_of_tensors(p: Any, x: Any) -> Any:
    """A list in a variant is an input and an output."""
    handle = call("TensorListFromTensor", x * x, element_shape=[2])

    def longer() -> Any:
        return call("TensorListPushBack", handle, x[0] * x[1])

    out = tf.cond(p, longer, lambda: handle)
    return call("TensorListStack", out, element_shape=[2], element_dtype=x.dtype)


X, Y = normal(3), normal(3, seed=1)
Z = [complex_normal(3), complex_normal(3, seed=1)]
one_if = functools.partial(both_ways, "StatelessIf")
IF = [
    *one_if("two_formulas", two_formulas, X, Y),
    *one_if("of_one_each", of_one_each, X, Y),
    *one_if("without_input", without_input, X),
    *one_if("hands_on", hands_on, X, Y),
    *one_if("nested", nested, X, Y),
    *one_if("integers", gathers, normal(4), ints(2, 0, 2)),
    *one_if("broadcast", broadcast, normal(3, 2), normal(2)),
    # The result's shape depends on the branch.
    *one_if(
        "other_shapes",
        lambda p, x: tf.reduce_sum(tf.cond(p, lambda: x[:2] * x[1:3], lambda: x * x * x)),
        normal(4),
    ),
    *one_if("chained", chained, X, Y),
    *one_if("list_of_tensors", list_of_tensors, normal(3, 2)),
    *one_if("complex", two_formulas, *Z),
    *one_if("float", two_formulas, single(3), single(3, seed=1)),
    *one_if("several", several, X, X),
    # Python's gradient needs a boolean.
    *[
        numeric("StatelessIf", f"on_number_{number}", np.array(number), X, build=on_a_number)
        for number in (0, 2)
    ],
    case(
        "StatelessIf",
        "unknown_rank",
        *(np.array(True), normal(3, 2), normal(2)),
        build=broadcast,
        static="none",
    ),
    case("StatelessIf", "known_shapes", np.array(False), X, Y, build=nested, static="all"),
    *both_ways("If", "variable", reads_twice, X, X, variables=[2]),
    *both_ways(
        "If", "rows_of_variable", rows_of_variable, normal(4, 2), longs(2, 0, 2), variables=[1]
    ),
    *both_ways("If", "reports", reports, X),
]

# ---- Case


def nested_cases(i: Any, x: Any, y: Any) -> Any:
    def inner() -> Any:
        return tf.switch_case(1 - i, [lambda: x * x * y, lambda: y * y])

    return tf.switch_case(i, [inner, lambda: inner() * x])


def choices(
    op: str, name: str, branches: Callable[..., Any], numbers: Any, **more: Any
) -> list[Case]:
    def build(i: Any, x: Any, y: Any) -> Any:
        return tf.switch_case(i, branches(x, y))

    return [case(op, f"{name}_{i}", ints(i)[0], X, Y, build=build, **more) for i in numbers]


CASE = [
    *choices(
        "StatelessCase",
        "choice",
        lambda x, y: [lambda: x * y, lambda: tf.sin(x) + x * x, lambda: y**3 * x],
        (0, 1, 2, 7, -1),
    ),
    *(case("StatelessCase", f"nested_{i}", ints(i)[0], X, Y, build=nested_cases) for i in (0, 1)),
    case(
        "StatelessCase",
        "only_one",
        *(ints(0)[0], X),
        build=lambda i, x: tf.switch_case(i, [lambda: x * x]),
    ),
    *choices(
        "Case",
        "variable",
        lambda x, v: [lambda: x * read(v, x), lambda: tf.exp(x), lambda: read(v, x) ** 2],
        (0, 1, 2),
        variables=[2],
    ),
]

# ---- Switch and Merge


def of_version_1(
    op: str, name: str, build: Callable[..., Any], *inputs: Any, **more: Any
) -> list[Case]:
    """One case for each branch, with control flow of TensorFlow 1."""

    def built(*inputs: Any) -> Any:
        tf.compat.v1.disable_control_flow_v2()
        try:
            return build(*inputs)
        finally:
            tf.compat.v1.enable_control_flow_v2()

    return both_ways(op, name, built, *inputs, **more)


def nested_sums(p: Any, x: Any, y: Any) -> Any:
    positive = tf.reduce_sum(y) > 0

    def inner() -> Any:
        return tf.cond(positive, lambda: x * y, lambda: tf.cos(y) * x)

    return tf.cond(p, inner, lambda: x + tf.cond(positive, lambda: y, lambda: y * y))


def in_a_row(p: Any, x: Any, y: Any) -> Any:
    z = tf.cond(p, lambda: x * y, lambda: tf.sin(x))
    return z * tf.cond(p, lambda: z * x, lambda: y * y)


def captured_twice(p: Any, x: Any) -> Any:
    """One output of a Switch is used twice, and the other once."""
    no, yes = call("Switch", x * x, p)
    merged, index = call("Merge", [no * tf.sin(no), tf.exp(yes)])
    return merged * tf.cast(index + 1, x.dtype)


def of_three(p: Any, x: Any, y: Any) -> Any:
    """A Merge of three inputs."""
    no, yes = call("Switch", x, p)
    first, second = call("Switch", no, tf.reduce_sum(no) > 0)
    return call("Merge", [yes * yes, first**3, second * second])[0] * y


def loop(x: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]


def loop_before(p: Any, x: Any) -> Any:
    y = loop(x)
    return tf.cond(p, lambda: y * y, lambda: x)


def of_whole_numbers_before(p: Any, x: Any) -> Any:
    """No gradient goes through the loop."""
    count = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    return tf.cond(p, lambda: x**3 * tf.cast(count, x.dtype), lambda: x)


LOOP = "belongs to a TensorFlow 1 loop of an imported graph, so it has no gradient"
switch = functools.partial(of_version_1, "Switch")
merge = functools.partial(of_version_1, "Merge")
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
CASES = [
    *IF,
    *CASE,
    *merge("two_formulas", two_formulas, X, Y),
    *switch("of_one_each", of_one_each, X, Y),
    *merge("without_input", without_input, X),
    *switch("hands_on", hands_on, X, Y),
    *merge("several", several, X, Y),
    *merge("nested", nested_sums, X, Y),
    *merge("nested_below", nested_sums, X, -np.abs(Y)),
    *switch("in_a_row", in_a_row, X, Y),
    *switch("twice", captured_twice, X, **NUMERIC),
    *merge("of_three", of_three, X, Y, **NUMERIC),
    *merge("of_three_below", of_three, -np.abs(X), Y, **NUMERIC),
    *switch("complex", two_formulas, *Z),
    *switch("float", matrices, single(2, 3), single(3, 2), static="all"),
    *switch("variable", reads_once, X, Y, variables=[2]),
    *merge("loop_in_branch", lambda p, x: tf.cond(p, lambda: loop(x), lambda: x), X, error=LOOP),
    *merge("loop_before", loop_before, X, error=LOOP),
    *merge("of_whole_numbers_before", of_whole_numbers_before, X),
]
