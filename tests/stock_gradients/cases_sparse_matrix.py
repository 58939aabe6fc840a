# SPDX-License-Identifier: Apache-2.0
"""CSR sparse matrices, between a conversion to one and one back."""

import itertools
from collections.abc import Sequence
from typing import Any

import differences
import numpy as np
import tensorflow as tf
from cases_sparse import CUBE, CUBE_SHAPE, NONE, SHAPE, A, first, numeric
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


def to_matrix(indices: Any, values: Any, shape: Any) -> Any:
    """The rank has to be known; it is 2 where it is not."""
    if indices.shape[1] is None:
        indices = tf.ensure_shape(indices, [None, 2])
        shape = tf.ensure_shape(shape, [2])
    return raw.SparseTensorToCSRSparseMatrix(indices=indices, values=values, dense_shape=shape)


def to_dense(matrix: Any, dtype: tf.DType) -> Any:
    return raw.CSRSparseMatrixToDense(sparse_input=matrix, type=dtype)


def to_values(matrix: Any, dtype: tf.DType) -> Any:
    return raw.CSRSparseMatrixToSparseTensor(sparse_matrix=matrix, type=dtype).values


# ---- Conversions; squares, so that the second order is not 0.


def matrix_to_dense(indices: Any, values: Any, shape: Any) -> Any:
    return to_dense(to_matrix(indices, values, shape), values.dtype) ** 2


def matrix_to_values(indices: Any, values: Any, shape: Any) -> Any:
    return to_values(to_matrix(indices, values, shape), values.dtype) ** 2


def dense_to_values(dense: Any, indices: Any) -> Any:
    if indices.shape[1] is None:
        indices = tf.ensure_shape(indices, [None, 2])
    matrix = raw.DenseToCSRSparseMatrix(dense_input=dense, indices=indices)
    return to_values(matrix, dense.dtype) ** 2


def conversions(op: str, build: Any, *, from_dense: bool = False) -> list[Case]:
    def case(name: str, indices: Any, values: Any, shape: Any, **more: Any) -> Case:
        if not from_dense:
            return numeric(op, name, build, [indices, values, shape], **more)
        make = complex_normal if np.iscomplexobj(values) else normal
        dense = make(*shape, dtype=values.dtype)
        return numeric(op, name, build, [dense, indices], **more)

    known: dict[str, Any] = {"known_shapes": True}
    return [
        case("matrix", A, normal(5), SHAPE, **known),
        case("batch", CUBE, normal(5), CUBE_SHAPE, **known),
        case("complex", A, complex_normal(5), SHAPE, **known),
        case("empty", NONE, normal(0), SHAPE, **known),
        case("unknown_shapes", A, normal(5), SHAPE),
        case("float", A, normal(5, dtype=np.float32), SHAPE, **known, second_order=None),
    ]


CONVERSIONS = [
    *conversions("SparseTensorToCSRSparseMatrix", matrix_to_values),
    *conversions("CSRSparseMatrixToSparseTensor", matrix_to_values),
    *conversions("CSRSparseMatrixToDense", matrix_to_dense),
    *conversions("DenseToCSRSparseMatrix", dense_to_values, from_dense=True),
]


def components(index: int) -> Any:
    def build(indices: Any, values: Any, shape: Any) -> Any:
        matrix = to_matrix(indices, values, shape)
        return tf.square(
            raw.CSRSparseMatrixComponents(
                csr_sparse_matrix=matrix, index=index, type=values.dtype
            ).values
        )

    return build


COMPONENTS = [
    differences.numeric(
        "CSRSparseMatrixComponents", name, components(index), inputs, known_shapes=True
    )
    for name, index, inputs in (
        ("matrix", 0, [A, normal(5), SHAPE]),
        ("first_of_batch", 0, [CUBE, normal(5), CUBE_SHAPE]),
        ("last_of_batch_complex", 1, [CUBE, complex_normal(5), CUBE_SHAPE]),
        ("float", 1, [CUBE, normal(5, dtype=np.float32), CUBE_SHAPE]),
        ("no_values", 1, [CUBE[:2], normal(2), CUBE_SHAPE]),
    )
]

# ---- SparseMatrixTranspose


def transpose(conjugate: bool) -> Any:
    def build(indices: Any, values: Any, shape: Any) -> Any:
        turned = raw.SparseMatrixTranspose(
            input=to_matrix(indices, values, shape), conjugate=conjugate, type=values.dtype
        )
        return to_values(turned, values.dtype) ** 2

    return build


def transposed(name: str, inputs: Sequence[Any], conjugate: bool, **more: Any) -> Case:
    return numeric("SparseMatrixTranspose", name, transpose(conjugate), inputs, **more)


TRANSPOSES = [
    transposed("matrix", [A, normal(5), SHAPE], False),
    transposed("batch", [CUBE, normal(5), CUBE_SHAPE], False, known_shapes=True),
    transposed("complex", [A, complex_normal(5), SHAPE], False),
    transposed("conjugate", [A, complex_normal(5), SHAPE], True),
    transposed("float", [A, normal(5, dtype=np.float32), SHAPE], True, second_order=None),
]

