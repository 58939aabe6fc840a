# SPDX-License-Identifier: Apache-2.0
"""For: a loop with a counter, which Python has no gradient of."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


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
    return raw.For(start=start, limit=limit, delta=delta, input=variables, body=made)


def product(i: Any, x: Any, y: Any) -> Any:
    return x, y * tf.sin(x) + tf.cast(i, x.dtype)


def powers(x: Any, y: Any) -> Any:
    return loop(product, [x, y])[1]


def downwards(x: Any, y: Any) -> Any:
    return loop(product, [x, y], 4, 0, -2)[1]


def fed_limit(x: Any, y: Any, limit: Any) -> Any:
    return loop(product, [x, y], 1, limit)[1]


def both_results(x: Any, y: Any) -> list[Any]:
    return loop(lambda i, x, y: (x * y, y + x), [x, y], limit=2)


def never(x: Any, y: Any) -> list[Any]:
    return [r * r for r in loop(product, [x, y], 2, 2)]


def with_a_number(x: Any, n: Any) -> Any:
    return loop(lambda i, x, n: (x * tf.cast(n + i, x.dtype), n + 1), [tf.sin(x), n], limit=2)[0]


def nested(x: Any, y: Any) -> Any:
    def outer(i: Any, x: Any, y: Any) -> Any:
        return loop(product, [x, y], 0, i)

    return loop(outer, [x, y])[1]


def draws(x: Any) -> list[Any]:
    return loop(lambda i, x: x * tf.random.normal([], dtype=x.dtype), [x])


INPUTS = [normal(2), normal(2, seed=1)]
SINGLE = [x.astype(np.float32) for x in INPUTS]
CASES: list[Case] = [
    numeric("For", "powers", powers, INPUTS),
    numeric("For", "known_shapes", powers, INPUTS, known_shapes=True),
    numeric("For", "unknown_rank", powers, INPUTS, known_shapes="rank"),
    numeric("For", "downwards", downwards, INPUTS),
    numeric("For", "fed_limit", fed_limit, [*INPUTS, np.array(4, np.int32)]),
    numeric("For", "both_results", both_results, INPUTS),
    numeric("For", "never", never, INPUTS),
    numeric("For", "number", with_a_number, [normal(3), np.array(2, np.int32)]),
    numeric("For", "nested", nested, INPUTS, known_shapes=True),
    numeric("For", "complex", both_results, [complex_normal(2), complex_normal(2)]),
    numeric("For", "float", powers, SINGLE, step=2**-6, tolerance=1e-2),
    Case("For", "draws", draws, INPUTS[:1], error="RandomStandardNormal"),
]
