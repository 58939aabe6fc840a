# SPDX-License-Identifier: Apache-2.0
"""Loops: of a fixed number of iterations and of one that depends on the data."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from cases_control_flow import in_branch, read
from random_values import complex_normal, normal
from rows import call, case, floats, ints


def repeat(count: Any, body: Callable[..., Any], *variables: Any, **settings: Any) -> Any:
    """The variables after `count` iterations of `body`."""

    def step(i: Any, *values: Any) -> Any:
        made = body(*values)
        return (i + 1, *(made if isinstance(made, tuple) else (made,)))

    return tf.while_loop(lambda i, *_: i < count, step, (0, *variables), **settings)[1:]


def powers(x: Any) -> Any:
    """The captured input meets every iteration."""
    return repeat(4, lambda y: tf.sin(y) * x, x)


def fed_count(x: Any, n: Any) -> Any:
    return repeat(n, lambda y: y * x + tf.exp(-y), x)


def pairs(x: Any, y: Any) -> Any:
    return repeat(3, lambda a, b: (a * b, b + a), x, y)


def first_of_pairs(x: Any, y: Any) -> Any:
    """The second variable gets its gradient by way of the first one only."""
    return repeat(3, lambda a, b: (a * b, b + tf.sin(b)), x, y)[0]


def until(x: Any) -> Any:
    return tf.while_loop(lambda y: tf.reduce_sum(y * y) < 50.0, lambda y: (y * y + x,), (x,))


def grows(x: Any) -> Any:
    """The variable's shape changes."""
    return repeat(
        3,
        lambda y: tf.concat([y, y[-1:] * x[:1]], 0),
        x,
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )


def nested(x: Any, y: Any) -> Any:
    def inner(a: Any) -> Any:
        return repeat(2, lambda b: tf.sin(b) * x * a, a)[0]

    return repeat(3, lambda a: inner(a) + y, y)


def with_branches(x: Any, y: Any) -> Any:
    return repeat(4, lambda a: tf.cond(a[0] > 0.2, lambda: a * x - y, lambda: tf.exp(a) * y), x)


def with_array(x: Any) -> Any:
    """tf.TensorArray of TensorFlow 2 is a list in a loop variable."""
    array = tf.TensorArray(x.dtype, size=3, element_shape=[2])

    def body(i: Any, y: Any, array: Any) -> Any:
        y = y * x[i] + x[i]
        return i + 1, y, array.write(i, y)

    start = (0, tf.ones([2], x.dtype), array)
    _, y, array = tf.while_loop(lambda i, *_: i < 3, body, start)
    return [y, array.stack()]


def recurrent(x: Any, w: Any, h: Any) -> Any:
    """h <- tanh([x_t, h] w), over the rows of x."""

    def body(i: Any, h: Any) -> Any:
        return i + 1, tf.tanh(tf.matmul(tf.concat([x[i], h], 1), w))

    return tf.while_loop(lambda i, _: i < tf.shape(x)[0], body, (0, h))[1]


def integers(x: Any, i: Any) -> Any:
    """An integer variable chooses among the captured input's rows."""
    return repeat(3, lambda y, k: (y * tf.gather(x, k), (k + 1) % 3), x, i)[0]


def reads_variable(x: Any, v: Any) -> Any:
    return repeat(3, lambda y: y * read(v, x) + y, x)


def in_function(x: Any, y: Any) -> Any:
    function = tf.function(lambda x, y: repeat(3, lambda a: a * y, x)[0])
    return in_branch(function)(x, y)


def draws(x: Any) -> Any:
    return repeat(2, lambda y: y * tf.random.normal(tf.shape(x), dtype=x.dtype), x)


def assigns(x: Any, v: Any) -> Any:
    def body(y: Any) -> Any:
        before = read(v, x)
        call("AssignVariableOp", v, y)
        return y * before

    return repeat(2, body, x)[0]


X, Y = 0.5 * normal(3), 0.5 * normal(3, seed=1)
row = functools.partial(case, "StatelessWhile")
variable = functools.partial(case, "While", build=reads_variable, variables=[1])
CASES = [
    row("powers", X, build=powers),
    row("float", *floats(X), build=powers),
    row("complex", 0.5 * complex_normal(3), build=powers),
    *[row(f"{n}_iterations", X, ints(n)[0], build=fed_count) for n in (0, 1, 5)],
    row("pairs", X, Y, build=pairs),
    row("first_of_pairs", X, Y, build=first_of_pairs),
    row("until", 1 + np.abs(X), build=until),
    # Python's second order fails.
    row("grows", X, build=grows, second_order="numeric"),
    row("nested", X, Y, build=nested),
    row("with_branches", X, Y, build=with_branches),
    row("with_array", normal(3, 2), build=with_array),
    row("recurrent", normal(4, 2, 3), 0.5 * normal(5, 2), normal(2, 2), build=recurrent),
    row("integers", X, ints(1)[0], build=integers),
    row("in_function", X, Y, build=in_function),
    row("known_shapes", X, Y, build=pairs, known_shapes=True),
    variable("variable", X, Y),
    variable("variable_scalar", X[0], Y[0]),
    variable("variable_matrix", normal(2, 3), normal(3), known_shapes=True),
    case("While", "draws", X, build=draws, error="of op RandomStandardNormal need not"),
    case(
        "While",
        "assigns",
        *(X, Y),
        build=assigns,
        variables=[1],
        error="of op AssignVariableOp writes to a resource that the function",
    ),
]
