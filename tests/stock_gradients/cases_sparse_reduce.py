# SPDX-License-Identifier: Apache-2.0
"""Reductions of sparse tensors that Python has no gradient of, and parts of them.

Elements that attain the maximum together are one element of the input.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from cases_sparse import CUBE, CUBE_SHAPE, NONE, SHAPE, A
from differences import numeric
from parity import Case
from random_values import complex_normal, distinct, normal

raw = tf.raw_ops


def case(
    op: str,
    name: str,
    axes: Sequence[int],
    inputs: Sequence[np.ndarray],
    keep: bool = False,
    picked: Any = None,
    **more: Any,
) -> Case:
    """`picked`: which of the numbers fed the values are."""

    def build(indices: Any, values: Any, shape: Any) -> Any:
        if picked is not None:
            values = tf.gather(values, picked)
        reduced = getattr(raw, op)(
            input_indices=indices,
            input_values=values,
            input_shape=shape,
            reduction_axes=tf.constant(axes, tf.int32),
            keep_dims=keep,
        )
        return tf.square(reduced.output_values if "Sparse" in op[6:] else reduced)

    return numeric(op, name, build, inputs, **more)


def kinds(op: str) -> list[Case]:
    matrix, cube = [A, distinct(5), SHAPE], [CUBE, distinct(5), CUBE_SHAPE]
    order = [3, 0, 4, 1, 2]
    large = np.array([1, 10**12])
    return [
        case(op, "rows", [1], matrix),
        case(op, "columns_kept", [0], matrix, keep=True),
        case(op, "all", [0, 1], matrix, known_shapes=True),
        case(op, "all_kept", [0, 1], matrix, keep=True),
        case(op, "no_axes", [], matrix),
        case(op, "negative", [-1, 0], cube, known_shapes="rank"),
        case(op, "negative_kept", [-1], cube, keep=True),
        case(op, "middle", [1], cube),
        case(op, "unordered", [1], [A[order], distinct(5), SHAPE]),
        case(op, "large_axis", [1], [A * large, distinct(5), SHAPE * large]),
        case(
            op,
            "float",
            [1],
            [A, distinct(5, dtype=np.float32) * 64, SHAPE],
            step=0.25,
            tolerance=1e-2,
        ),
        case(op, "empty", [1], [NONE, normal(0), np.array([3, 0])]),
    ]


def ties(op: str) -> list[Case]:
    equal = np.array([0, 0, 1, 1, 1])
    numbers = np.array([1.5, -2, 3])
    return [
        case(op, "ties", [1], [A, numbers, SHAPE], picked=equal),
        case(op, "ties_kept", [0], [A, numbers, SHAPE], picked=equal, keep=True),
        case(op, "all_equal", [0, 1], [A, numbers, SHAPE], picked=equal * 0),
    ]


def complex_sums() -> list[Case]:
    op = "SparseReduceSumSparse"
    return [
        case(op, "complex", [1], [A, complex_normal(5), SHAPE]),
        case(op, "complex_kept", [0, 2], [CUBE, complex_normal(5), CUBE_SHAPE], True),
    ]


# ---- SparseConcat, SparseSplit


def concat(axis: int, parts: int, *shape: int) -> Any:
    def build(*inputs: Any) -> Any:
        indices, values = inputs[:parts], inputs[parts:]
        return raw.SparseConcat(
            indices=indices,
            values=[tf.square(v) for v in values],
            shapes=[tf.constant(shape, tf.int64)] * parts,
            concat_dim=axis,
        ).output_values

    return build


B = A[[4, 0, 2]]  # not in order
CONCAT = [
    numeric("SparseConcat", "rows", concat(0, 2, 3, 4), [A, B, normal(5), normal(3)]),
    numeric(
        "SparseConcat",
        "last_axis",
        concat(-1, 2, 3, 4),
        [A, B, normal(5), normal(3)],
        known_shapes=True,
    ),
    numeric(
        "SparseConcat",
        "three_complex",
        concat(1, 3, 2, 3, 2),
        [CUBE, CUBE[:2], CUBE[3:], *(complex_normal(n) for n in (5, 2, 2))],
    ),
    numeric(
        "SparseConcat",
        "one_empty",
        concat(1, 2, 3, 4),
        [NONE, A, normal(0), normal(5)],
        known_shapes="rank",
    ),
    numeric(
        "SparseConcat",
        "float",
        concat(0, 2, 3, 4),
        [A, A, normal(5, dtype=np.float32), normal(5, dtype=np.float32, seed=1)],
    ),
]


def split(parts: int) -> Any:
    def build(axis: Any, indices: Any, values: Any, shape: Any) -> Any:
        made = raw.SparseSplit(
            split_dim=axis, indices=indices, values=tf.square(values), shape=shape, num_split=parts
        )
        return made.output_values

    return build


def axis(number: int) -> np.ndarray:
    return np.array(number, np.int64)


SPLIT = [
    numeric("SparseSplit", "columns", split(2), [axis(1), A, normal(5), SHAPE]),
    numeric("SparseSplit", "rows", split(3), [axis(0), A, normal(5), SHAPE], known_shapes=True),
    numeric("SparseSplit", "one", split(1), [axis(0), A, normal(5), SHAPE]),
    numeric(
        "SparseSplit",
        "uneven_complex",
        split(2),
        [axis(1), CUBE, complex_normal(5), CUBE_SHAPE],
        known_shapes="rank",
    ),
    numeric("SparseSplit", "nothing", split(2), [axis(1), NONE, normal(0), SHAPE]),
    numeric("SparseSplit", "float", split(4), [axis(1), A, normal(5, dtype=np.float32), SHAPE]),
]

# ---- SparseSegment*GradV2: rows 2 and 0 are taken twice, segment 1 is empty.

ROWS = np.array([2, 0, 2, 3, 7, 0], np.int32)
IDS = np.array([0, 0, 0, 2, 3, 3], np.int32)


def segments(reduction: str) -> list[Case]:
    op = f"SparseSegment{reduction}GradV2"

    def build(grad: Any, indices: Any, ids: Any) -> Any:
        return getattr(raw, op)(
            grad=grad * grad, indices=indices, segment_ids=ids, dense_output_dim0=9
        ).output

    wide = ROWS.astype(np.int64), IDS.astype(np.int64)
    return [
        numeric(op, "matrix", build, [normal(4, 2), ROWS, IDS]),
        numeric(op, "vector_int64", build, [normal(5), *wide], known_shapes=True),
        numeric(op, "cube", build, [normal(4, 2, 2), ROWS, IDS], known_shapes="rank"),
        numeric(op, "float", build, [normal(4, 3, dtype=np.float32), ROWS, IDS]),
        numeric(op, "no_rows", build, [normal(4, 2), ROWS[:0], IDS[:0]]),
    ]


CASES = [
    *kinds("SparseReduceMax"),
    *ties("SparseReduceMax"),
    *kinds("SparseReduceMaxSparse"),
    *ties("SparseReduceMaxSparse"),
    *kinds("SparseReduceSumSparse"),
    *complex_sums(),
    *CONCAT,
    *SPLIT,
    *segments("Sum"),
    *segments("Mean"),
    *segments("SqrtN"),
]
