# SPDX-License-Identifier: Apache-2.0
"""Cases of linear algebra in old graphs, in which ops for batches stood apart."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from cases_linalg import NUMERIC
from old_ops import old_op
from parity import Case
from random_matrices import positive, regular
from random_values import sequence

values = sequence(9)
KNOWN: dict[str, Any] = {"known_shapes": True}
RANK: dict[str, Any] = {"known_shapes": "rank"}
SINGLE: dict[str, Any] = {"step": 1e-2, "tolerance": 5e-3}


def _case(op: str, name: str, build: Any, *inputs: np.ndarray, **more: Any) -> Case:
    return Case(op, name, build, inputs, **{**NUMERIC, **more})


def _of_symmetric(op: str, **attributes: bool) -> Callable[..., Any]:
    """The op on (A + A^H) / 2: it reads one triangle, differences move one element."""

    def build(a: Any) -> list[Any]:
        return old_op(op, **attributes)(0.5 * (a + tf.linalg.adjoint(a)))

    return build


def _symmetric(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Matrices with eigenvalues that lie apart."""
    a = 0.3 * values(*shape, dtype=dtype)
    a = a + np.conj(np.swapaxes(a, -1, -2))
    return (a + np.diag(2.0 * np.arange(shape[-1]))).astype(dtype)


def _packed(op: str) -> Callable[..., Any]:
    """Eigenvalues and squares: eigenvectors have no sign of their own."""

    def build(a: Any) -> list[Any]:
        (packed,) = _of_symmetric(op)(a)
        return [packed[..., 0, :], tf.square(packed[..., 1:, :])]

    return build


def _unpacked(a: Any) -> list[Any]:
    e, v = _of_symmetric("BatchSelfAdjointEigV2", compute_v=True)(a)
    return [e, v * tf.math.conj(v[..., :1, :])]


def _eigenvalues(a: Any) -> Any:
    return _of_symmetric("BatchSelfAdjointEigV2", compute_v=False)(a)[0]


def _factors() -> Iterator[Case]:
    op = "BatchCholesky"
    cholesky = _of_symmetric(op)
    yield _case(op, "plain", cholesky, positive(3, 3))
    yield _case(op, "batch", cholesky, positive(2, 2, 2), **KNOWN)
    yield _case(op, "unknown_rank", cholesky, positive(2, 2), **RANK)
    yield _case(op, "float", cholesky, positive(2, 2, dtype="float32"), **SINGLE)
    for op in ("SelfAdjointEig", "BatchSelfAdjointEig"):
        yield _case(op, "plain", _packed(op), _symmetric(3, 3))
        yield _case(op, "unknown_rank", _packed(op), _symmetric(2, 2), **RANK)
        yield _case(op, "one_by_one", _packed(op), _symmetric(1, 1))
        yield _case(op, "float", _packed(op), _symmetric(2, 2, dtype="float32"), **SINGLE)
    yield _case(op, "batch", _packed(op), _symmetric(2, 2, 2), **KNOWN)
    op = "BatchSelfAdjointEigV2"
    yield _case(op, "plain", _unpacked, _symmetric(3, 3))
    yield _case(op, "batch", _unpacked, _symmetric(2, 2, 2), **KNOWN)
    yield _case(op, "values_only", _eigenvalues, _symmetric(2, 3, 3), **RANK)
    yield _case(op, "float", _eigenvalues, _symmetric(2, 2, dtype="float32"), **SINGLE)


def _svd(full: bool) -> Callable[..., Any]:
    """Singular values and what columns span."""

    def build(a: Any) -> list[Any]:
        svd = old_op("BatchSvd", compute_uv=True, full_matrices=full)
        s, u, v = svd(a)
        best = tf.matmul(u[..., :1] * s[..., None, :1], v[..., :1], adjoint_b=True)
        return [tf.cast(s, a.dtype.real_dtype), best]

    return build


def _singular_values(a: Any) -> Any:
    s = old_op("BatchSvd", compute_uv=False, full_matrices=False)(a)[0]
    return tf.cast(s, a.dtype.real_dtype)


