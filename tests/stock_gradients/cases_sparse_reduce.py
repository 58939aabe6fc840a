# SPDX-License-Identifier: Apache-2.0
"""Reductions of sparse tensors, and of rows that a sparse index names.

Python has no gradient of most, and differentiates few of its own once more. Elements
that attain the maximum together are one element of the input.
"""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from cases_sparse import (
    COMPLEX,
    COMPLEX_CUBES,
    CUBE,
    CUBE_SHAPE,
    CUBES,
    EMPTY,
    FLOATS,
    MATRIX,
    NONE,
    SHAPE,
    A,
)
from parity import Case
from random_values import distinct, normal, single
from rows import call, case, each, first_order, ints, longs, numeric, numeric_second

LARGE = np.array([1, 10**12])
NO_COLUMNS = NONE, normal(0), longs(3, 0)


def reduction(op: str) -> Any:
    def build(
        indices: Any, values: Any, shape: Any, axes: Any, keep: bool = False, picked: Any = None
    ) -> Any:
        """`picked`: which of the numbers fed the values are."""
        if picked is not None:
            values = tf.gather(values, picked)
        axes = tf.constant(axes, tf.int32)
        return call(op, indices, values, shape, axes, keep_dims=keep)

    return build


reduce_sum = functools.partial(case, "SparseReduceSum", build=reduction("SparseReduceSum"))
SUMS = [
    reduce_sum("rows", *MATRIX, axes=[1]),
    reduce_sum("columns_kept", *MATRIX, axes=[0], keep=True),
    reduce_sum("all", *MATRIX, axes=[0, 1]),
    reduce_sum("negative", *CUBES, axes=[-1, 0]),
    reduce_sum("middle_complex", *COMPLEX_CUBES, axes=[1]),
    reduce_sum("no_axes", *MATRIX, axes=()),
    reduce_sum("float", *FLOATS, axes=[1], keep=True, known_shapes=True),
    reduce_sum("large_axis", A * LARGE, normal(5), SHAPE * LARGE, axes=[1]),
    reduce_sum("empty", *NO_COLUMNS, axes=[1]),
]


def squared(op: str) -> functools.partial[Case]:
    def square(*made: Any) -> Any:
        return tf.square(made[1] if op.endswith("Sparse") else made[0])

    return functools.partial(numeric, op, build=reduction(op), then=square)


def kinds(op: str) -> list[Case]:
    row, x, order = squared(op), distinct(5), [3, 0, 4, 1, 2]
    matrix, cube = (A, x, SHAPE), (CUBE, x, CUBE_SHAPE)
    return [
        row("rows", *matrix, axes=[1]),
        row("columns_kept", *matrix, axes=[0], keep=True),
        row("all", *matrix, axes=[0, 1], known_shapes=True),
        row("all_kept", *matrix, axes=[0, 1], keep=True),
        row("no_axes", *matrix, axes=()),
        row("negative", *cube, axes=[-1, 0], known_shapes="rank"),
        row("negative_kept", *cube, axes=[-1], keep=True),
        row("middle", *cube, axes=[1]),
        row("unordered", A[order], x, SHAPE, axes=[1]),
        row("large_axis", A * LARGE, x, SHAPE * LARGE, axes=[1]),
        row("float", A, x.astype(np.float32) * 64, SHAPE, axes=[1], tolerance=1e-2),
        row("empty", *NO_COLUMNS, axes=[1]),
    ]


def ties(op: str) -> list[Case]:
    row, numbers, equal = squared(op), (A, np.array([1.5, -2, 3]), SHAPE), ints(0, 0, 1, 1, 1)
    equal = equal.astype(np.int64)
    return [
        row("ties", *numbers, axes=[1], picked=equal),
        row("ties_kept", *numbers, axes=[0], picked=equal, keep=True),
        row("all_equal", *numbers, axes=[0, 1], picked=equal * 0),
    ]


complex_sum = squared("SparseReduceSumSparse")
MAXIMA = [
    *each("SparseReduceMax SparseReduceMaxSparse SparseReduceSumSparse", kinds),
    *each("SparseReduceMax SparseReduceMaxSparse", ties),
    complex_sum("complex", *COMPLEX, axes=[1]),
    complex_sum("complex_kept", *COMPLEX_CUBES, axes=[0, 2], keep=True),
]

softmax = functools.partial(numeric_second, "SparseSoftmax")
half = single(5).astype(np.float16)
SOFTMAX = [
    softmax("matrix", *MATRIX),
    softmax("cube", *CUBES),
    softmax("empty", *EMPTY),
    softmax("float", *FLOATS, known_shapes=True, second_order=None),
    softmax("half", A, half, SHAPE, second_order=None),
]

# ---- SparseSegment*: rows 2 and 0 are taken twice, row 4 never; segment 1 is
# empty. More segments come behind where their number is given.

ROWS, IDS = ints(2, 0, 2, 3, 1, 0), ints(0, 0, 0, 2, 3, 3)
LONG_IDS = IDS.astype(np.int64)


def segments(op: str) -> list[Case]:
    how = {"num_segments": 6} if op.endswith("NumSegments") else {}
    row = functools.partial(numeric_second, op, **how)
    once = functools.partial(first_order, op, **how)
    return [
        row("matrix", normal(5, 2), ROWS, IDS),
        row("vector_int64", normal(5), ROWS.astype(np.int64), LONG_IDS),
        row("cube", normal(5, 2, 2), ROWS, IDS),
        row("unknown_rank", normal(5, 2), ROWS, IDS, known_shapes="rank"),
        row("sparse_gradient", normal(5, 2), ROWS, IDS, sparse_gradient=True),
        once("float", single(5, 3), ROWS, IDS, known_shapes=True),
        once("half", single(5, 3).astype(np.float16), ROWS, IDS),
        # Python's gradient is memory as it was found.
        row("empty", normal(5, 2), ROWS[:0], IDS[:0], reference="numeric"),
    ]


def segment_gradients(op: str) -> list[Case]:
    def build(grad: Any, indices: Any, ids: Any) -> Any:
        return call(op, grad * grad, indices, ids, dense_output_dim0=9)[0]

    rows = ints(2, 0, 2, 3, 7, 0)
    row = functools.partial(numeric, op, build=build)
    return [
        row("matrix", normal(4, 2), rows, IDS),
        row("vector_int64", normal(5), rows.astype(np.int64), LONG_IDS, known_shapes=True),
        row("cube", normal(4, 2, 2), rows, IDS, known_shapes="rank"),
        row("float", single(4, 3), rows, IDS),
        row("no_rows", normal(4, 2), rows[:0], IDS[:0]),
    ]


SEGMENTS = [
    one
    for reduction in ("Sum", "Mean", "SqrtN")
    for one in (
        *segments(f"SparseSegment{reduction}"),
        *segments(f"SparseSegment{reduction}WithNumSegments"),
        *segment_gradients(f"SparseSegment{reduction}GradV2"),
    )
]

CASES = [*SUMS, *MAXIMA, *SOFTMAX, *SEGMENTS]
