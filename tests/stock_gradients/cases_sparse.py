# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors with each other and with dense ones.

Python differentiates few of these gradients once more: the second order is
compared with central differences.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, distinct, normal

raw = tf.raw_ops

# Two patterns of shape [3, 4] that share three places; row 1 of A is empty.
A = np.array([[0, 0], [0, 2], [2, 0], [2, 1], [2, 3]])
B = np.array([[0, 1], [0, 2], [1, 3], [2, 0], [2, 3]])
SHAPE = np.array([3, 4])
# One of shape [2, 3, 2].
CUBE = np.array([[0, 0, 1], [0, 2, 0], [1, 1, 0], [1, 1, 1], [1, 2, 1]])
CUBE_SHAPE = np.array([2, 3, 2])
NONE = np.zeros([0, 2], np.int64)


def numeric(op: str, name: str, build: Any, inputs: Sequence[Any], **more: Any) -> Case:
    """Python's gradient, and central differences for the second order."""
    return Case(op, name, build, inputs, **{"second_order": "numeric", **more})


def first(op: str, name: str, build: Any, inputs: Sequence[Any], **more: Any) -> Case:
    """First order only: for types in which differences are too coarse."""
    return numeric(op, name, build, inputs, second_order=None, **more)


# ---- SparseAdd


def sparse_add(threshold: float = 0.0) -> Any:
    def build(a_indices: Any, a: Any, b_indices: Any, b: Any, shape: Any) -> Any:
        thresh = tf.constant(threshold, a.dtype.real_dtype)
        return raw.SparseAdd(
            a_indices=a_indices,
            a_values=a,
            a_shape=shape,
            b_indices=b_indices,
            b_values=b,
            b_shape=shape,
            thresh=thresh,
        )[1]

    return build


SPARSE_ADD = [
    numeric("SparseAdd", "matrix", sparse_add(), [A, normal(5), B, distinct(5), SHAPE]),
    numeric(
        "SparseAdd",
        "threshold",
        sparse_add(0.5),
        [A, np.array([1, 0.1, 2, -0.2, 1]), B, np.array([3, 1, 0.2, -1.9, 1]), SHAPE],
    ),
    numeric(
        "SparseAdd",
        "complex",
        sparse_add(),
        [A, complex_normal(5), B, complex_normal(5, seed=1), SHAPE],
    ),
    numeric("SparseAdd", "empty", sparse_add(), [NONE, normal(0), B, normal(5), SHAPE]),
    numeric("SparseAdd", "cube", sparse_add(), [CUBE[:3], normal(3), CUBE, normal(5), CUBE_SHAPE]),
    first(
        "SparseAdd",
        "float",
        sparse_add(),
        [A, normal(5, dtype=np.float32), B, normal(5, dtype=np.float32), SHAPE],
        known_shapes=True,
    ),
]

# ---- SparseSparseMaximum, SparseSparseMinimum: Python has no gradient.


def extremum_cases(op: str) -> list[Case]:
    def build(a_indices: Any, a: Any, b_indices: Any, b: Any, shape: Any) -> Any:
        return getattr(raw, op)(
            a_indices=a_indices,
            a_values=a,
            a_shape=shape,
            b_indices=b_indices,
            b_values=b,
            b_shape=shape,
        )[1]

    def with_itself(indices: Any, a: Any, shape: Any) -> Any:
        return build(indices, a, indices, a, shape)

    a, b = distinct(10)[:5], distinct(10)[5:]
    return [
        numeric(op, "matrix", build, [A, a, B, b, SHAPE], reference="numeric"),
        numeric(op, "cube", build, [CUBE, a, CUBE[1:4], b[:3], CUBE_SHAPE], reference="numeric"),
        numeric(op, "ties", with_itself, [A, a, SHAPE], reference="numeric"),
        numeric(op, "empty", build, [A, a, NONE, b[:0], SHAPE], reference="numeric"),
        first(
            op,
            "float",
            build,
            [A, a.astype(np.float32), B, b.astype(np.float32), SHAPE],
            reference="numeric",
            step=1e-2,
            tolerance=1e-3,
        ),
    ]


# ---- Sparse with dense


def cwise_cases(op: str) -> list[Case]:
    def build(indices: Any, x: Any, shape: Any, y: Any) -> Any:
        return getattr(raw, op)(sp_indices=indices, sp_values=x, sp_shape=shape, dense=y)

    def case(name: str, inputs: Sequence[Any], **more: Any) -> Case:
        return numeric(op, name, build, inputs, **{**reference, **more})

    # Python has none for the sum.
    reference = {"reference": "numeric" if op == "SparseDenseCwiseAdd" else "python"}
    x = normal(5)
    single = [A, x.astype(np.float32), SHAPE, distinct(3, 4, dtype=np.float32)]
    differences: dict[str, Any] = (
        {"step": 1e-2, "tolerance": 1e-3} if op == "SparseDenseCwiseAdd" else {}
    )
    return [
        case("same_shape", [A, x, SHAPE, distinct(3, 4)]),
        case("row", [A, x, SHAPE, distinct(4)]),
        case("unknown_rank", [A, x, SHAPE, distinct(4)], known_shapes="rank"),
        case("column", [A, x, SHAPE, distinct(3, 1)]),
        case("one", [A, x, SHAPE, distinct(1, 1)]),
        case("cube_by_matrix", [CUBE, x, CUBE_SHAPE, distinct(3, 1)]),
        case("empty", [NONE, x[:0], SHAPE, distinct(3, 4)]),
        case("float", single, second_order=None, known_shapes=True, **differences),
    ]


