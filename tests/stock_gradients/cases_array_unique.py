# SPDX-License-Identifier: Apache-2.0
"""Ops that pick the elements which are not there before, or not elsewhere.

Equal elements have to stay equal while differences are taken: they are gathered
from one element of the input.
"""

from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case
from random_values import normal

raw = tf.raw_ops

# Where the elements come from; 2, 0, 1 is the order in which these turn up.
REPEATED = np.array([2, 0, 2, 1, 0, 2], np.int32)
VECTOR = normal(3)
SINGLE = np.array([1, 2, 3], np.float32)


def unique(
    op: str, name: str, x: np.ndarray, at: Any = REPEATED, along: int = 0, **more: Any
) -> Case:
    """One whose argument is x^2 at indices `at` of the axis `along`.

    more: `axis`, the op's argument, and `out_idx`; the others are those of Case.
    """
    arguments = {key: more.pop(key) for key in ("axis", "out_idx") if key in more}

    def build(x: Any) -> Any:
        picked = tf.gather(x * x, at, axis=along)
        return tf.sin(getattr(raw, op)(x=picked, **arguments).y)

    return numeric(op, name, build, [x], **more)


def kinds(op: str, **axis: Any) -> list[Case]:
    return [
        unique(op, "repeated", VECTOR, **axis),
        unique(op, "distinct", VECTOR, np.arange(3), known_shapes=True, **axis),
        unique(op, "int64", VECTOR, known_shapes="rank", out_idx=tf.int64, **axis),
        unique(op, "none", VECTOR, np.zeros(0, np.int32), **axis),
        unique(op, "float", SINGLE, step=1e-2, tolerance=1e-2, **axis),
    ]


def slices(op: str) -> list[Case]:
    return [
        *kinds(op, axis=[0]),
        unique(op, "no_axis", VECTOR, axis=np.zeros(0, np.int64)),
        unique(op, "rows", normal(3, 2), axis=[0], known_shapes="rank"),
        unique(op, "columns", normal(2, 3), along=1, axis=np.array([1])),
        unique(op, "last_axis", normal(2, 2, 3), along=2, axis=[-1]),
        unique(op, "middle", normal(2, 3, 2), along=1, axis=[1], known_shapes=True),
        unique(op, "no_rows", normal(3, 0), axis=[0]),
    ]


def difference(name: str, x: np.ndarray, y: Any, **more: Any) -> Case:
    out_idx = more.pop("out_idx", tf.int32)

    def build(x: Any, y: Any) -> Any:
        return tf.sin(raw.ListDiff(x=x * x, y=y, out_idx=out_idx).out)

    y = np.array(y, x.dtype)
    return numeric("ListDiff", name, build, [x, y], wrt=[0], **more)


NUMBERS = np.array([1.5, 2, 1.25, 3])
LIST_DIFF = [
    difference("some", NUMBERS, []),
    difference("int64", NUMBERS, [7, 8.5], out_idx=tf.int64, known_shapes=True),
    difference("unknown_rank", NUMBERS, [0.25], known_shapes="rank"),
    difference("none", NUMBERS[:0], [3]),
    difference("float", NUMBERS.astype(np.float32), [3], step=1e-2, tolerance=1e-2),
]

CASES = [
    *kinds("Unique"),
    *kinds("UniqueWithCounts"),
    *slices("UniqueV2"),
    *slices("UniqueWithCountsV2"),
    *LIST_DIFF,
]