def _svds() -> Iterator[Case]:
    op = "BatchSvd"
    tall = np.array([[2.0, 0.3], [-0.4, 1.0], [0.2, 0.5]])
    turned = tall + 1j * tall[::-1]
    yield _case(op, "tall", _svd(False), tall)
    yield _case(op, "wide_full_batch", _svd(True), np.stack([tall.T, tall.T[::-1]]))
    yield _case(op, "complex", _svd(False), turned, **KNOWN)
    yield _case(op, "values_only", _singular_values, tall[None], **RANK)
    yield _case(op, "float", _singular_values, tall.astype(np.float32), **SINGLE)


def _systems() -> Iterator[Case]:
    op = "BatchMatrixDeterminant"
    determinant = old_op(op)
    yield _case(op, "plain", determinant, regular(3, 3))
    yield _case(op, "complex_batch", determinant, regular(2, 2, 2, dtype="complex128"))
    yield _case(op, "no_inverse", determinant, np.ones((1, 2, 2)), **KNOWN)
    yield _case(op, "float", determinant, regular(2, 2, dtype="float32"), **RANK, **SINGLE)
    for adjoint in (False, True):
        kind = "adjoint" if adjoint else "plain"
        op = "BatchMatrixInverse"
        inverse = old_op(op, adjoint=adjoint)
        yield _case(op, kind, inverse, regular(3, 3))
        yield _case(op, f"{kind}_batch", inverse, regular(2, 2, 2), **KNOWN)
        yield _case(op, f"{kind}_float", inverse, regular(2, 2, dtype="float32"), **SINGLE)
        op = "BatchMatrixSolve"
        solve = old_op(op, adjoint=adjoint)
        yield _case(op, kind, solve, regular(3, 3), values(3, 2))
        yield _case(op, f"{kind}_batch", solve, regular(2, 2, 2), values(2, 2, 1), **RANK)
        op = "BatchMatrixTriangularSolve"
        for lower in (False, True):
            side = "lower" if lower else "upper"
            triangular = old_op(op, lower=lower, adjoint=adjoint)
            yield _case(op, f"{side}_{kind}", triangular, regular(3, 3), values(3, 2))
            yield _case(
                op, f"{side}_{kind}_batch", triangular, regular(2, 2, 2), values(2, 2, 1), **KNOWN
            )
    op = "BatchMatrixSolveLs"
    for fast in (True, False):
        least = old_op(op, fast=fast)

        def regularized(a: Any, b: Any, least: Any = least) -> Any:
            return least(a, b, tf.constant(0.3, tf.float64))[0]

        kind = "fast" if fast else "complete"
        for shape, rows, columns in (("tall", 4, 2), ("wide", 2, 4)):
            yield _case(
                op,
                f"{kind}_{shape}",
                regularized,
                values(2, rows, columns),
                values(2, rows, 2),
                **KNOWN,
            )


def _parts() -> Iterator[Case]:
    for op, inputs in (
        ("BatchMatrixDiag", [(2, 3)]),
        ("BatchMatrixDiagPart", [(2, 3, 3)]),
        ("BatchMatrixSetDiag", [(2, 3, 3), (2, 3)]),
    ):
        build = old_op(op)
        for name, dtype, more in (
            ("double", "float64", KNOWN),
            ("complex", "complex128", {}),
            ("half", "float16", {"step": 0.25, **RANK}),
        ):
            data = [np.round(values(*shape, dtype=dtype), 2) for shape in inputs]
            yield _case(op, name, build, *data, **more)
        yield _case(op, "empty", build, *(values(0, *shape) for shape in inputs))
    op = "BatchMatrixBandPart"
    for lower, upper in ((0, 0), (1, -1), (-1, 1)):

        def band(a: Any, lower: int = lower, upper: int = upper) -> Any:
            return old_op(op)(a, tf.constant(lower, tf.int64), np.int64(upper))[0]

        for name, dtype in (("double", "float64"), ("complex", "complex128")):
            name = f"{name}_{lower}_{upper}".replace("-1", "all")
            yield _case(op, name, band, values(2, 3, 4, dtype=dtype))


CASES = [*_factors(), *_svds(), *_systems(), *_parts()]
