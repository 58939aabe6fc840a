# SPDX-License-Identifier: Apache-2.0
"""Ops that move, select, fill in or reduce the values of a sparse tensor.

Python differentiates few of these gradients once more: the second order is
compared with central differences.
"""

from typing import Any

import numpy as np
import tensorflow as tf
from cases_sparse import CUBE, CUBE_SHAPE, NONE, SHAPE, A, first, numeric
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops

# ---- SparseReorder, SparseSlice


def reorder(indices: Any, values: Any, shape: Any) -> Any:
    return raw.SparseReorder(input_indices=indices, input_values=values, input_shape=shape)[1]


ORDER = [3, 0, 4, 1, 2]
REORDER = [
    Case("SparseReorder", "matrix", reorder, [A[ORDER], normal(5), SHAPE]),
    Case("SparseReorder", "complex", reorder, [A[ORDER], complex_normal(5), SHAPE]),
    Case("SparseReorder", "repeated", reorder, [A[[2, 2, 0, 4, 4]], normal(5), SHAPE]),
    Case(
        "SparseReorder",
        "cube_float",
        reorder,
        [CUBE[ORDER], normal(5, dtype=np.float32), CUBE_SHAPE],
        known_shapes=True,
    ),
    Case("SparseReorder", "empty", reorder, [NONE, normal(0), SHAPE]),
]


