"""CSR sparse matrices, between a conversion to them and one back.

SparseMatrixAdd, SparseMatrixMul and SparseMatrixSoftmax have only GPU kernels: on the CPU they need
the kernels of csr_kernels.cc.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from cases_sparse import COMPLEX, COMPLEX_CUBES, CUBES, EMPTY, FLOAT_CUBES, FLOATS, MATRIX, B
from parity import Case
from random_values import complex_normal, normal, single
from rows import call, numeric, numeric_second

A, _, SHAPE = MATRIX
CUBE, _, CUBE_SHAPE = CUBES
NONE = EMPTY[0]


def to_matrix(indices: Any, values: Any, shape: Any) -> Any:
    """The rank must be known; it is 2 if it is not."""
    if indices.shape[1] is None:
        indices = tf.ensure_shape(indices, [None, 2])
        shape = tf.ensure_shape(shape, [2])
    return call("SparseTensorToCSRSparseMatrix", indices, values, shape)


def to_dense(matrix: Any, dtype: tf.DType) -> Any:
    return call("CSRSparseMatrixToDense", matrix, type=dtype)


def to_values(matrix: Any, dtype: tf.DType) -> Any:
    return call("CSRSparseMatrixToSparseTensor", matrix, type=dtype)[1]


# ---- Conversions; squares, so the second order is not 0.


def matrix_to_dense(indices: Any, values: Any, shape: Any) -> Any:
    return to_dense(to_matrix(indices, values, shape), values.dtype) ** 2


def matrix_to_values(indices: Any, values: Any, shape: Any) -> Any:
    return to_values(to_matrix(indices, values, shape), values.dtype) ** 2


def dense_to_values(dense: Any, indices: Any) -> Any:
    if indices.shape[1] is None:
        indices = tf.ensure_shape(indices, [None, 2])
    matrix = call("DenseToCSRSparseMatrix", dense, indices)
    return to_values(matrix, dense.dtype) ** 2


def conversions(op: str, build: Callable[..., Any]) -> list[Case]:
    def row(name: str, indices: Any, values: Any, shape: Any, **more: Any) -> Case:
        how = {"build": build, "static": "all", **more}
        if not op.startswith("Dense"):
            return numeric_second(op, name, indices, values, shape, **how)
        make = complex_normal if np.iscomplexobj(values) else normal
        return numeric_second(op, name, make(*shape, dtype=values.dtype), indices, **how)

    return [
        row("matrix", *MATRIX),
        row("batch", *CUBES),
        row("complex", *COMPLEX),
        row("empty", *EMPTY),
        row("unknown_shapes", *MATRIX, static="rank"),
        row("float", *FLOATS, second_order=None),
    ]


def _components(indices: Any, values: Any, shape: Any, index: int) -> Any:
    matrix = to_matrix(indices, values, shape)
    parts = call("CSRSparseMatrixComponents", matrix, index=index, type=values.dtype)
    return tf.square(parts[2])


def _transpose(indices: Any, values: Any, shape: Any, conjugate: bool = False) -> Any:
    matrix = to_matrix(indices, values, shape)
    turned = call("SparseMatrixTranspose", matrix, conjugate=conjugate, type=values.dtype)
    return to_values(turned, values.dtype) ** 2


components = functools.partial(
    numeric, "CSRSparseMatrixComponents", build=_components, static="all"
)
transposed = functools.partial(numeric_second, "SparseMatrixTranspose", build=_transpose)
CONVERSIONS = [
    *conversions("SparseTensorToCSRSparseMatrix", matrix_to_values),
    *conversions("CSRSparseMatrixToSparseTensor", matrix_to_values),
    *conversions("CSRSparseMatrixToDense", matrix_to_dense),
    *conversions("DenseToCSRSparseMatrix", dense_to_values),
    components("matrix", *MATRIX, index=0),
    components("first_of_batch", *CUBES, index=0),
    components("last_of_batch_complex", *COMPLEX_CUBES, index=1),
    components("float", *FLOAT_CUBES, index=1),
    components("no_values", CUBE[:2], normal(2), CUBE_SHAPE, index=1),
    transposed("matrix", *MATRIX),
    transposed("batch", *CUBES, static="all"),
    transposed("complex", *COMPLEX),
    transposed("conjugate", *COMPLEX, conjugate=True),
    transposed("float", *FLOATS, conjugate=True, second_order=None),
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


def _dense_product(indices: Any, values: Any, shape: Any, b: Any, **how: bool) -> Any:
    return call("SparseMatrixMatMul", to_matrix(indices, values, shape), b, **how)


def dense_products() -> Iterator[Case]:
    row = functools.partial(numeric_second, "SparseMatrixMatMul", build=_dense_product)
    known = functools.partial(row, static="all")
    turn, conjugate = "transpose_output", "conjugate_output"
    outputs: list[tuple[str, ...]] = [(), (turn,), (conjugate,), (turn, conjugate)]
    for a, b, output in itertools.product(OPS, OPS, outputs):
        rows = 3 if a else 4
        dense = complex_normal(*((2, rows) if b else (rows, 2)))
        how = {**operation(a, b), **dict.fromkeys(output, True)}
        yield known(name_of(a, b, *output), *COMPLEX, dense, **how)
    turned = dict.fromkeys(("transpose_a", "transpose_b", turn), True)
    # Python needs the shapes of both factors.
    yield row("unknown_shapes", *MATRIX, normal(4, 3), reference="numeric")
    yield known("turned", *MATRIX, normal(2, 3), **turned)
    yield known("batch", *CUBES, normal(2, 2, 3))
    yield known("batch_turned", *CUBES, normal(2, 4, 3), **turned)
    yield known("float", *FLOATS, single(4, 2), second_order=None)
    yield row("empty", *EMPTY, normal(4, 2), reference="numeric")


# [4, 3], with an empty row: the product that is A's gradient lacks elements of A's pattern. Python
# omits them, which makes its gradient too short.
RIGHT = np.array([[0, 0], [0, 2], [1, 1], [3, 0], [3, 1]])
RIGHT_SHAPE = np.array([4, 3])
FULL = np.array(list(np.ndindex(4, 2)))


def _sparse_product(*inputs: Any, **how: bool) -> Any:
    a, b = to_matrix(*inputs[:3]), to_matrix(*inputs[3:])
    dtype = inputs[1].dtype
    return to_dense(call("SparseMatrixSparseMatMul", a, b, type=dtype, **how), dtype)


def sparse_products() -> Iterator[Case]:
    row = functools.partial(numeric, "SparseMatrixSparseMatMul", build=_sparse_product)
    x, y = complex_normal(5), complex_normal(5, seed=1)
    for a, b in itertools.product(OPS, OPS):
        # All of op(A) are [3, 4], all of op(B) [4, 3].
        left = (RIGHT, x, RIGHT_SHAPE) if a else (A, x, SHAPE)
        right = (A, y, SHAPE) if b else (RIGHT, y, RIGHT_SHAPE)
        yield row(name_of(a, b), *left, *right, **operation(a, b))
    yield row("double", *MATRIX, RIGHT, normal(5, seed=1), RIGHT_SHAPE)
    full = FULL, normal(8), np.array([4, 2])
    yield row("as_python", *MATRIX, *full, static="all", reference="python")
    other = CUBE, normal(5, seed=1), CUBE_SHAPE
    yield row("batch", *CUBES, *other, transpose_b=True, static="all")
    yield row("empty", *MATRIX, NONE, normal(0), RIGHT_SHAPE)


# ---- SparseMatrixAdd. Python omits the gradients of the factors and the conjugates of complex
# ones, and needs one pattern to contain the other.


def _add(a_indices: Any, a: Any, b_indices: Any, b: Any, shape: Any, *factors: Any) -> Any:
    matrices = to_matrix(a_indices, a, shape), to_matrix(b_indices, b, shape)
    return to_values(call("SparseMatrixAdd", *matrices, *factors), a.dtype)


def add(name: str, a: Any, b: Any, shape: Any, kind: Any = normal, **more: Any) -> Case:
    inputs = a, kind(len(a)), b, kind(len(b), seed=1), shape, kind(seed=2), kind(seed=3)
    how = {"build": _add, "reference": "numeric", **more}
    return numeric_second("SparseMatrixAdd", name, *inputs, **how)


AS_PYTHON = {"reference": "python", "wrt": [1, 3], "static": "all"}
ADD = [
    add("matrix", A, B, SHAPE),
    add("as_python", A, A, SHAPE, **AS_PYTHON),
    add("complex", A, B, SHAPE, complex_normal),
    add("batch", CUBE, CUBE[1:3], CUBE_SHAPE, static="all"),
    add("empty", NONE, B, SHAPE),
    add("float", A, A, SHAPE, single, second_order=None, **AS_PYTHON),
]

# ---- SparseMatrixMul. Python has no gradient. By one operand at a time, because the sum of two
# gradients of a matrix also has only a GPU kernel.


def _multiply(indices: Any, a: Any, shape: Any, b: Any) -> Any:
    return to_values(call("SparseMatrixMul", to_matrix(indices, a, shape), b), a.dtype)


def multiply(name: str, *inputs: Any, **more: Any) -> list[Case]:
    row = functools.partial(numeric, "SparseMatrixMul", build=_multiply)
    return [
        row(f"{name}_by_{by}", *inputs, wrt=wrt, **more) for by, wrt in (("a", [1]), ("b", [3]))
    ]


# ---- SparseMatrixSoftmax


def _softmax(indices: Any, a: Any, shape: Any) -> Any:
    matrix = to_matrix(indices, a, shape)
    return to_values(call("SparseMatrixSoftmax", matrix, type=a.dtype), a.dtype)


softmax = functools.partial(numeric_second, "SparseMatrixSoftmax", build=_softmax)
BY_PARTS = [
    *multiply("scalar", *MATRIX, normal()),
    *multiply("complex", *COMPLEX, complex_normal()),
    *multiply("batch", *CUBES, normal(2, 1, 1), static="all"),
    *multiply("float", *FLOATS, single(), second_order=None, step=1e-2, tolerance=1e-3),
    softmax("matrix", *MATRIX),
    softmax("batch", *CUBES, static="all"),
    softmax("empty", *EMPTY),
    softmax("float", *FLOATS, second_order=None),
]

CASES = [*CONVERSIONS, *dense_products(), *sparse_products(), *ADD, *BY_PARTS]
