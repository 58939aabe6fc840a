# SPDX-License-Identifier: Apache-2.0
"""Cases of inverses, linear systems and tridiagonal matrices."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_matrices import positive, regular
from random_values import sequences
from rows import call, case, numeric

values, singles, complexes = sequences(4)

inverse = functools.partial(case, "MatrixInverse")
solve = functools.partial(case, "MatrixSolve")
INVERSE = [
    inverse("plain", regular(3, 3)),
    inverse("adjoint_batch", regular(2, 3, 3), adjoint=True),
    inverse("adjoint_complex", regular(3, 3, dtype="complex128"), adjoint=True, known_shapes=True),
    inverse("complex", regular(2, 2, dtype="complex128"), known_shapes="rank"),
    inverse("float", regular(2, 2, 2, dtype="float32")),
    inverse("empty_batch", regular(0, 2, 2)),
    solve("plain", regular(3, 3), values(3, 2)),
    solve("adjoint_batch", regular(2, 3, 3), values(2, 3, 1), adjoint=True, known_shapes=True),
    solve("adjoint_complex", regular(3, 3, dtype="complex128"), complexes(3, 2), adjoint=True),
    solve("complex", regular(2, 3, 3, dtype="complex128"), complexes(2, 3, 2), known_shapes="rank"),
    solve("float", regular(3, 3, dtype="float32"), singles(3, 4)),
]


def bands(*shape: int, dtype: str = "float64", upper: bool = False) -> np.ndarray:
    """Diagonals of a well-conditioned triangular matrix, the main one first, or last in
    an upper matrix."""
    diagonals = values(*shape, dtype=dtype) / 2
    diagonals[..., 0, :] += 2
    return diagonals[..., ::-1, :].copy() if upper else diagonals


def _triangular_cases() -> Iterator[Case]:
    op, band_op = "MatrixTriangularSolve", "BandedTriangularSolve"
    for lower, adjoint in itertools.product((True, False), repeat=2):
        name = ("lower" if lower else "upper") + ("_adjoint" if adjoint else "")
        how: dict[str, Any] = {"lower": lower, "adjoint": adjoint}
        turned = functools.partial(bands, upper=not lower)
        for dtype in ("float64", "complex128"):
            kind = f"{name}_{dtype}"
            yield case(op, kind, regular(3, 3, dtype=dtype), values(3, 2, dtype=dtype), **how)
            yield numeric(
                band_op, kind, turned(2, 4, dtype=dtype), values(4, 2, dtype=dtype), **how
            )
        yield case(op, f"{name}_matrix_is_broadcast", regular(3, 3), values(2, 3, 2), **how)
        yield numeric(
            band_op,
            f"{name}_rhs_is_broadcast",
            *(turned(2, 3, 3), values(3, 1)),
            known_shapes=True,
            **how,
        )
    upper = functools.partial(case, op, lower=False, known_shapes=True)
    yield case(
        op, "both_broadcast_float", regular(2, 1, 2, 2, dtype="float32"), singles(1, 3, 2, 2)
    )
    yield upper("rhs_is_broadcast", regular(2, 3, 3), values(3, 2))
    yield upper("same_batch", regular(2, 3, 3), values(2, 3, 2), adjoint=True)
    yield numeric(band_op, "one_band", bands(1, 3), values(3, 2))
    yield case(band_op, "all_bands_float", bands(3, 3, dtype="float32"), singles(3, 2))


root = functools.partial(case, "MatrixSquareRoot")
ROOTS = [
    root("plain", positive(3, 3) + 0.1 * values(3, 3)),
    root("batch", regular(2, 2, 2), known_shapes=True),
    root("float", regular(3, 3, dtype="float32")),
    # Python's gradient transposes where it has to take the adjoint.
    numeric("MatrixSquareRoot", "complex", regular(3, 3, dtype="complex128")),
    root("equal_eigenvalues", np.eye(3) * 4),
    root(
        "small_matrix",
        regular(3, 3),
        build=lambda a: call("MatrixSquareRoot", a * 1e-12),
        tolerance=1e-6,
    ),
    root("unknown_rank", regular(2, 2), known_shapes="rank"),
]


def _least_squares(*inputs: Any, l2: float, fast: bool = True) -> Any:
    return call("MatrixSolveLs", *inputs, tf.constant(l2, tf.float64), fast=fast)


def _of_rank_one(x: Any, y: Any, b: Any) -> Any:
    """x y^T has rank 1, wherever x and y move."""
    return _least_squares(x[:, None] * y, b, l2=0.0, fast=False)


least = functools.partial(case, "MatrixSolveLs", build=_least_squares)
numeric_least = functools.partial(numeric, "MatrixSolveLs", build=_least_squares)


def _least_squares_cases() -> Iterator[Case]:
    for name, m, n in (("tall", 4, 2), ("wide", 2, 4), ("square", 3, 3)):
        yield least(name, values(m, n), values(m, 2), l2=0.0, known_shapes=True)
        yield least(f"{name}_regularized", values(m, n), values(m, 2), l2=0.7, known_shapes=True)
        batch = f"{name}_batch_of_unknown_shape"
        yield numeric_least(batch, values(2, m, n), values(2, m, 1), l2=0.2)
        # Python's gradient transposes where it has to take the adjoint.
        yield numeric_least(f"{name}_complex", complexes(m, n), complexes(m, 2), l2=0.3)
    yield least("float", singles(4, 3), singles(4, 1), l2=0.5, known_shapes=True)
    slow = functools.partial(numeric_least, l2=0.3, fast=False)
    yield slow("not_fast_tall", values(4, 2), values(4, 2))
    yield slow("not_fast_wide_batch", values(2, 2, 4), values(2, 2, 2))
    yield slow("not_fast_complex", complexes(3, 2), complexes(3, 2))
    inputs = values(3), values(4), values(3, 2)
    yield numeric("MatrixSolveLs", "not_fast_rank_one", *inputs, build=_of_rank_one)


def diagonals(*shape: int, dtype: str = "float64") -> np.ndarray:
    """The three diagonals of a diagonally dominant matrix."""
    result = values(*shape, dtype=dtype)
    result[..., 1, :] += 4
    return result


def _tridiagonal_cases() -> Iterator[Case]:
    for name, batch, dtype, known in (
        ("plain", (), "float64", False),
        ("batch", (2,), "float64", True),
        ("float", (), "float32", "rank"),
        ("complex", (2, 1), "complex128", False),
    ):
        rows = [values(*batch, 1, 4, dtype=dtype) for _ in range(3)]
        x = values(*batch, 4, 2, dtype=dtype)
        yield case("TridiagonalMatMul", name, *rows, x, known_shapes=known)
    yield case("TridiagonalMatMul", "one_by_one", *(values(1, 1) for _ in range(4)))
    op = "TridiagonalSolve"
    yield case(op, "plain", diagonals(3, 4), values(4, 2))
    yield case(
        op,
        "batch_without_pivoting",
        *(diagonals(2, 3, 4), values(2, 4, 1)),
        partial_pivoting=False,
        known_shapes=True,
    )
    yield case(op, "float", diagonals(3, 3, dtype="float32"), singles(3, 2), known_shapes="rank")
    # Python's gradient does not conjugate.
    yield numeric(op, "complex", diagonals(2, 3, 3, dtype="complex128"), complexes(2, 3, 2))
    yield case(op, "perturbed_if_singular", diagonals(3, 3), values(3, 2), perturb_singular=True)
    yield case(op, "one_by_one", diagonals(3, 1), values(1, 2))


CASES = [*INVERSE, *_triangular_cases(), *ROOTS, *_least_squares_cases(), *_tridiagonal_cases()]