def slice_(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
    return raw.SparseSlice(indices=indices, values=values, shape=shape, start=start, size=size)[1]


def corner(*numbers: int) -> np.ndarray:
    return np.array(numbers)


SLICE = [
    numeric("SparseSlice", "matrix", slice_, [A, normal(5), SHAPE, corner(0, 1), corner(3, 2)]),
    numeric(
        "SparseSlice", "past_the_end", slice_, [A, normal(5), SHAPE, corner(1, 0), corner(9, 9)]
    ),
    numeric("SparseSlice", "nothing", slice_, [A, normal(5), SHAPE, corner(1, 0), corner(1, 2)]),
    numeric(
        "SparseSlice", "complex", slice_, [A, complex_normal(5), SHAPE, corner(0, 0), corner(3, 3)]
    ),
    first(
        "SparseSlice",
        "cube_float",
        slice_,
        [CUBE, normal(5, dtype=np.float32), CUBE_SHAPE, corner(0, 1, 0), corner(2, 2, 2)],
        known_shapes=True,
    ),
]

# ---- SparseFillEmptyRows


def fill(indices: Any, values: Any, shape: Any, default: Any) -> Any:
    return raw.SparseFillEmptyRows(
        indices=indices, values=values, dense_shape=shape, default_value=default
    )[1]


FILL = [
    numeric("SparseFillEmptyRows", "one", fill, [A, normal(5), SHAPE, normal()]),
    numeric("SparseFillEmptyRows", "all", fill, [NONE, normal(0), SHAPE, normal()]),
    numeric("SparseFillEmptyRows", "none", fill, [A[:2], normal(2), corner(1, 4), normal()]),
    numeric(
        "SparseFillEmptyRows", "complex", fill, [A, complex_normal(5), SHAPE, complex_normal()]
    ),
    numeric(
        "SparseFillEmptyRows",
        "unordered",
        fill,
        [A[[4, 0, 3, 1, 2]], normal(5), corner(6, 4), normal()],
    ),
    first(
        "SparseFillEmptyRows",
        "float",
        fill,
        [CUBE[:2], normal(2, dtype=np.float32), CUBE_SHAPE, normal(dtype=np.float32)],
    ),
]

# ---- SparseReduceSum, SparseSoftmax


def reduce_sum(*axes: int, keep_dims: bool = False) -> Any:
    def build(indices: Any, values: Any, shape: Any) -> Any:
        return raw.SparseReduceSum(
            input_indices=indices,
            input_values=values,
            input_shape=shape,
            reduction_axes=tf.constant(axes, tf.int32),
            keep_dims=keep_dims,
        )

    return build


REDUCE = [
    Case("SparseReduceSum", "rows", reduce_sum(1), [A, normal(5), SHAPE]),
    Case("SparseReduceSum", "columns_kept", reduce_sum(0, keep_dims=True), [A, normal(5), SHAPE]),
    Case("SparseReduceSum", "all", reduce_sum(0, 1), [A, normal(5), SHAPE]),
    Case("SparseReduceSum", "negative", reduce_sum(-1, 0), [CUBE, normal(5), CUBE_SHAPE]),
    Case("SparseReduceSum", "middle_complex", reduce_sum(1), [CUBE, complex_normal(5), CUBE_SHAPE]),
    Case("SparseReduceSum", "no_axes", reduce_sum(), [A, normal(5), SHAPE]),
    Case(
        "SparseReduceSum",
        "float",
        reduce_sum(1, keep_dims=True),
        [A, normal(5, dtype=np.float32), SHAPE],
        known_shapes=True,
    ),
    Case(
        "SparseReduceSum",
        "large_axis",
        reduce_sum(1),
        [A * [1, 10**12], normal(5), SHAPE * [1, 10**12]],
    ),
    Case("SparseReduceSum", "empty", reduce_sum(1), [NONE, normal(0), corner(3, 0)]),
]


def softmax(indices: Any, values: Any, shape: Any) -> Any:
    return raw.SparseSoftmax(sp_indices=indices, sp_values=values, sp_shape=shape)


SOFTMAX = [
    numeric("SparseSoftmax", "matrix", softmax, [A, normal(5), SHAPE]),
    numeric("SparseSoftmax", "cube", softmax, [CUBE, normal(5), CUBE_SHAPE]),
    numeric("SparseSoftmax", "empty", softmax, [NONE, normal(0), SHAPE]),
    first(
        "SparseSoftmax",
        "float",
        softmax,
        [A, normal(5, dtype=np.float32), SHAPE],
        known_shapes=True,
    ),
    first("SparseSoftmax", "half", softmax, [A, normal(5, dtype=np.float16), SHAPE]),
]

# ---- SparseSegment*: rows 2 and 0 are taken twice, row 4 never; segment 1 is
# empty. More segments come behind where their number is given.

ROWS = np.array([2, 0, 2, 3, 1, 0], np.int32)
IDS = np.array([0, 0, 0, 2, 3, 3], np.int32)


def segment_cases(reduction: str) -> list[Case]:
    op = f"SparseSegment{reduction}"
    return [*_segment_cases(op), *_segment_cases(f"{op}WithNumSegments", num_segments=6)]


def _segment_cases(op: str, **more_inputs: int) -> list[Case]:
    def build(data: Any, indices: Any, ids: Any, sparse: bool = False) -> Any:
        return getattr(raw, op)(
            data=data, indices=indices, segment_ids=ids, sparse_gradient=sparse, **more_inputs
        )

    def sparse(data: Any, indices: Any, ids: Any) -> Any:
        return build(data, indices, ids, sparse=True)

    wide = ROWS.astype(np.int64), IDS.astype(np.int64)
    single = normal(5, 3, dtype=np.float32)
    empty = [normal(5, 2), ROWS[:0], IDS[:0]]
    return [
        numeric(op, "matrix", build, [normal(5, 2), ROWS, IDS]),
        numeric(op, "vector_int64", build, [normal(5), *wide]),
        numeric(op, "cube", build, [normal(5, 2, 2), ROWS, IDS]),
        numeric(op, "unknown_rank", build, [normal(5, 2), ROWS, IDS], known_shapes="rank"),
        numeric(op, "sparse_gradient", sparse, [normal(5, 2), ROWS, IDS]),
        first(op, "float", build, [single, ROWS, IDS], known_shapes=True),
        first(op, "half", build, [single.astype(np.float16), ROWS, IDS]),
        # Python's gradient is memory as it was found.
        numeric(op, "empty", build, empty, reference="numeric"),
    ]


CASES = [
    *REORDER,
    *SLICE,
    *FILL,
    *REDUCE,
    *SOFTMAX,
    *segment_cases("Sum"),
    *segment_cases("Mean"),
    *segment_cases("SqrtN"),
]
