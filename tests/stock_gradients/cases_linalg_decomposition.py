# SPDX-License-Identifier: Apache-2.0
"""Cases of matrix decompositions.

Where Python has a gradient it is the reference, for any function of the factors.
Where it has none (unknown shapes, more than one surplus column), it is central
differences, of functions that do not depend on the choice of surplus columns.
"""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_matrices import positive, regular
from random_values import sequence
from rows import call, case, numeric

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


def _first(e: Any, v: Any) -> Any:
    return e


def _eig(a: Any, compute_v: bool = True) -> list[Any]:
    single = a.dtype in (tf.float32, tf.complex64)
    e, v = call("Eig", a, compute_v=compute_v, Tout=tf.complex64 if single else tf.complex128)
    return [e, v] if compute_v else [e]


cholesky = functools.partial(case, "Cholesky")
eigh = functools.partial(case, "SelfAdjointEigV2")
eig = functools.partial(case, "Eig", build=_eig)
CASES = [
    cholesky("plain", positive(3, 3)),
    cholesky("batch", positive(2, 3, 3), known_shapes=True),
    cholesky("float", positive(2, 2, dtype="float32")),
    cholesky("complex", positive(3, 3, dtype="complex128")),
    cholesky("one_by_one", positive(2, 1, 1), known_shapes="rank"),
    cholesky("no_matrices", positive(0, 3, 3)),
    eigh("plain", _hermitian(3, 3)),
    eigh("batch", _hermitian(2, 3, 3), known_shapes=True),
    eigh("values_only", _hermitian(3, 3), compute_v=False, then=_first),
    eigh("float", _hermitian(3, 3, dtype="float32")),
    eigh("complex", _hermitian(3, 3, dtype="complex128")),
    eigh(
        "values_only_complex_batch",
        _hermitian(2, 2, 2, dtype="complex128"),
        compute_v=False,
        then=_first,
        known_shapes="rank",
    ),
    eigh("equal_eigenvalues", np.eye(3), second_order=None),
    eigh("vectors_only", _hermitian(3, 3), then=lambda e, v: v),
    eig("real", values(3, 3)),
    eig("real_batch", values(2, 3, 3), known_shapes=True),
    eig("complex", values(3, 3, dtype="complex128")),
    eig("values_only", values(3, 3), compute_v=False),
    eig(
        "values_only_complex",
        values(2, 3, 3, dtype="complex128"),
        compute_v=False,
        known_shapes="rank",
    ),
    eig("float", values(2, 2, dtype="float32")),
]


def _svd(a: Any, compute_uv: bool = True, full_matrices: bool = False) -> list[Any]:
    s, u, v = call("Svd", a, compute_uv=compute_uv, full_matrices=full_matrices)
    # The type of s may be complex, its values are real.
    s = tf.cast(s, a.dtype.real_dtype)
    return [s, u, v] if compute_uv else [s]


def _projector(q: Any) -> Any:
    """What columns span: it does not depend on the basis."""
    return tf.matmul(q, q, adjoint_b=True)


def _invariants_of_svd(a: Any, full_matrices: bool) -> list[Any]:
    s, u, v = call("Svd", a, compute_uv=True, full_matrices=full_matrices)
    best = tf.matmul(u[..., :1] * s[..., None, :1], v[..., :1], adjoint_b=True)
    surplus = [_projector(u[..., 2:]), _projector(v[..., 2:])] if full_matrices else []
    return [tf.cast(s, a.dtype.real_dtype), best, *surplus]


SHAPES = (("square", 3, 3), ("tall", 4, 2), ("wide", 2, 4))


def _svd_cases() -> Iterator[Case]:
    svd = functools.partial(case, "Svd", build=_svd, known_shapes=True)
    for dtype in ("float64", "complex128"):
        spread = functools.partial(_spread, dtype=dtype)
        # Python gives the real singular values a complex gradient, which shows
        # in second order.
        second = None if dtype == "complex128" else "python"
        for name, m, n in SHAPES:
            yield svd(f"{name}_{dtype}", spread(m, n), second_order=second)
            yield svd(f"{name}_values_only_{dtype}", spread(2, m, n), compute_uv=False)
        for name, m, n in (("square", 2, 2), ("tall", 3, 2), ("wide", 2, 3)):
            full = f"{name}_full_{dtype}"
            yield svd(full, spread(m, n), full_matrices=True, second_order=second)
    yield svd("float", _spread(3, 2, dtype="float32"))
    for name, m, n in SHAPES:
        yield numeric("Svd", f"{name}_of_unknown_shape", _spread(2, m, n), build=_svd)
    invariants = functools.partial(numeric, "Svd", build=_invariants_of_svd)
    for name, m, n in (("tall", 4, 2), ("wide", 2, 5)):
        spread = functools.partial(_spread, dtype="complex128")
        surplus = f"{name}_surplus_columns"
        yield invariants(surplus, _spread(m, n), full_matrices=True)
        yield invariants(f"{surplus}_complex", spread(m, n), full_matrices=True)
        yield invariants(f"{name}_without_phase", spread(2, m, n), full_matrices=False)


def _invariants_of_full_qr(q: Any, r: Any) -> list[Any]:
    return [q[..., :2], r, _projector(q[..., 2:])]


def _qr_cases() -> Iterator[Case]:
    qr = functools.partial(case, "Qr", known_shapes=True)
    numeric_qr = functools.partial(numeric, "Qr")
    for name, m, n in SHAPES:
        for dtype in ("float64", "complex128"):
            yield qr(f"{name}_{dtype}", _spread(m, n, dtype=dtype))
        yield numeric_qr(f"{name}_of_unknown_shape", _spread(2, m, n))
    for name, m, n in (("square", 3, 3), ("wide", 2, 3)):
        yield qr(f"{name}_full", _spread(2, m, n), full_matrices=True)
    yield numeric_qr("one_surplus_column", _spread(3, 2), full_matrices=True)
    yield numeric_qr(
        "surplus_columns", _spread(4, 2), full_matrices=True, then=_invariants_of_full_qr
    )
    yield qr("float", regular(3, 3, dtype="float32"))


CASES += [*_svd_cases(), *_qr_cases()]
