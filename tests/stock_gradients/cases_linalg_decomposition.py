# SPDX-License-Identifier: Apache-2.0
"""Cases of matrix decompositions.

Where Python has a gradient it is the reference, for any function of the factors.
Where it has none (unknown shapes, more than one surplus column), it is central
differences, of functions that do not depend on the choice of surplus columns.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from cases_linalg import NUMERIC
from parity import Case
from random_matrices import positive, regular
from random_values import sequence

raw = tf.raw_ops
values = sequence(6)


def _spread(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Random matrices with singular values (0.5, 1.5, 2.5, ...)."""
    u, s, vh = np.linalg.svd(values(*shape, dtype=dtype), full_matrices=False)
    s = np.broadcast_to(np.arange(s.shape[-1]) + 0.5, s.shape)
    return ((u * s[..., None, :]) @ vh).astype(dtype)


def _hermitian(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Random self-adjoint matrices with eigenvalues (-1, 0.5, 2, ...)."""
    q, _ = np.linalg.qr(values(*shape, dtype=dtype))
    e = 1.5 * np.arange(shape[-1]) - 1
    return ((q * e) @ np.conj(np.swapaxes(q, -1, -2))).astype(dtype)


def _cholesky(a: Any) -> Any:
    return raw.Cholesky(input=a)


CHOLESKY = [
    Case("Cholesky", "plain", _cholesky, [positive(3, 3)]),
    Case("Cholesky", "batch", _cholesky, [positive(2, 3, 3)], known_shapes=True),
    Case("Cholesky", "float", _cholesky, [positive(2, 2, dtype="float32")]),
    Case("Cholesky", "complex", _cholesky, [positive(3, 3, dtype="complex128")]),
    Case("Cholesky", "one_by_one", _cholesky, [positive(2, 1, 1)], known_shapes="rank"),
    Case("Cholesky", "no_matrices", _cholesky, [positive(0, 3, 3)]),
]


def _eigh(compute_v: bool = True) -> Callable[..., Any]:
    def build(a: Any) -> list[Any]:
        e, v = raw.SelfAdjointEigV2(input=a, compute_v=compute_v)
        return [e, v] if compute_v else [e]

    return build


def _eig(compute_v: bool = True) -> Callable[..., Any]:
    def build(a: Any) -> list[Any]:
        tout = tf.complex64 if a.dtype in (tf.float32, tf.complex64) else tf.complex128
        e, v = raw.Eig(input=a, compute_v=compute_v, Tout=tout)
        return [e, v] if compute_v else [e]

    return build


EIGENVALUES = [
    Case("SelfAdjointEigV2", "plain", _eigh(), [_hermitian(3, 3)]),
    Case("SelfAdjointEigV2", "batch", _eigh(), [_hermitian(2, 3, 3)], known_shapes=True),
    Case("SelfAdjointEigV2", "values_only", _eigh(False), [_hermitian(3, 3)]),
    Case("SelfAdjointEigV2", "float", _eigh(), [_hermitian(3, 3, dtype="float32")]),
    Case("SelfAdjointEigV2", "complex", _eigh(), [_hermitian(3, 3, dtype="complex128")]),
    Case(
        "SelfAdjointEigV2",
        "values_only_complex_batch",
        _eigh(False),
        [_hermitian(2, 2, 2, dtype="complex128")],
        known_shapes="rank",
    ),
    Case("SelfAdjointEigV2", "equal_eigenvalues", _eigh(), [np.eye(3)], second_order=None),
    Case(
        "SelfAdjointEigV2",
        "vectors_only",
        lambda a: raw.SelfAdjointEigV2(input=a, compute_v=True)[1],
        [_hermitian(3, 3)],
    ),
    Case("Eig", "real", _eig(), [values(3, 3)]),
    Case("Eig", "real_batch", _eig(), [values(2, 3, 3)], known_shapes=True),
    Case("Eig", "complex", _eig(), [values(3, 3, dtype="complex128")]),
    Case("Eig", "values_only", _eig(False), [values(3, 3)]),
    Case(
        "Eig",
        "values_only_complex",
        _eig(False),
        [values(2, 3, 3, dtype="complex128")],
        known_shapes="rank",
    ),
    Case("Eig", "float", _eig(), [values(2, 2, dtype="float32")]),
]


def _svd(uv: bool = True, full: bool = False) -> Callable[..., Any]:
    def build(a: Any) -> list[Any]:
        s, u, v = raw.Svd(input=a, compute_uv=uv, full_matrices=full)
        # The type of s may be complex, its values are real.
        s = tf.cast(s, a.dtype.real_dtype)
        return [s, u, v] if uv else [s]

    return build


def _projector(q: Any) -> Any:
    """What columns span: it does not depend on the basis."""
    return tf.matmul(q, q, adjoint_b=True)


def _invariants_of_svd(full: bool) -> Callable[..., Any]:
    def build(a: Any) -> list[Any]:
        s, u, v = raw.Svd(input=a, compute_uv=True, full_matrices=full)
        best = tf.matmul(u[..., :1] * s[..., None, :1], v[..., :1], adjoint_b=True)
        surplus = [_projector(u[..., 2:]), _projector(v[..., 2:])] if full else []
        return [tf.cast(s, a.dtype.real_dtype), best, *surplus]

    return build


def _svd_cases() -> Iterator[Case]:
    for dtype in ("float64", "complex128"):
        # Python gives the real singular values a complex gradient, which shows
        # in second order.
        second: dict[str, Any] = {"second_order": None} if dtype == "complex128" else {}
        for name, rows, columns in (("square", 3, 3), ("tall", 4, 2), ("wide", 2, 4)):
            yield Case(
                "Svd",
                f"{name}_{dtype}",
                _svd(),
                [_spread(rows, columns, dtype=dtype)],
                known_shapes=True,
                **second,
            )
            yield Case(
                "Svd",
                f"{name}_values_only_{dtype}",
                _svd(uv=False),
                [_spread(2, rows, columns, dtype=dtype)],
                known_shapes=True,
            )
        for name, rows, columns in (("square", 2, 2), ("tall", 3, 2), ("wide", 2, 3)):
            yield Case(
                "Svd",
                f"{name}_full_{dtype}",
                _svd(full=True),
                [_spread(rows, columns, dtype=dtype)],
                known_shapes=True,
                **second,
            )
    yield Case("Svd", "float", _svd(), [_spread(3, 2, dtype="float32")], known_shapes=True)
    for name, rows, columns in (("square", 3, 3), ("tall", 4, 2), ("wide", 2, 4)):
        yield Case(
            "Svd", f"{name}_of_unknown_shape", _svd(), [_spread(2, rows, columns)], **NUMERIC
        )
    for name, rows, columns in (("tall", 4, 2), ("wide", 2, 5)):
        yield Case(
            "Svd",
            f"{name}_surplus_columns",
            _invariants_of_svd(True),
            [_spread(rows, columns)],
            **NUMERIC,
        )
        yield Case(
            "Svd",
            f"{name}_surplus_columns_complex",
            _invariants_of_svd(True),
            [_spread(rows, columns, dtype="complex128")],
            **NUMERIC,
        )
        yield Case(
            "Svd",
            f"{name}_without_phase",
            _invariants_of_svd(False),
            [_spread(2, rows, columns, dtype="complex128")],
            **NUMERIC,
        )


def _qr(full: bool = False) -> Callable[..., Any]:
    return lambda a: list(raw.Qr(input=a, full_matrices=full))


def _invariants_of_full_qr(a: Any) -> list[Any]:
    q, r = raw.Qr(input=a, full_matrices=True)
    return [q[..., :2], r, _projector(q[..., 2:])]


def _qr_cases() -> Iterator[Case]:
    shapes = (("square", 3, 3), ("tall", 4, 2), ("wide", 2, 4))
    for name, rows, columns in shapes:
        for dtype in ("float64", "complex128"):
            yield Case(
                "Qr",
                f"{name}_{dtype}",
                _qr(),
                [_spread(rows, columns, dtype=dtype)],
                known_shapes=True,
            )
        yield Case("Qr", f"{name}_of_unknown_shape", _qr(), [_spread(2, rows, columns)], **NUMERIC)
    for name, rows, columns in (("square", 3, 3), ("wide", 2, 3)):
        yield Case(
            "Qr", f"{name}_full", _qr(full=True), [_spread(2, rows, columns)], known_shapes=True
        )
    yield Case("Qr", "one_surplus_column", _qr(full=True), [_spread(3, 2)], **NUMERIC)
    yield Case("Qr", "surplus_columns", _invariants_of_full_qr, [_spread(4, 2)], **NUMERIC)
    yield Case("Qr", "float", _qr(), [regular(3, 3, dtype="float32")], known_shapes=True)


CASES = [*CHOLESKY, *EIGENVALUES, *_svd_cases(), *_qr_cases()]
