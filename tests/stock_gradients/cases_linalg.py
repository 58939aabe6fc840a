# SPDX-License-Identifier: Apache-2.0
"""Cases of inverses, linear systems and tridiagonal matrices."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_matrices import positive, regular
from random_values import sequence

raw = tf.raw_ops
values = sequence(4)
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}


def _inverse(adjoint: bool = False) -> Callable[..., Any]:
    return lambda a: raw.MatrixInverse(input=a, adjoint=adjoint)


def _solve(adjoint: bool = False) -> Callable[..., Any]:
    return lambda a, b: raw.MatrixSolve(matrix=a, rhs=b, adjoint=adjoint)


INVERSE = [
    Case("MatrixInverse", "plain", _inverse(), [regular(3, 3)]),
    Case("MatrixInverse", "adjoint_batch", _inverse(True), [regular(2, 3, 3)]),
    Case(
        "MatrixInverse",
        "adjoint_complex",
        _inverse(True),
        [regular(3, 3, dtype="complex128")],
        known_shapes=True,
    ),
    Case(
        "MatrixInverse",
        "complex",
        _inverse(),
        [regular(2, 2, dtype="complex128")],
        known_shapes="rank",
    ),
    Case("MatrixInverse", "float", _inverse(), [regular(2, 2, 2, dtype="float32")]),
    Case("MatrixInverse", "empty_batch", _inverse(), [regular(0, 2, 2)]),
    Case("MatrixSolve", "plain", _solve(), [regular(3, 3), values(3, 2)]),
    Case(
        "MatrixSolve",
        "adjoint_batch",
        _solve(True),
        [regular(2, 3, 3), values(2, 3, 1)],
        known_shapes=True,
    ),
    Case(
        "MatrixSolve",
        "adjoint_complex",
        _solve(True),
        [regular(3, 3, dtype="complex128"), values(3, 2, dtype="complex128")],
    ),
    Case(
        "MatrixSolve",
        "complex",
        _solve(),
        [regular(2, 3, 3, dtype="complex128"), values(2, 3, 2, dtype="complex128")],
        known_shapes="rank",
    ),
    Case(
        "MatrixSolve",
        "float",
        _solve(),
        [regular(3, 3, dtype="float32"), values(3, 4, dtype="float32")],
    ),
]


def _triangular(lower: bool, adjoint: bool) -> Callable[..., Any]:
    return lambda a, b: raw.MatrixTriangularSolve(matrix=a, rhs=b, lower=lower, adjoint=adjoint)


def _banded(lower: bool, adjoint: bool) -> Callable[..., Any]:
    return lambda a, b: raw.BandedTriangularSolve(matrix=a, rhs=b, lower=lower, adjoint=adjoint)


def bands(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Diagonals of a well-conditioned triangular matrix, the main one first."""
    diagonals = values(*shape, dtype=dtype) / 2
    diagonals[..., 0, :] += 2
    return diagonals


def _upside_down(diagonals: np.ndarray) -> np.ndarray:
    """For upper matrices: the main diagonal comes last."""
    return diagonals[..., ::-1, :].copy()


def _triangular_cases() -> Iterator[Case]:
    op, band_op = "MatrixTriangularSolve", "BandedTriangularSolve"
    for lower in (True, False):
        turn = (lambda x: x) if lower else _upside_down
        for adjoint in (True, False):
            name = ("lower" if lower else "upper") + ("_adjoint" if adjoint else "")
            dense, banded = _triangular(lower, adjoint), _banded(lower, adjoint)
            for dtype in ("float64", "complex128"):
                yield Case(
                    op,
                    f"{name}_{dtype}",
                    dense,
                    [regular(3, 3, dtype=dtype), values(3, 2, dtype=dtype)],
                )
                yield Case(
                    band_op,
                    f"{name}_{dtype}",
                    banded,
                    [turn(bands(2, 4, dtype=dtype)), values(4, 2, dtype=dtype)],
                    **NUMERIC,
                )
            yield Case(op, f"{name}_matrix_is_broadcast", dense, [regular(3, 3), values(2, 3, 2)])
            yield Case(
                band_op,
                f"{name}_rhs_is_broadcast",
                banded,
                [turn(bands(2, 3, 3)), values(3, 1)],
                known_shapes=True,
                **NUMERIC,
            )
    yield Case(
        op,
        "both_broadcast_float",
        _triangular(True, False),
        [regular(2, 1, 2, 2, dtype="float32"), values(1, 3, 2, 2, dtype="float32")],
    )
    yield Case(
        op,
        "rhs_is_broadcast",
        _triangular(False, False),
        [regular(2, 3, 3), values(3, 2)],
        known_shapes=True,
    )
    yield Case(
        op,
        "same_batch",
        _triangular(False, True),
        [regular(2, 3, 3), values(2, 3, 2)],
        known_shapes=True,
    )
    yield Case(band_op, "one_band", _banded(True, False), [bands(1, 3), values(3, 2)], **NUMERIC)
    yield Case(
        band_op,
        "all_bands_float",
        _banded(True, False),
        [bands(3, 3, dtype="float32"), values(3, 2, dtype="float32")],
    )


def _root(a: Any) -> Any:
    return raw.MatrixSquareRoot(input=a)


