"""Reductions of sparse tensors and of rows with sparse indices, and counts.

Python has no gradient of most, and differentiates few of its own again. Elements that attain the
maximum together are one element of the input.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from cases_sparse import COMPLEX, COMPLEX_CUBES, CUBES, EMPTY, FLOATS, MATRIX
from parity import Case
from random_values import distinct, normal, single
from rows import call, case, each, first_order, ints, longs, numeric, numeric_second

A, _, SHAPE = MATRIX
CUBE, _, CUBE_SHAPE = CUBES
LARGE = np.array([1, 10**12])
NO_COLUMNS = EMPTY[0], normal(0), longs(3, 0)


def reduction(op: str) -> Any:
    def build(
        indices: Any, values: Any, shape: Any, axes: Any, keep: bool = False, picked: Any = None
    ) -> Any:
        """`picked`: the indices of the fed numbers that are the values."""
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
    reduce_sum("float", *FLOATS, axes=[1], keep=True, static="all"),
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
        row("all", *matrix, axes=[0, 1], static="all"),
        row("all_kept", *matrix, axes=[0, 1], keep=True),
        row("no_axes", *matrix, axes=()),
        row("negative", *cube, axes=[-1, 0], static="none"),
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
    softmax("float", *FLOATS, static="all", second_order=None),
    softmax("half", A, half, SHAPE, second_order=None),
]

# ---- SparseSegment*: rows 2 and 0 are taken twice, row 4 never; segment 1 is empty. If the number
# of segments is given, more follow.

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
        row("unknown_rank", normal(5, 2), ROWS, IDS, static="none"),
        row("sparse_gradient", normal(5, 2), ROWS, IDS, sparse_gradient=True),
        once("float", single(5, 3), ROWS, IDS, static="all"),
        once("half", single(5, 3).astype(np.float16), ROWS, IDS),
        # Python's gradient is uninitialized memory.
        row("empty", normal(5, 2), ROWS[:0], IDS[:0], reference="numeric"),
    ]


def segment_gradients(op: str) -> list[Case]:
    def build(grad: Any, indices: Any, ids: Any) -> Any:
        return call(op, grad * grad, indices, ids, dense_output_dim0=9)[0]

    rows = ints(2, 0, 2, 3, 7, 0)
    row = functools.partial(numeric, op, build=build)
    return [
        row("matrix", normal(4, 2), rows, IDS),
        row("vector_int64", normal(5), rows.astype(np.int64), LONG_IDS, static="all"),
        row("cube", normal(4, 2, 2), rows, IDS, static="none"),
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

# ---- Sums of weights by their bins

# Arguments of every op by name; bin 1 is empty, bin 7 is beyond the last one.
Arguments = Mapping[str, np.ndarray]
BINS, TABLE = ints(3, 0, 3, 7, 4, 2), ints([3, 0, 3], [7, 4, 4])
# Row 1 of the matrix and the first, second and last ragged rows are empty.
SPARSE = {
    "indices": longs([0, 0], [0, 5], [2, 1], [2, 2], [3, 0]),
    "dense_shape": longs(4, 6),
    "values": BINS[[4, 1, 5, 5, 1]],
}
VECTOR = {"indices": longs([1], [3], [4], [5], [8]), "dense_shape": longs(9), "values": BINS[:5]}
RAGGED = {"splits": longs(0, 0, 0, 2, 3, 6, 6), "values": BINS}


def weighted(op: str, name: str, arguments: Arguments, weights: Any = None, **more: Any) -> Case:
    """A case whose last argument has a weight for each of its elements."""
    *_, values = arguments.values()
    how: dict[str, Any] = {} if op == "Bincount" else {"binary_output": False}
    how |= more
    if "Count" not in op:
        # In the type of the values.
        how["size"] = np.asarray(how.get("size", 5), values.dtype)

    def build(*inputs: Any, **attributes: Any) -> Any:
        fed = dict(zip(arguments, inputs, strict=False))
        made = call(op, **fed, weights=tf.square(inputs[-1]), **attributes)
        return made[1] if "Count" in op else made

    weights = normal(*values.shape) if weights is None else weights
    return numeric(op, name, *arguments.values(), weights, build=build, **how)


def nothing(arguments: Arguments) -> Arguments:
    """The same without values."""
    left = {"dense_shape": 2, "splits": 2}
    return {name: value[: left.get(name, 0)] for name, value in arguments.items()}


def counts(op: str, arguments: Arguments) -> list[Case]:
    """The cases that every op has."""
    *_, values = arguments.values()
    wide = {name: value.astype(np.int64) for name, value in arguments.items()}
    cases = [
        weighted(op, "double", arguments),
        weighted(op, "float", arguments, normal(*values.shape, dtype=np.float32), static="all"),
        weighted(op, "unknown_rank", arguments, static="none"),
        weighted(op, "no_values", nothing(arguments)),
        weighted(op, "no_weights", arguments, np.zeros(0)),
        weighted(op, "fewer_bins", arguments, **{"maxlength" if "Count" in op else "size": 4}),
    ]
    if op != "Bincount":
        cases += [
            weighted(op, "int64", wide),
            weighted(op, "binary", arguments, binary_output=True, no_gradient=True),
        ]
    return cases


dense, COUNT = functools.partial(weighted, "DenseBincount"), "DenseCountSparseOutput"
CASES += [
    *counts("Bincount", {"arr": BINS}),
    weighted("Bincount", "matrix", {"arr": TABLE}),
    weighted("Bincount", "scalar", {"arr": np.array(2, np.int32)}),
    *counts("DenseBincount", {"input": TABLE}),
    dense("vector", {"input": BINS}),
    dense("scalar", {"input": np.array(2, np.int32)}),
    dense("no_columns", {"input": TABLE[:, :0]}),
    dense("no_bins", {"input": TABLE}, size=0),
    *counts("SparseBincount", SPARSE),
    weighted("SparseBincount", "vector", VECTOR),
    *counts("RaggedBincount", RAGGED),
    *counts(COUNT, {"values": BINS}),
    weighted(COUNT, "matrix", {"values": TABLE}),
    weighted(COUNT, "large", {"values": longs(0, 2**30, 5, 0, 5)}, minlength=3),
    *counts("SparseCountSparseOutput", SPARSE),
    weighted("SparseCountSparseOutput", "vector", VECTOR),
    *counts("RaggedCountSparseOutput", RAGGED),
]
