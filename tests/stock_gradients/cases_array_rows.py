# SPDX-License-Identifier: Apache-2.0
"""Rows that change in place, are stacked or shuffled, and views of numbers."""

from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops

# ---- In place: what they change is a copy, as the memory of what is fed, and that
# of its gradient, is not theirs.

# The rows of the numbers 4 and -1 are those of 1 and 2.
ROWS = np.array([0, 4, 1, -1], np.int32)


def in_place(op: str) -> list[Case]:
    def build(x: Any, i: Any, v: Any) -> Any:
        return getattr(raw, op)(x=raw.DeepCopy(x=x * x), i=i, v=v * v)

    def case(name: str, x: np.ndarray, v: np.ndarray, i: Any = ROWS, **more: Any) -> Case:
        return numeric(op, name, build, [x, i, v], wrt=[0, 2], **more)

    return [
        case("matrix", normal(3, 2), normal(4, 2)),
        case("vector", normal(3), normal(4), known_shapes=True),
        case("cube", normal(3, 2, 2), normal(4, 2, 2), known_shapes="rank"),
        case("complex", complex_normal(3, 2), complex_normal(4, 2)),
        case("float", normal(3, 2, dtype=np.float32), normal(4, 2, dtype=np.float32)),
        case("no_updates", normal(3, 2), normal(0, 2), ROWS[:0]),
        case("no_columns", normal(3, 0), normal(4, 0)),
    ]


def copies() -> list[Case]:
    def build(x: Any) -> Any:
        return raw.DeepCopy(x=x * x)

    return [
        numeric("DeepCopy", "double", build, [normal(3, 2)]),
        numeric("DeepCopy", "complex", build, [complex_normal(3)], known_shapes=True),
        numeric("DeepCopy", "float", build, [normal(2, 2, dtype=np.float32)]),
    ]


# ---- ParallelConcat


def stacked(*shape: int) -> Any:
    def build(*values: Any) -> Any:
        # The op wants to know the shapes.
        known = [tf.ensure_shape(x * x, [1, *shape]) for x in values]
        return raw.ParallelConcat(values=known, shape=[len(values), *shape])

    return build


PARALLEL_CONCAT = [
    numeric(
        "ParallelConcat", "three", stacked(2, 2), [normal(1, 2, 2, seed=seed) for seed in range(3)]
    ),
    numeric("ParallelConcat", "one", stacked(2), [normal(1, 2)], known_shapes=True),
    numeric(
        "ParallelConcat",
        "complex",
        stacked(),
        [complex_normal(1), complex_normal(1, seed=1)],
        known_shapes="rank",
    ),
    numeric(
        "ParallelConcat",
        "float",
        stacked(3),
        [normal(1, 3, dtype=np.float32), normal(1, 3, dtype=np.float32, seed=1)],
    ),
]

# ---- StatelessShuffle


def shuffled(x: Any) -> Any:
    return raw.StatelessShuffle(
        value=x * x, key=np.array([5], np.uint64), counter=np.array([1, 2], np.uint64), alg=1
    )


SHUFFLE = [
    numeric("StatelessShuffle", "vector", shuffled, [normal(7)]),
    numeric("StatelessShuffle", "rows", shuffled, [normal(5, 2)], known_shapes=True),
    numeric("StatelessShuffle", "cube", shuffled, [normal(4, 2, 2)], known_shapes="rank"),
    numeric("StatelessShuffle", "complex", shuffled, [complex_normal(4)]),
    numeric("StatelessShuffle", "float", shuffled, [normal(4, 3, dtype=np.float32)]),
    numeric("StatelessShuffle", "scalar", shuffled, [normal()]),
    numeric("StatelessShuffle", "no_rows", shuffled, [normal(0, 2)]),
    numeric("StatelessShuffle", "no_columns", shuffled, [normal(3, 0)]),
]

# ---- Bitcast


def bitcast(dtype: Any) -> Any:
    return lambda x: raw.Bitcast(input=x * x, type=dtype)


BITCAST = [
    numeric("Bitcast", "parts", bitcast(tf.float64), [complex_normal(3)]),
    numeric("Bitcast", "numbers", bitcast(tf.complex128), [normal(3, 2)]),
    numeric(
        "Bitcast",
        "parts_of_complex64",
        bitcast(tf.float32),
        [complex_normal(2, 3, dtype=np.complex64)],
        known_shapes=True,
    ),
    numeric(
        "Bitcast",
        "complex64",
        bitcast(tf.complex64),
        [normal(2, 2, dtype=np.float32)],
        known_shapes="rank",
    ),
    numeric("Bitcast", "same_type", bitcast(tf.float64), [normal(2)]),
    numeric("Bitcast", "bits", bitcast(tf.float32), [normal(2)], no_gradient=True),
]

CASES = [
    *in_place("InplaceAdd"),
    *in_place("InplaceSub"),
    *in_place("InplaceUpdate"),
    *copies(),
    *PARALLEL_CONCAT,
    *SHUFFLE,
    *BITCAST,
]
