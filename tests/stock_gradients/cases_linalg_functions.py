# SPDX-License-Identifier: Apache-2.0
"""Cases of determinants, of functions of matrices, of Lu and of CholeskyGrad."""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from old_ops import old_op
from parity import Case
from random_matrices import regular
from random_values import sequence
from rows import case, numeric

# ---- Determinants

values = sequence(5)


def of_rank(rank: int, *shape: int, dtype: str = "float64") -> np.ndarray:
    """Random square matrices of this rank."""
    *batch, _, n = shape
    return values(*batch, n, rank, dtype=dtype) @ values(*batch, rank, n, dtype=dtype)


det = functools.partial(case, "MatrixDeterminant")
# It is a polynomial: long steps cost little. Of a complex determinant Python's gradient
# lacks a conjugate, and of a singular matrix it fails.
polynomial = functools.partial(numeric, "MatrixDeterminant", step=1e-4)
log_det = functools.partial(case, "LogMatrixDeterminant")
DETERMINANTS = [
    det("plain", regular(3, 3)),
    det("batch", values(2, 3, 4, 4), known_shapes=True),
    det("float", regular(2, 3, 3, dtype="float32")),
    det("one_by_one", values(2, 1, 1)),
    det("no_matrices", values(0, 2, 2)),
    det("unknown_rank", regular(2, 3, 3), known_shapes="rank"),
    polynomial("complex", values(3, 3, dtype="complex128")),
    polynomial("singular", np.arange(1.0, 10).reshape(3, 3)),
    polynomial("singular_exactly", np.array([[1.0, 2], [2, 4]])),
    polynomial("of_rank_n_minus_1", of_rank(3, 4, 4)),
    polynomial("of_rank_n_minus_2", of_rank(2, 4, 4)),
    polynomial("singular_complex", of_rank(2, 2, 3, 3, dtype="complex128")),
    polynomial("zero", np.zeros((2, 2))),
    polynomial("zero_3x3", np.zeros((3, 3))),
    polynomial("zero_1x1", np.zeros((1, 1))),
    polynomial(
        "singular_and_regular", np.stack([regular(3, 3), of_rank(2, 3, 3), np.zeros((3, 3))])
    ),
    log_det("plain", regular(3, 3)),
    log_det("batch", values(2, 3, 3), known_shapes=True),
    log_det("float", regular(2, 3, 3, dtype="float32")),
    # Python's gradient leaves out the sign of complex matrices.
    numeric("LogMatrixDeterminant", "complex", values(2, 3, 3, dtype="complex128")),
    log_det(
        "complex_logarithm",
        values(2, 2, dtype="complex128"),
        then=lambda sign, log: tf.cast(log, tf.float64),
        known_shapes="rank",
    ),
]

# ---- Functions

values = sequence(8)
SINGLE: dict[str, Any] = {"step": 1e-2, "tolerance": 2e-3}


def _exponential(a: Any) -> Any:
    return old_op("MatrixExponential")(a)[0]


def _half_squared(a: Any) -> Any:
    """exp(A) as exp(A / 2)^2, by a composition that Python differentiates."""
    root = tf.linalg.expm(a / 2)
    return root @ root


@tf.RegisterGradient("ExpmInPlaceOfMatrixExponential")
def _expm_gradient(op: Any, dy: Any) -> Any:
    return tf.gradients(_half_squared(op.inputs[0]), op.inputs[0], dy)[0]


def _exponential_as_expm(a: Any) -> Any:
    graph = tf.compat.v1.get_default_graph()
    overrides = {"MatrixExponential": "ExpmInPlaceOfMatrixExponential"}
    with graph.gradient_override_map(overrides):
        return _exponential(a)


exponential = functools.partial(numeric, "MatrixExponential", build=_exponential)
logarithm = functools.partial(numeric, "MatrixLogarithm")
regular_complex = functools.partial(regular, dtype="complex128")
FUNCTIONS = [
    exponential("double", values(3, 3)),
    exponential("complex", values(2, 2, dtype="complex128")),
    exponential("batch", values(2, 1, 2, 2), known_shapes=True),
    exponential("unknown_rank", values(2, 2), known_shapes="rank"),
    exponential("large", 5 * values(2, 2)),
    exponential("zero_matrix", np.zeros((2, 2))),
    exponential("one_by_one", values(3, 1, 1)),
    exponential("no_matrices", values(0, 2, 2)),
    exponential("float", values(3, 3, dtype="float32"), **SINGLE),
    case(
        "MatrixExponential", "as_expm", values(3, 3), build=_exponential_as_expm, second_order=None
    ),
    logarithm("plain", regular_complex(3, 3)),
    logarithm("batch", regular_complex(2, 2, 2), known_shapes=True),
    logarithm("unknown_rank", regular_complex(2, 2), known_shapes="rank"),
    logarithm("small", 1e-3 * regular_complex(2, 2), step=1e-8),
    logarithm("equal_eigenvalues", np.diag([2.0 + 0j, 2.0])),
    logarithm("no_matrices", regular_complex(0, 2, 2)),
    logarithm("complex64", regular(2, 2, dtype="complex64"), **SINGLE),
]

# The largest elements of the columns stand where rows have to be exchanged.
EXCHANGED = np.roll(regular(3, 3), 1, axis=-2)
BATCH = np.stack([EXCHANGED, regular(3, 3), np.roll(regular(3, 3), 2, axis=-2)])
lu = functools.partial(numeric, "Lu", then=lambda lu, p: lu)
LU = [
    lu("plain", regular(3, 3)),
    lu("rows_exchanged", EXCHANGED),
    lu("batch_int64", BATCH, output_idx_type=tf.int64, known_shapes=True),
    lu("complex", np.roll(regular_complex(3, 3), 1, 0)),
    lu("unknown_rank", EXCHANGED[None, None], known_shapes="rank"),
    lu("one_by_one", regular(2, 1, 1)),
    lu("no_matrices", regular(0, 2, 2)),
    lu("float", EXCHANGED.astype(np.float32), **SINGLE),
]


def triangle(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Lower triangles, with zeros above, of well-conditioned matrices."""
    return np.tril(regular(*shape, dtype=dtype))


def _cholesky_grads(op: str, build: Any) -> list[Case]:
    row = functools.partial(numeric, op, build=build)
    return [
        row("plain", triangle(3, 3), values(3, 3)),
        row("full_matrices", regular(3, 3), values(3, 3), known_shapes="rank"),
        row("batch", triangle(2, 2, 2), values(2, 2, 2), known_shapes=True),
        row("one_by_one", triangle(2, 1, 1), values(2, 1, 1)),
        row("no_matrices", triangle(0, 2, 2), values(0, 2, 2)),
        row(
            "float",
            *(triangle(2, 2, dtype="float32"), values(2, 2, dtype="float32")),
            step=1e-2,
            tolerance=5e-3,
        ),
    ]


CASES = [
    *DETERMINANTS,
    *FUNCTIONS,
    *LU,
    *_cholesky_grads("CholeskyGrad", None),
    *_cholesky_grads("BatchCholeskyGrad", old_op("BatchCholeskyGrad")),
]
