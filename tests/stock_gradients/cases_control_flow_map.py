# SPDX-License-Identifier: Apache-2.0
"""MapDefun: a function called for each row of its arguments."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from random_values import complex_normal, normal, single
from rows import call, case, ints, numeric


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
    shapes = [shape] * len(types)
    return call("MapDefun", rows, captured, output_types=types, output_shapes=shapes, f=made)


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
    return mapped(lambda x, w: mapped(lambda x, w: x * w * w, [x], [w])[0] * w, [x], [w])


def calls(x: Any, w: Any) -> list[Any]:
    @tf.function
    def inner(x: Any, w: Any) -> Any:
        return tf.cond(tf.reduce_sum(w) > 0, lambda: x * x * w, lambda: x - w)

    return mapped(inner, [x], [w])


def no_path(x: Any, y: Any) -> list[Any]:
    return [*mapped(tf.floor, [x]), y * y]


def reads_a_variable(x: Any, v: Any) -> list[Any]:
    return mapped(lambda x, v: x * call("ReadVariableOp", v, dtype=x.dtype), [x], [v])


def draws(x: Any) -> list[Any]:
    return mapped(lambda x: x * tf.random.normal([], dtype=x.dtype), [x])


row = functools.partial(numeric, "MapDefun")
known = functools.partial(row, known_shapes=True)
ROWS, ROW = normal(3, 2), normal(2)
CASES = [
    row("products", ROWS, normal(3, 2, seed=1), build=products),
    row("captures", ROWS, ROW, build=captures),
    known("captures_known_shapes", ROWS, ROW, build=captures),
    row("captures_alone", ROWS, ROW, build=captures_alone),
    row("one_result_used", ROWS, ROWS, build=one_result_used),
    known("indices", ROW, ints(2, 0), normal(3), build=with_indices),
    row("matrices", normal(2, 2, 3), normal(3, 2), build=matrices),
    row("complex", complex_normal(2, 2), complex_normal(2), build=captures),
    row("float", single(2, 2), single(2, 2), build=one_result_used),
    known("nested", normal(2, 3), normal(), build=nested),
    known("calls", ROWS, np.abs(ROW), build=calls),
    known("no_rows", ROWS[:0], ROW, build=known_results),
    row("known_results", ROWS, ROW, build=known_results),
    row("no_path", ROWS, ROW, build=no_path),
    case(
        "MapDefun",
        "reads_a_variable",
        *(ROW, normal()),
        build=reads_a_variable,
        variables=[1],
        wrt=[0, 1],
        error="input 1 is of type resource; only numbers have a gradient here",
    ),
    case("MapDefun", "draws", ROW, build=draws, error="RandomStandardNormal"),
]
