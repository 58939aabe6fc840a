# SPDX-License-Identifier: Apache-2.0
"""Cases of determinants."""

from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_matrices import regular
from random_values import sequence

raw = tf.raw_ops
values = sequence(5)
# Of the determinant, which is a polynomial: long steps cost little.
POLYNOMIAL: dict[str, Any] = {"reference": "numeric", "second_order": "numeric", "step": 1e-4}


def _det(a: Any) -> Any:
    return raw.MatrixDeterminant(input=a)


def _log_det(a: Any) -> Any:
    return list(raw.LogMatrixDeterminant(input=a))


def of_rank(rank: int, *shape: int, dtype: str = "float64") -> np.ndarray:
    """Random square matrices of this rank."""
    *batch, _, n = shape
    return values(*batch, n, rank, dtype=dtype) @ values(*batch, rank, n, dtype=dtype)


# Of a complex determinant Python's gradient lacks a conjugate, and of a singular
# matrix it fails.
CASES = [
    Case("MatrixDeterminant", "plain", _det, [regular(3, 3)]),
    Case("MatrixDeterminant", "batch", _det, [values(2, 3, 4, 4)], known_shapes=True),
    Case("MatrixDeterminant", "float", _det, [regular(2, 3, 3, dtype="float32")]),
    Case("MatrixDeterminant", "one_by_one", _det, [values(2, 1, 1)]),
    Case("MatrixDeterminant", "no_matrices", _det, [values(0, 2, 2)]),
    Case("MatrixDeterminant", "unknown_rank", _det, [regular(2, 3, 3)], known_shapes="rank"),
    Case("MatrixDeterminant", "complex", _det, [values(3, 3, dtype="complex128")], **POLYNOMIAL),
    Case(
        "MatrixDeterminant",
        "singular",
        _det,
        [np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])],
        **POLYNOMIAL,
    ),
    Case(
        "MatrixDeterminant", "singular_exactly", _det, [np.array([[1.0, 2], [2, 4]])], **POLYNOMIAL
    ),
    Case("MatrixDeterminant", "of_rank_n_minus_1", _det, [of_rank(3, 4, 4)], **POLYNOMIAL),
    Case("MatrixDeterminant", "of_rank_n_minus_2", _det, [of_rank(2, 4, 4)], **POLYNOMIAL),
    Case(
        "MatrixDeterminant",
        "singular_complex",
        _det,
        [of_rank(2, 2, 3, 3, dtype="complex128")],
        **POLYNOMIAL,
    ),
    Case("MatrixDeterminant", "zero", _det, [np.zeros((2, 2))], **POLYNOMIAL),
    Case("MatrixDeterminant", "zero_3x3", _det, [np.zeros((3, 3))], **POLYNOMIAL),
    Case("MatrixDeterminant", "zero_1x1", _det, [np.zeros((1, 1))], **POLYNOMIAL),
    Case(
        "MatrixDeterminant",
        "singular_and_regular",
        _det,
        [np.stack([regular(3, 3), of_rank(2, 3, 3), np.zeros((3, 3))])],
        **POLYNOMIAL,
    ),
    Case("LogMatrixDeterminant", "plain", _log_det, [regular(3, 3)]),
    Case("LogMatrixDeterminant", "batch", _log_det, [values(2, 3, 3)], known_shapes=True),
    Case("LogMatrixDeterminant", "float", _log_det, [regular(2, 3, 3, dtype="float32")]),
    # Python's gradient leaves out the sign of complex matrices.
    Case(
        "LogMatrixDeterminant",
        "complex",
        _log_det,
        [values(2, 3, 3, dtype="complex128")],
        reference="numeric",
        second_order="numeric",
    ),
    Case(
        "LogMatrixDeterminant",
        "complex_logarithm",
        lambda a: tf.cast(_log_det(a)[1], tf.float64),
        [values(2, 2, dtype="complex128")],
        known_shapes="rank",
    ),
]
