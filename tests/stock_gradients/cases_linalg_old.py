# SPDX-License-Identifier: Apache-2.0
"""Cases of linear algebra in old graphs, in which ops for batches stood apart."""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from old_ops import old_op
from parity import Case
from random_matrices import positive, regular
from random_values import sequence
from rows import numeric

values = sequence(9)
regular_singles = functools.partial(regular, dtype="float32")
SINGLE: dict[str, Any] = {"step": 1e-2, "tolerance": 5e-3}


def _row(op: str, build: Any = None) -> Callable[..., Case]:
    return functools.partial(numeric, op, build=build or old_op(op))


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
    row = _row("BatchCholesky", _of_symmetric("BatchCholesky"))
    yield row("plain", positive(3, 3))
    yield row("batch", positive(2, 2, 2), known_shapes=True)
    yield row("unknown_rank", positive(2, 2), known_shapes="rank")
    yield row("float", positive(2, 2, dtype="float32"), **SINGLE)
    for op in ("SelfAdjointEig", "BatchSelfAdjointEig"):
        row = _row(op, _packed(op))
        yield row("plain", _symmetric(3, 3))
        yield row("unknown_rank", _symmetric(2, 2), known_shapes="rank")
        yield row("one_by_one", _symmetric(1, 1))
        yield row("float", _symmetric(2, 2, dtype="float32"), **SINGLE)
    yield row("batch", _symmetric(2, 2, 2), known_shapes=True)
    row = _row("BatchSelfAdjointEigV2", _unpacked)
    yield row("plain", _symmetric(3, 3))
    yield row("batch", _symmetric(2, 2, 2), known_shapes=True)
    row = _row("BatchSelfAdjointEigV2", _eigenvalues)
    yield row("values_only", _symmetric(2, 3, 3), known_shapes="rank")
    yield row("float", _symmetric(2, 2, dtype="float32"), **SINGLE)


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
    tall = np.array([[2.0, 0.3], [-0.4, 1.0], [0.2, 0.5]])
    thin = _row("BatchSvd", _svd(False))
    alone = _row("BatchSvd", _singular_values)
    yield thin("tall", tall)
    yield _row("BatchSvd", _svd(True))("wide_full_batch", np.stack([tall.T, tall.T[::-1]]))
    yield thin("complex", tall + 1j * tall[::-1], known_shapes=True)
    yield alone("values_only", tall[None], known_shapes="rank")
    yield alone("float", tall.astype(np.float32), **SINGLE)


def _systems() -> Iterator[Case]:
    row = _row("BatchMatrixDeterminant")
    yield row("plain", regular(3, 3))
    yield row("complex_batch", regular(2, 2, 2, dtype="complex128"))
    yield row("no_inverse", np.ones((1, 2, 2)), known_shapes=True)
    yield row("float", regular_singles(2, 2), known_shapes="rank", **SINGLE)
    for adjoint in (False, True):
        kind = "adjoint" if adjoint else "plain"
        row = _row("BatchMatrixInverse", old_op("BatchMatrixInverse", adjoint=adjoint))
        yield row(kind, regular(3, 3))
        yield row(f"{kind}_batch", regular(2, 2, 2), known_shapes=True)
        yield row(f"{kind}_float", regular_singles(2, 2), **SINGLE)
        row = _row("BatchMatrixSolve", old_op("BatchMatrixSolve", adjoint=adjoint))
        yield row(kind, regular(3, 3), values(3, 2))
        yield row(f"{kind}_batch", regular(2, 2, 2), values(2, 2, 1), known_shapes="rank")
        op = "BatchMatrixTriangularSolve"
        for lower in (False, True):
            side = "lower" if lower else "upper"
            row = _row(op, old_op(op, lower=lower, adjoint=adjoint))
            yield row(f"{side}_{kind}", regular(3, 3), values(3, 2))
            yield row(f"{side}_{kind}_batch", regular(2, 2, 2), values(2, 2, 1), known_shapes=True)
    op = "BatchMatrixSolveLs"
    for fast in (True, False):
        row = _row(op, _regularized(old_op(op, fast=fast)))
        kind = "fast" if fast else "complete"
        yield row(f"{kind}_tall", values(2, 4, 2), values(2, 4, 2), known_shapes=True)
        yield row(f"{kind}_wide", values(2, 2, 4), values(2, 2, 2), known_shapes=True)


def _regularized(solve: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: solve(a, b, tf.constant(0.3, tf.float64))[0]


def _parts() -> Iterator[Case]:
    for op, shapes in (
        ("BatchMatrixDiag", [(2, 3)]),
        ("BatchMatrixDiagPart", [(2, 3, 3)]),
        ("BatchMatrixSetDiag", [(2, 3, 3), (2, 3)]),
    ):
        row = _row(op)

        def data(dtype: str, shapes: Any = shapes) -> list[np.ndarray]:
            return [np.round(values(*shape, dtype=dtype), 2) for shape in shapes]

        yield row("double", *data("float64"), known_shapes=True)
        yield row("complex", *data("complex128"))
        yield row("half", *data("float16"), step=0.25, known_shapes="rank")
        yield row("empty", *(values(0, *shape) for shape in shapes))
    ends, types = ((0, 0), (1, -1), (-1, 1)), ("float64", "complex128")
    for (lower, upper), dtype in itertools.product(ends, types):
        kind = "double" if dtype == "float64" else "complex"
        name = f"{kind}_{lower}_{upper}".replace("-1", "all")
        row = _row("BatchMatrixBandPart", _band)
        yield row(name, values(2, 3, 4, dtype=dtype), lower=lower, upper=upper)


def _band(a: Any, lower: int, upper: int) -> Any:
    return old_op("BatchMatrixBandPart")(a, tf.constant(lower, tf.int64), np.int64(upper))[0]


CASES = [*_factors(), *_svds(), *_systems(), *_parts()]
