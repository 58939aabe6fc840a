# SPDX-License-Identifier: Apache-2.0
"""Rows that change in place, are stacked or shuffled, and views of numbers."""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal, single
from rows import call, each, ints, numeric


def in_place(op: str) -> list[Case]:
    """What they change is a copy, as the memory of what is fed, and that of its
    gradient, is not theirs."""

    def build(x: Any, i: Any, v: Any) -> Any:
        return call(op, call("DeepCopy", x * x), i, v * v)

    # The rows of the numbers 4 and -1 are those of 1 and 2.
    rows = ints(0, 4, 1, -1)
    change = functools.partial(numeric, op, build=build, wrt=[0, 2])
    return [
        change("matrix", normal(3, 2), rows, normal(4, 2)),
        change("vector", normal(3), rows, normal(4), known_shapes=True),
        change("cube", normal(3, 2, 2), rows, normal(4, 2, 2), known_shapes="rank"),
        change("complex", complex_normal(3, 2), rows, complex_normal(4, 2)),
        change("float", single(3, 2), rows, single(4, 2)),
        change("no_updates", normal(3, 2), rows[:0], normal(0, 2)),
        change("no_columns", normal(3, 0), rows, normal(4, 0)),
    ]


def _stacked(*values: Any, shape: Any) -> Any:
    # The op wants to know the shapes.
    known = [tf.ensure_shape(x * x, [1, *shape]) for x in values]
    return call("ParallelConcat", known, shape=[len(values), *shape])


def _shuffled(x: Any) -> Any:
    key, counter = np.array([5], np.uint64), np.array([1, 2], np.uint64)
    return call("StatelessShuffle", x * x, key, counter, alg=1)


copy = functools.partial(numeric, "DeepCopy", build=lambda x: call("DeepCopy", x * x))
concat = functools.partial(numeric, "ParallelConcat", build=_stacked)
shuffle = functools.partial(numeric, "StatelessShuffle", build=_shuffled)
bitcast = functools.partial(
    numeric, "Bitcast", build=lambda x, type: call("Bitcast", x * x, type=type)
)

CASES = [
    *each("InplaceAdd InplaceSub InplaceUpdate", in_place),
    copy("double", normal(3, 2)),
    copy("complex", complex_normal(3), known_shapes=True),
    copy("float", single(2, 2)),
    concat("three", *(normal(1, 2, 2, seed=seed) for seed in range(3)), shape=[2, 2]),
    concat("one", normal(1, 2), shape=[2], known_shapes=True),
    concat("complex", complex_normal(1), complex_normal(1, seed=1), shape=[], known_shapes="rank"),
    concat("float", single(1, 3), single(1, 3, seed=1), shape=[3]),
    shuffle("vector", normal(7)),
    shuffle("rows", normal(5, 2), known_shapes=True),
    shuffle("cube", normal(4, 2, 2), known_shapes="rank"),
    shuffle("complex", complex_normal(4)),
    shuffle("float", single(4, 3)),
    shuffle("scalar", normal()),
    shuffle("no_rows", normal(0, 2)),
    shuffle("no_columns", normal(3, 0)),
    bitcast("parts", complex_normal(3), type=tf.float64),
    bitcast("numbers", normal(3, 2), type=tf.complex128),
    bitcast(
        "parts_of_complex64",
        complex_normal(2, 3, dtype=np.complex64),
        type=tf.float32,
        known_shapes=True,
    ),
    bitcast("complex64", single(2, 2), type=tf.complex64, known_shapes="rank"),
    bitcast("same_type", normal(2), type=tf.float64),
    bitcast("bits", normal(2), type=tf.float32, no_gradient=True),
]
