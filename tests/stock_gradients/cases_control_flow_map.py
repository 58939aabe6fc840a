# SPDX-License-Identifier: Apache-2.0
"""MapDefun: a function called for each row of its arguments."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


def mapped(
    function: Callable[..., Any],
    rows: Sequence[Any],
    captured: Sequence[Any] = (),
    shape: Any = None,
) -> list[Any]:
    """What the function returns for rows of the one and all of the other."""
    rows = [tf.convert_to_tensor(x) for x in rows]
    specs = [
        *(tf.TensorSpec(x.shape[1:], x.dtype) for x in rows),
        *(tf.TensorSpec(x.shape, x.dtype) for x in captured),
    ]
    made = tf.function(function).get_concrete_function(*specs)
    types = [y.dtype for y in made.outputs]
    made.add_to_graph(tf.compat.v1.get_default_graph())
    return raw.MapDefun(
        arguments=rows,
        captured_inputs=captured,
        output_types=types,
        output_shapes=[shape] * len(types),
        f=made,
    )


def products(x: Any, y: Any) -> list[Any]:
    return mapped(lambda x, y: (x * x * y, tf.reduce_sum(x)), [x, y])


def captures(x: Any, w: Any) -> list[Any]:
    return mapped(lambda x, w: tf.sin(x) * w * w, [x], [w])


def known_results(x: Any, w: Any) -> list[Any]:
    return mapped(lambda x, w: x * x * w, [x], [w], [2])


def captures_alone(x: Any, w: Any) -> list[Any]:
    return mapped(lambda x, w: w * w + tf.floor(x), [x], [w])


def one_result_used(x: Any, y: Any) -> Any:
    return mapped(lambda x, y: (x * x, x * y), [x, y])[0]


def with_indices(x: Any, i: Any, w: Any) -> list[Any]:
    return mapped(lambda x, i, w: x * w[i], [x, i], [w])


def matrices(x: Any, w: Any) -> list[Any]:
    return mapped(lambda x, w: tf.nn.tanh(tf.linalg.matmul(x, w)), [x], [w])


def nested(x: Any, w: Any) -> list[Any]:
    def rows(x: Any, w: Any) -> Any:
        return mapped(lambda x, w: x * w * w, [x], [w])[0] * w

    return mapped(rows, [x], [w])


def calls(x: Any, w: Any) -> list[Any]:
    @tf.function
    def inner(x: Any, w: Any) -> Any:
        return tf.cond(tf.reduce_sum(w) > 0, lambda: x * x * w, lambda: x - w)

    return mapped(inner, [x], [w])


def no_path(x: Any, y: Any) -> list[Any]:
    return [*mapped(tf.floor, [x]), y * y]


def reads_a_variable(x: Any, v: Any) -> list[Any]:
    def function(x: Any, v: Any) -> Any:
        return x * raw.ReadVariableOp(resource=v, dtype=x.dtype)

    return mapped(function, [x], [v])


def draws(x: Any) -> list[Any]:
    return mapped(lambda x: x * tf.random.normal([], dtype=x.dtype), [x])


ROWS, ROW = normal(3, 2), normal(2)
CASES: list[Case] = [
    numeric("MapDefun", "products", products, [ROWS, normal(3, 2, seed=1)]),
    numeric("MapDefun", "captures", captures, [ROWS, ROW]),
    numeric("MapDefun", "captures_known_shapes", captures, [ROWS, ROW], known_shapes=True),
    numeric("MapDefun", "captures_alone", captures_alone, [ROWS, ROW]),
    numeric("MapDefun", "one_result_used", one_result_used, [ROWS, ROWS]),
    numeric(
        "MapDefun",
        "indices",
        with_indices,
        [ROW, np.array([2, 0], np.int32), normal(3)],
        known_shapes=True,
    ),
    numeric("MapDefun", "matrices", matrices, [normal(2, 2, 3), normal(3, 2)]),
    numeric("MapDefun", "complex", captures, [complex_normal(2, 2), complex_normal(2)]),
    numeric(
        "MapDefun",
        "float",
        one_result_used,
        [normal(2, 2, dtype=np.float32), normal(2, 2, dtype=np.float32)],
    ),
    numeric("MapDefun", "nested", nested, [normal(2, 3), normal()], known_shapes=True),
    numeric("MapDefun", "calls", calls, [ROWS, np.abs(ROW)], known_shapes=True),
    numeric("MapDefun", "no_rows", known_results, [ROWS[:0], ROW], known_shapes=True),
    numeric("MapDefun", "known_results", known_results, [ROWS, ROW]),
    numeric("MapDefun", "no_path", no_path, [ROWS, ROW]),
    Case(
        "MapDefun",
        "reads_a_variable",
        reads_a_variable,
        [ROW, normal()],
        variables=[1],
        wrt=[0, 1],
        error="input 1 is of type resource; only numbers have a gradient here",
    ),
    Case("MapDefun", "draws", draws, [ROW], error="RandomStandardNormal"),
]