SQUARE_ROOT = [
    Case("MatrixSquareRoot", "plain", _root, [positive(3, 3) + 0.1 * values(3, 3)]),
    Case("MatrixSquareRoot", "batch", _root, [regular(2, 2, 2)], known_shapes=True),
    Case("MatrixSquareRoot", "float", _root, [regular(3, 3, dtype="float32")]),
    # Python's gradient transposes where it has to take the adjoint.
    Case("MatrixSquareRoot", "complex", _root, [regular(3, 3, dtype="complex128")], **NUMERIC),
    Case("MatrixSquareRoot", "equal_eigenvalues", _root, [np.eye(3) * 4]),
    Case(
        "MatrixSquareRoot",
        "small_matrix",
        lambda a: _root(a * 1e-12),
        [regular(3, 3)],
        tolerance=1e-6,
    ),
    Case("MatrixSquareRoot", "unknown_rank", _root, [regular(2, 2)], known_shapes="rank"),
]


def _least_squares(l2: float = 0.0, fast: bool = True) -> Callable[..., Any]:
    return lambda a, b: raw.MatrixSolveLs(
        matrix=a, rhs=b, l2_regularizer=tf.constant(l2, tf.float64), fast=fast
    )


def _least_squares_cases() -> Iterator[Case]:
    for name, rows, columns in (("tall", 4, 2), ("wide", 2, 4), ("square", 3, 3)):
        for l2 in (0.0, 0.7):
            kind = name + ("_regularized" if l2 else "")
            yield Case(
                "MatrixSolveLs",
                kind,
                _least_squares(l2),
                [values(rows, columns), values(rows, 2)],
                known_shapes=True,
            )
        yield Case(
            "MatrixSolveLs",
            f"{name}_batch_of_unknown_shape",
            _least_squares(0.2),
            [values(2, rows, columns), values(2, rows, 1)],
            **NUMERIC,
        )
        # Python's gradient transposes where it has to take the adjoint.
        yield Case(
            "MatrixSolveLs",
            f"{name}_complex",
            _least_squares(0.3),
            [values(rows, columns, dtype="complex128"), values(rows, 2, dtype="complex128")],
            **NUMERIC,
        )
    yield Case(
        "MatrixSolveLs",
        "float",
        _least_squares(0.5),
        [values(4, 3, dtype="float32"), values(4, 1, dtype="float32")],
        known_shapes=True,
    )
    for name, shape, dtype in (
        ("tall", (4, 2), "float64"),
        ("wide_batch", (2, 2, 4), "float64"),
        ("complex", (3, 2), "complex128"),
    ):
        yield Case(
            "MatrixSolveLs",
            f"not_fast_{name}",
            _least_squares(0.3, fast=False),
            [values(*shape, dtype=dtype), values(*shape[:-1], 2, dtype=dtype)],
            **NUMERIC,
        )
    # x y^T has rank 1, wherever x and y move.
    yield Case(
        "MatrixSolveLs",
        "not_fast_rank_one",
        lambda x, y, b: _least_squares(fast=False)(x[:, None] * y, b),
        [values(3), values(4), values(3, 2)],
        **NUMERIC,
    )


def _tridiagonal_product(upper: Any, main: Any, lower: Any, x: Any) -> Any:
    return raw.TridiagonalMatMul(superdiag=upper, maindiag=main, subdiag=lower, rhs=x)


def _tridiagonal_solve(**attributes: Any) -> Callable[..., Any]:
    return lambda diagonals, x: raw.TridiagonalSolve(diagonals=diagonals, rhs=x, **attributes)


def diagonals(*shape: int, dtype: str = "float64") -> np.ndarray:
    """The three diagonals of a diagonally dominant matrix."""
    result = values(*shape, dtype=dtype)
    result[..., 1, :] += 4
    return result


def _tridiagonal_cases() -> Iterator[Case]:
    op = "TridiagonalMatMul"
    for name, batch, dtype, known in (
        ("plain", (), "float64", False),
        ("batch", (2,), "float64", True),
        ("float", (), "float32", "rank"),
        ("complex", (2, 1), "complex128", False),
    ):
        rows = [values(*batch, 1, 4, dtype=dtype) for _ in range(3)]
        x = values(*batch, 4, 2, dtype=dtype)
        yield Case(op, name, _tridiagonal_product, [*rows, x], known_shapes=known)
    yield Case(op, "one_by_one", _tridiagonal_product, [values(1, 1) for _ in range(4)])
    op = "TridiagonalSolve"
    yield Case(op, "plain", _tridiagonal_solve(), [diagonals(3, 4), values(4, 2)])
    yield Case(
        op,
        "batch_without_pivoting",
        _tridiagonal_solve(partial_pivoting=False),
        [diagonals(2, 3, 4), values(2, 4, 1)],
        known_shapes=True,
    )
    yield Case(
        op,
        "float",
        _tridiagonal_solve(),
        [diagonals(3, 3, dtype="float32"), values(3, 2, dtype="float32")],
        known_shapes="rank",
    )
    # Python's gradient does not conjugate.
    yield Case(
        op,
        "complex",
        _tridiagonal_solve(),
        [diagonals(2, 3, 3, dtype="complex128"), values(2, 3, 2, dtype="complex128")],
        **NUMERIC,
    )
    yield Case(
        op,
        "perturbed_if_singular",
        _tridiagonal_solve(perturb_singular=True),
        [diagonals(3, 3), values(3, 2)],
    )
    yield Case(op, "one_by_one", _tridiagonal_solve(), [diagonals(3, 1), values(1, 2)])


CASES = [
    *INVERSE,
    *_triangular_cases(),
    *SQUARE_ROOT,
    *_least_squares_cases(),
    *_tridiagonal_cases(),
]
