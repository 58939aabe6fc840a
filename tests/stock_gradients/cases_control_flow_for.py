# SPDX-License-Identifier: Apache-2.0
"""For: a loop with a counter, which Python has no gradient of."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from random_values import complex_normal, normal
from rows import call, case, floats, ints, numeric


def loop(
    body: Callable[..., Any],
    variables: Sequence[Any],
    start: Any = 0,
    limit: Any = 3,
    delta: Any = 1,
) -> list[Any]:
    """`body` takes the counter and the variables and returns the variables."""
    variables = [tf.convert_to_tensor(x) for x in variables]
    counter = tf.TensorSpec([], tf.int32)
    specs = [counter, *(tf.TensorSpec(x.shape, x.dtype) for x in variables)]
    made = tf.function(body).get_concrete_function(*specs)
    made.add_to_graph(tf.compat.v1.get_default_graph())
    return call("For", start, limit, delta, variables, body=made)


def product(i: Any, x: Any, y: Any) -> Any:
    return x, y * tf.sin(x) + tf.cast(i, x.dtype)


def powers(x: Any, y: Any) -> Any:
    return loop(product, [x, y])[1]


def both_results(x: Any, y: Any) -> list[Any]:
    return loop(lambda i, x, y: (x * y, y + x), [x, y], limit=2)


def with_a_number(x: Any, n: Any) -> Any:
    return loop(lambda i, x, n: (x * tf.cast(n + i, x.dtype), n + 1), [tf.sin(x), n], limit=2)[0]


def nested(x: Any, y: Any) -> Any:
    return loop(lambda i, x, y: loop(product, [x, y], 0, i), [x, y])[1]


def draws(x: Any) -> list[Any]:
    return loop(lambda i, x: x * tf.random.normal([], dtype=x.dtype), [x])


row = functools.partial(numeric, "For")
X, Y = normal(2), normal(2, seed=1)
CASES = [
    row("powers", X, Y, build=powers),
    row("known_shapes", X, Y, build=powers, known_shapes=True),
    row("unknown_rank", X, Y, build=powers, known_shapes="rank"),
    row("downwards", X, Y, build=lambda x, y: loop(product, [x, y], 4, 0, -2)[1]),
    row("fed_limit", X, Y, ints(4)[0], build=lambda x, y, n: loop(product, [x, y], 1, n)[1]),
    row("both_results", X, Y, build=both_results),
    row("never", X, Y, build=lambda x, y: [r * r for r in loop(product, [x, y], 2, 2)]),
    row("number", normal(3), ints(2)[0], build=with_a_number),
    row("nested", X, Y, build=nested, known_shapes=True),
    row("complex", complex_normal(2), complex_normal(2), build=both_results),
    row("float", *floats(X, Y), build=powers, step=2**-6, tolerance=1e-2),
    case("For", "draws", X, build=draws, error="RandomStandardNormal"),
]
