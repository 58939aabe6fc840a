# SPDX-License-Identifier: Apache-2.0
"""Ops that pick the elements which are not there before, or not elsewhere.

Equal elements have to stay equal while differences are taken: they are gathered
from one element of the input.
"""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal
from rows import call, each, ints, numeric

# Where the elements come from; 2, 0, 1 is the order in which these turn up.
REPEATED = ints(2, 0, 2, 1, 0, 2)
VECTOR = normal(3)
SINGLE = {"step": 1e-2, "tolerance": 1e-2}


def unique(op: str, **axis: Any) -> functools.partial[Case]:
    """A row of one whose argument is x^2 at indices `at` of the axis `along`."""

    def build(x: Any, at: Any = REPEATED, along: int = 0, **arguments: Any) -> Any:
        picked = tf.gather(x * x, at, axis=along)
        return tf.sin(call(op, picked, **arguments)[0])

    return functools.partial(numeric, op, build=build, **axis)


def kinds(op: str, **axis: Any) -> list[Case]:
    row = unique(op, **axis)
    return [
        row("repeated", VECTOR),
        row("distinct", VECTOR, at=np.arange(3), known_shapes=True),
        row("int64", VECTOR, known_shapes="rank", out_idx=tf.int64),
        row("none", VECTOR, at=ints()),
        row("float", np.array([1, 2, 3], np.float32), **SINGLE),
    ]


def slices(op: str) -> list[Case]:
    row = unique(op)
    return [
        *kinds(op, axis=[0]),
        row("no_axis", VECTOR, axis=ints(dtype=np.int64)),
        row("rows", normal(3, 2), axis=[0], known_shapes="rank"),
        row("columns", normal(2, 3), along=1, axis=np.array([1])),
        row("last_axis", normal(2, 2, 3), along=2, axis=[-1]),
        row("middle", normal(2, 3, 2), along=1, axis=[1], known_shapes=True),
        row("no_rows", normal(3, 0), axis=[0]),
    ]


def _difference(x: Any, y: Any, out_idx: Any = tf.int32) -> Any:
    return tf.sin(call("ListDiff", x * x, y, out_idx=out_idx)[0])


def difference(name: str, x: np.ndarray, *y: float, **more: Any) -> Case:
    return numeric("ListDiff", name, x, np.array(y, x.dtype), build=_difference, wrt=[0], **more)


NUMBERS = np.array([1.5, 2, 1.25, 3])
CASES = [
    *each("Unique UniqueWithCounts", kinds),
    *each("UniqueV2 UniqueWithCountsV2", slices),
    difference("some", NUMBERS),
    difference("int64", NUMBERS, 7, 8.5, out_idx=tf.int64, known_shapes=True),
    difference("unknown_rank", NUMBERS, 0.25, known_shapes="rank"),
    difference("none", NUMBERS[:0], 3),
    difference("float", NUMBERS.astype(np.float32), 3, **SINGLE),
]
