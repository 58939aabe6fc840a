"""Sparse tensors with each other and with dense ones; ops that move, select, fill, join or split
their values.

Python differentiates few of these gradients again, so the second order is compared with central
differences.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, distinct, normal, single
from rows import call, case, each, floats, longs, numeric, numeric_second

# Two patterns of shape [3, 4] that share three positions; row 1 of A is empty.
A = np.array([[0, 0], [0, 2], [2, 0], [2, 1], [2, 3]])
B = np.array([[0, 1], [0, 2], [1, 3], [2, 0], [2, 3]])
SHAPE = np.array([3, 4])
# One of shape [2, 3, 2].
CUBE = np.array([[0, 0, 1], [0, 2, 0], [1, 1, 0], [1, 1, 1], [1, 2, 1]])
CUBE_SHAPE = np.array([2, 3, 2])
NONE = np.zeros([0, 2], np.int64)
# Indices, values and shape.
MATRIX, COMPLEX = (A, normal(5), SHAPE), (A, complex_normal(5), SHAPE)
FLOATS, EMPTY = (A, single(5), SHAPE), (NONE, normal(0), SHAPE)
CUBES = CUBE, normal(5), CUBE_SHAPE
COMPLEX_CUBES, FLOAT_CUBES = (CUBE, complex_normal(5), CUBE_SHAPE), (CUBE, single(5), CUBE_SHAPE)
COARSE: dict[str, Any] = {"step": 1e-2, "tolerance": 1e-3}

# ---- Of two sparse tensors


def _add(a_indices: Any, a: Any, b_indices: Any, b: Any, shape: Any, threshold: float = 0) -> Any:
    thresh = tf.constant(threshold, a.dtype.real_dtype)
    return call("SparseAdd", a_indices, a, shape, b_indices, b, shape, thresh)[1]


add = functools.partial(numeric_second, "SparseAdd", build=_add)
NEAR, FAR = np.array([1, 0.1, 2, -0.2, 1]), np.array([3, 1, 0.2, -1.9, 1])


def extremum(op: str) -> list[Case]:
    """Python has no gradient."""

    def build(a_indices: Any, a: Any, b_indices: Any, b: Any, shape: Any) -> Any:
        return call(op, a_indices, a, shape, b_indices, b, shape)[1]

    def with_itself(indices: Any, a: Any, shape: Any) -> Any:
        return build(indices, a, indices, a, shape)

    a, b = distinct(10)[:5], distinct(10)[5:]
    a32, b32 = floats(a, b)
    row = functools.partial(numeric, op, build=build)
    return [
        row("matrix", A, a, B, b, SHAPE),
        row("cube", CUBE, a, CUBE[1:4], b[:3], CUBE_SHAPE),
        row("ties", A, a, SHAPE, build=with_itself),
        row("empty", A, a, NONE, b[:0], SHAPE),
        row("float", A, a32, B, b32, SHAPE, second_order=None, **COARSE),
    ]


OF_TWO = [
    add("matrix", A, normal(5), B, distinct(5), SHAPE),
    add("threshold", A, NEAR, B, FAR, SHAPE, threshold=0.5),
    add("complex", A, complex_normal(5), B, complex_normal(5, seed=1), SHAPE),
    add("empty", NONE, normal(0), B, normal(5), SHAPE),
    add("cube", CUBE[:3], normal(3), CUBE, normal(5), CUBE_SHAPE),
    add("float", A, single(5), B, single(5), SHAPE, static="all", second_order=None),
    *each("SparseSparseMaximum SparseSparseMinimum", extremum),
]

# ---- Sparse with dense


def cwise(op: str) -> list[Case]:
    # Python has no gradient of the sum.
    is_sum = op == "SparseDenseCwiseAdd"
    row = functools.partial(numeric if is_sum else numeric_second, op)
    once = {"second_order": None, **(COARSE if is_sum else {})}
    return [
        row("same_shape", *MATRIX, distinct(3, 4)),
        row("row", *MATRIX, distinct(4)),
        row("unknown_rank", *MATRIX, distinct(4), static="none"),
        row("column", *MATRIX, distinct(3, 1)),
        row("one", *MATRIX, distinct(1, 1)),
        row("cube_by_matrix", *CUBES, distinct(3, 1)),
        row("empty", *EMPTY, distinct(3, 4)),
        row("float", *FLOATS, *floats(distinct(3, 4)), static="all", **once),
    ]


def products() -> Iterator[Case]:
    row = functools.partial(case, "SparseTensorDenseMatMul")
    for a, b in itertools.product((False, True), repeat=2):
        shape = (3 if a else 4, 2)
        shape = shape[::-1] if b else shape
        name = f"{'adjoint' if a else 'a'}_{'adjoint' if b else 'b'}"
        how = {"adjoint_a": a, "adjoint_b": b}
        yield row(f"complex_{name}", *COMPLEX, complex_normal(*shape), **how)
        yield row(f"double_{name}", *MATRIX, normal(*shape), **how)
    repeated = A[[0, 0, 1, 2, 2]].astype(np.int32)
    yield row("repeated_int32", repeated, normal(5), SHAPE, normal(4, 5))
    yield row("float", *FLOATS, single(4, 1), static="all")
    yield row("empty", *EMPTY, normal(4, 2))


dense_add = functools.partial(case, "SparseTensorDenseAdd")
NARROW = A.astype(np.int32), normal(5), SHAPE.astype(np.int32)
WITH_DENSE = [
    *each("SparseDenseCwiseAdd SparseDenseCwiseMul SparseDenseCwiseDiv", cwise),
    dense_add("matrix", *MATRIX, normal(3, 4)),
    dense_add("int32", *NARROW, normal(3, 4)),
    dense_add("repeated", A[[0, 0, 1, 2, 2]], normal(5), SHAPE, normal(3, 4)),
    dense_add("complex", *COMPLEX, complex_normal(3, 4)),
    dense_add("float", CUBE, single(5), CUBE_SHAPE, single(2, 3, 2)),
    dense_add("empty", *EMPTY, normal(3, 4)),
    *products(),
]

# ---- SparseToDense

dense = functools.partial(case, "SparseToDense")
# If indices are not a matrix, or repeat, Python's gradient fails or is wrong.
by_differences = functools.partial(numeric, "SparseToDense")
SIX = np.array([6])
UNORDERED, REPEATED = A[[2, 0, 1, 4, 3]], A[[0, 0, 1, 2, 2]]
SCALAR, SCALAR_SHAPE = np.array(2), np.array([4])
NARROW_SCALAR = SCALAR.astype(np.int32), SCALAR_SHAPE.astype(np.int32)
TO_DENSE = [
    dense("matrix", A, SHAPE, normal(5), normal()),
    dense("complex", A, SHAPE, complex_normal(5), complex_normal()),
    dense("float", A, SHAPE, single(5), single()),
    dense("unordered", UNORDERED, SHAPE, normal(5), normal(), validate_indices=False),
    dense("unknown_rank", A, SHAPE, normal(5), normal(), static="none"),
    dense("empty", NONE, SHAPE, normal(0), normal()),
    by_differences("scalar_value", A, SHAPE, normal(), normal()),
    by_differences("vector_indices", longs(1, 3, 4), SIX, normal(3), normal()),
    by_differences("scalar_index", *NARROW_SCALAR, normal(), normal()),
    *(
        by_differences(name, *inputs, normal(), validate_indices=False)
        for name, *inputs in (
            ("repeated", REPEATED, SHAPE, normal(5)),
            ("repeated_vector", longs(1, 3, 1), SIX, normal(3)),
            ("not_validated_scalar", SCALAR, SCALAR_SHAPE, normal()),
        )
    ),
]

# ---- Moved, selected, filled in

ORDER = [3, 0, 4, 1, 2]


def second(_: Any, values: Any, *more: Any) -> Any:
    """The values, the second output of most ops."""
    return values


reorder = functools.partial(case, "SparseReorder", then=second)
slice_ = functools.partial(numeric_second, "SparseSlice", then=second)
fill = functools.partial(numeric_second, "SparseFillEmptyRows", then=second)
MOVED = [
    reorder("matrix", A[ORDER], normal(5), SHAPE),
    reorder("complex", A[ORDER], complex_normal(5), SHAPE),
    reorder("repeated", A[[2, 2, 0, 4, 4]], normal(5), SHAPE),
    reorder("cube_float", CUBE[ORDER], single(5), CUBE_SHAPE, static="all"),
    reorder("empty", *EMPTY),
    slice_("matrix", *MATRIX, longs(0, 1), longs(3, 2)),
    slice_("past_the_end", *MATRIX, longs(1, 0), longs(9, 9)),
    slice_("nothing", *MATRIX, longs(1, 0), longs(1, 2)),
    slice_("complex", *COMPLEX, longs(0, 0), longs(3, 3)),
    slice_(
        "cube_float", *FLOAT_CUBES, longs(0, 1, 0), longs(2, 2, 2), second_order=None, static="all"
    ),
    fill("one", *MATRIX, normal()),
    fill("all", *EMPTY, normal()),
    fill("none", A[:2], normal(2), longs(1, 4), normal()),
    fill("complex", *COMPLEX, complex_normal()),
    fill("unordered", A[[4, 0, 3, 1, 2]], normal(5), longs(6, 4), normal()),
    fill("float", CUBE[:2], single(2), CUBE_SHAPE, single(), second_order=None),
]

# ---- SparseConcat, SparseSplit: Python has no gradient.


def _concat(indices: Any, values: Any, axis: int, shape: tuple[int, ...]) -> Any:
    squares = [tf.square(v) for v in values]
    shapes = [tf.constant(shape, tf.int64)] * len(values)
    return call("SparseConcat", indices, squares, shapes, concat_dim=axis)[1]


def _split(axis: Any, indices: Any, values: Any, shape: Any, parts: int) -> Any:
    made = tf.raw_ops.SparseSplit(
        split_dim=axis, indices=indices, values=tf.square(values), shape=shape, num_split=parts
    )
    return made.output_values


joined = functools.partial(numeric, "SparseConcat", build=_concat, shape=(3, 4))
cut = functools.partial(numeric, "SparseSplit", build=_split)
PAIR, VALUES = [A, A[[4, 0, 2]]], [normal(5), normal(3)]  # the second is not sorted
THREE, OF_THREE = [CUBE, CUBE[:2], CUBE[3:]], [complex_normal(n) for n in (5, 2, 2)]
FIRST, SECOND = np.array(0), np.array(1)
PARTS = [
    joined("rows", PAIR, VALUES, axis=0),
    joined("last_axis", PAIR, VALUES, axis=-1, static="all"),
    joined("three_complex", THREE, OF_THREE, axis=1, shape=(2, 3, 2)),
    joined("one_empty", [NONE, A], [normal(0), normal(5)], axis=1, static="none"),
    joined("float", [A, A], [single(5), single(5, seed=1)], axis=0),
    cut("columns", SECOND, *MATRIX, parts=2),
    cut("rows", FIRST, *MATRIX, parts=3, static="all"),
    cut("one", FIRST, *MATRIX, parts=1),
    cut("uneven_complex", SECOND, *COMPLEX_CUBES, parts=2, static="none"),
    cut("nothing", SECOND, *EMPTY, parts=2),
    cut("float", SECOND, *FLOATS, parts=4),
]

CASES = [*OF_TWO, *WITH_DENSE, *TO_DENSE, *MOVED, *PARTS]