def tensor_dense_add(indices: Any, a: Any, shape: Any, b: Any) -> Any:
    return raw.SparseTensorDenseAdd(a_indices=indices, a_values=a, a_shape=shape, b=b)


def dense_add(name: str, inputs: Sequence[Any], **more: Any) -> Case:
    return Case("SparseTensorDenseAdd", name, tensor_dense_add, inputs, **more)


DENSE_ADD = [
    dense_add("matrix", [A, normal(5), SHAPE, normal(3, 4)]),
    dense_add("int32", [A.astype(np.int32), normal(5), SHAPE.astype(np.int32), normal(3, 4)]),
    dense_add("repeated", [A[[0, 0, 1, 2, 2]], normal(5), SHAPE, normal(3, 4)]),
    dense_add("complex", [A, complex_normal(5), SHAPE, complex_normal(3, 4)]),
    dense_add(
        "float", [CUBE, normal(5, dtype=np.float32), CUBE_SHAPE, normal(2, 3, 2, dtype=np.float32)]
    ),
    dense_add("empty", [NONE, normal(0), SHAPE, normal(3, 4)]),
]

# ---- SparseTensorDenseMatMul


def matmul(adjoint_a: bool, adjoint_b: bool) -> Any:
    def build(indices: Any, a: Any, shape: Any, b: Any) -> Any:
        return raw.SparseTensorDenseMatMul(
            a_indices=indices,
            a_values=a,
            a_shape=shape,
            b=b,
            adjoint_a=adjoint_a,
            adjoint_b=adjoint_b,
        )

    return build


def matmul_cases() -> list[Case]:
    op = "SparseTensorDenseMatMul"
    cases = []
    for adjoint_a in (False, True):
        for adjoint_b in (False, True):
            build = matmul(adjoint_a, adjoint_b)
            shape = (3 if adjoint_a else 4, 2)
            b_shape = shape[::-1] if adjoint_b else shape
            name = f"{'adjoint' if adjoint_a else 'a'}_{'adjoint' if adjoint_b else 'b'}"
            cases += [
                Case(
                    op,
                    f"complex_{name}",
                    build,
                    [A, complex_normal(5), SHAPE, complex_normal(*b_shape)],
                ),
                Case(op, f"double_{name}", build, [A, normal(5), SHAPE, normal(*b_shape)]),
            ]
    build = matmul(False, False)
    repeated = A[[0, 0, 1, 2, 2]].astype(np.int32)
    wide = [repeated, normal(5), SHAPE, normal(4, 5)]
    single = [A, normal(5, dtype=np.float32), SHAPE, normal(4, 1, dtype=np.float32)]
    return [
        *cases,
        Case(op, "repeated_int32", build, wide),
        Case(op, "float", build, single, known_shapes=True),
        Case(op, "empty", build, [NONE, normal(0), SHAPE, normal(4, 2)]),
    ]


# ---- SparseToDense


def to_dense(validate: bool = True) -> Any:
    def build(indices: Any, shape: Any, values: Any, default: Any) -> Any:
        return raw.SparseToDense(
            sparse_indices=indices,
            output_shape=shape,
            sparse_values=values,
            default_value=default,
            validate_indices=validate,
        )

    return build


def dense(name: str, inputs: Sequence[Any], validate: bool = True, **more: Any) -> Case:
    return Case("SparseToDense", name, to_dense(validate), inputs, **more)


# For indices that are no matrix, or repeat, Python's gradient fails or is wrong.
by_differences: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
VECTOR = np.array([1, 3, 4])
TO_DENSE = [
    dense("matrix", [A, SHAPE, normal(5), normal()]),
    dense("complex", [A, SHAPE, complex_normal(5), complex_normal()]),
    dense("float", [A, SHAPE, normal(5, dtype=np.float32), normal(dtype=np.float32)]),
    dense("unordered", [A[[2, 0, 1, 4, 3]], SHAPE, normal(5), normal()], validate=False),
    dense("scalar_value", [A, SHAPE, normal(), normal()], **by_differences),
    dense("vector_indices", [VECTOR, np.array([6]), normal(3), normal()], **by_differences),
    dense(
        "scalar_index",
        [np.array(2, np.int32), np.array([4], np.int32), normal(), normal()],
        **by_differences,
    ),
    dense(
        "repeated",
        [A[[0, 0, 1, 2, 2]], SHAPE, normal(5), normal()],
        validate=False,
        **by_differences,
    ),
    dense(
        "repeated_vector",
        [np.array([1, 3, 1]), np.array([6]), normal(3), normal()],
        validate=False,
        **by_differences,
    ),
    dense(
        "not_validated_scalar",
        [np.array(2), np.array([4]), normal(), normal()],
        validate=False,
        **by_differences,
    ),
    dense("unknown_rank", [A, SHAPE, normal(5), normal()], known_shapes="rank"),
    dense("empty", [NONE, SHAPE, normal(0), normal()]),
]

CASES = [
    *SPARSE_ADD,
    *extremum_cases("SparseSparseMaximum"),
    *extremum_cases("SparseSparseMinimum"),
    *cwise_cases("SparseDenseCwiseAdd"),
    *cwise_cases("SparseDenseCwiseMul"),
    *cwise_cases("SparseDenseCwiseDiv"),
    *DENSE_ADD,
    *matmul_cases(),
    *TO_DENSE,
]