# ---- Products

OPS = ("", "transpose", "adjoint")


def operation(a: str, b: str) -> dict[str, bool]:
    """The attributes for these two of OPS."""
    chosen = {f"{a}_a", f"{b}_b"}
    return {
        name: name in chosen for name in ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b")
    }


def name_of(*parts: str) -> str:
    return "_".join(part or "plain" for part in parts)


def dense_product(**attributes: bool) -> Any:
    def build(indices: Any, values: Any, shape: Any, b: Any) -> Any:
        return raw.SparseMatrixMatMul(a=to_matrix(indices, values, shape), b=b, **attributes)

    return build


def dense_cases() -> list[Case]:
    op = "SparseMatrixMatMul"
    cases = []
    outputs: tuple[dict[str, bool], ...] = (
        {},
        {"transpose_output": True},
        {"conjugate_output": True},
        {"transpose_output": True, "conjugate_output": True},
    )
    for (a, b), output in itertools.product(itertools.product(OPS, OPS), outputs):
        rows = 3 if a else 4
        dense_b = complex_normal(*((2, rows) if b else (rows, 2)))
        name = name_of(a, b, *output)
        build = dense_product(**operation(a, b), **output)
        inputs = [A, complex_normal(5), SHAPE, dense_b]
        cases.append(numeric(op, name, build, inputs, known_shapes=True))
    build = dense_product()
    turned = dense_product(transpose_a=True, transpose_b=True, transpose_output=True)
    real = [A, normal(5), SHAPE]
    return [
        *cases,
        # Python wants to know the shapes of both factors.
        numeric(op, "unknown_shapes", build, [*real, normal(4, 3)], reference="numeric"),
        numeric(op, "turned", turned, [*real, normal(2, 3)], known_shapes=True),
        numeric(
            op, "batch", build, [CUBE, normal(5), CUBE_SHAPE, normal(2, 2, 3)], known_shapes=True
        ),
        numeric(
            op,
            "batch_turned",
            turned,
            [CUBE, normal(5), CUBE_SHAPE, normal(2, 4, 3)],
            known_shapes=True,
        ),
        first(
            op,
            "float",
            build,
            [A, normal(5, dtype=np.float32), SHAPE, normal(4, 2, dtype=np.float32)],
            known_shapes=True,
        ),
        numeric(op, "empty", build, [NONE, normal(0), SHAPE, normal(4, 2)], reference="numeric"),
    ]


def sparse_product(**attributes: bool) -> Any:
    def build(a_indices: Any, a: Any, a_shape: Any, b_indices: Any, b: Any, b_shape: Any) -> Any:
        product = raw.SparseMatrixSparseMatMul(
            a=to_matrix(a_indices, a, a_shape),
            b=to_matrix(b_indices, b, b_shape),
            type=a.dtype,
            **attributes,
        )
        return to_dense(product, a.dtype)

    return build


# [4, 3], with an empty row: the product that is A's gradient lacks elements of A's
# pattern. Python leaves them out, which makes its gradient too short.
RIGHT = np.array([[0, 0], [0, 2], [1, 1], [3, 0], [3, 1]])
RIGHT_SHAPE = np.array([4, 3])


def sparse_cases() -> list[Case]:
    op = "SparseMatrixSparseMatMul"
    cases = []
    for a, b in itertools.product(OPS, OPS):
        # All of op(A) are [3, 4], all of op(B) [4, 3].
        left = (RIGHT, RIGHT_SHAPE) if a else (A, SHAPE)
        right = (A, SHAPE) if b else (RIGHT, RIGHT_SHAPE)
        inputs = [
            left[0],
            complex_normal(5),
            left[1],
            right[0],
            complex_normal(5, seed=1),
            right[1],
        ]
        build = sparse_product(**operation(a, b))
        cases.append(numeric(op, name_of(a, b), build, inputs, reference="numeric"))
    build = sparse_product()
    inputs = [A, normal(5), SHAPE, RIGHT, normal(5, seed=1), RIGHT_SHAPE]
    full = np.array(list(np.ndindex(4, 2)))
    return [
        *cases,
        numeric(op, "double", build, inputs, reference="numeric"),
        numeric(
            op,
            "as_python",
            build,
            [A, normal(5), SHAPE, full, normal(8), np.array([4, 2])],
            known_shapes=True,
        ),
        numeric(
            op,
            "batch",
            sparse_product(transpose_b=True),
            [CUBE, normal(5), CUBE_SHAPE, CUBE, normal(5, seed=1), CUBE_SHAPE],
            known_shapes=True,
            reference="numeric",
        ),
        numeric(
            op,
            "empty",
            build,
            [A, normal(5), SHAPE, NONE, normal(0), RIGHT_SHAPE],
            reference="numeric",
        ),
    ]


CASES = [*CONVERSIONS, *COMPONENTS, *TRANSPOSES, *dense_cases(), *sparse_cases()]
