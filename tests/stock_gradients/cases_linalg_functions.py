"""Determinants, functions of matrices, Lu, CholeskyGrad, and the ops of old graphs."""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from old_ops import old_op, with_gradient
from parity import Case
from random_values import positive, regular, sequence
from rows import case, floats, numeric

# ---- Determinants

values = sequence(5)


def of_rank(rank: int, *shape: int, dtype: str = "float64") -> np.ndarray:
    """Random square matrices of this rank."""
    *batch, _, n = shape
    return values(*batch, n, rank, dtype=dtype) @ values(*batch, rank, n, dtype=dtype)


det = functools.partial(case, "MatrixDeterminant")
# It is a polynomial, so long steps cost little. Python's gradient lacks a conjugate for a complex
# determinant, and fails for a singular matrix.
polynomial = functools.partial(numeric, "MatrixDeterminant", step=1e-4)
log_det = functools.partial(case, "LogMatrixDeterminant")
DETERMINANTS = [
    det("plain", regular(3, 3)),
    det("batch", values(2, 3, 4, 4), static="all"),
    det("float", regular(2, 3, 3, dtype="float32")),
    det("one_by_one", values(2, 1, 1)),
    det("no_matrices", values(0, 2, 2)),
    det("unknown_rank", regular(2, 3, 3), static="none"),
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
    log_det("batch", values(2, 3, 3), static="all"),
    log_det("float", regular(2, 3, 3, dtype="float32")),
    # Python's gradient omits the sign of complex matrices.
    numeric("LogMatrixDeterminant", "complex", values(2, 3, 3, dtype="complex128")),
    log_det(
        "complex_logarithm",
        values(2, 2, dtype="complex128"),
        then=lambda sign, log: tf.cast(log, tf.float64),
        static="none",
    ),
]

# ---- Functions

values = sequence(8)
SINGLE: dict[str, Any] = {"step": 1e-2, "tolerance": 2e-3}


_exponential = old_op("MatrixExponential")


def _half_squared(a: Any) -> Any:
    """exp(A) as exp(A / 2)^2, by a composition that Python differentiates."""
    root = tf.linalg.expm(a / 2)
    return root @ root


@tf.RegisterGradient("ExpmInPlaceOfMatrixExponential")
def _expm_gradient(op: Any, dy: Any) -> Any:
    return tf.gradients(_half_squared(op.inputs[0]), op.inputs[0], dy)[0]


as_expm = with_gradient("MatrixExponential", "ExpmInPlaceOfMatrixExponential", _exponential)
exponential = functools.partial(numeric, "MatrixExponential", build=_exponential)
logarithm = functools.partial(numeric, "MatrixLogarithm")
regular_complex = functools.partial(regular, dtype="complex128")
FUNCTIONS = [
    exponential("double", values(3, 3)),
    exponential("complex", values(2, 2, dtype="complex128")),
    exponential("batch", values(2, 1, 2, 2), static="all"),
    exponential("unknown_rank", values(2, 2), static="none"),
    exponential("large", 5 * values(2, 2)),
    exponential("zero_matrix", np.zeros((2, 2))),
    exponential("one_by_one", values(3, 1, 1)),
    exponential("no_matrices", values(0, 2, 2)),
    exponential("float", values(3, 3, dtype="float32"), **SINGLE),
    case("MatrixExponential", "as_expm", values(3, 3), build=as_expm, second_order=None),
    logarithm("plain", regular_complex(3, 3)),
    logarithm("batch", regular_complex(2, 2, 2), static="all"),
    logarithm("unknown_rank", regular_complex(2, 2), static="none"),
    logarithm("small", 1e-3 * regular_complex(2, 2), step=1e-8),
    logarithm("equal_eigenvalues", np.diag([2.0 + 0j, 2.0])),
    logarithm("no_matrices", regular_complex(0, 2, 2)),
    logarithm("complex64", regular(2, 2, dtype="complex64"), **SINGLE),
]

# The largest elements of the columns are in rows that must be exchanged.
EXCHANGED = np.roll(regular(3, 3), 1, axis=-2)
BATCH = np.stack([EXCHANGED, regular(3, 3), np.roll(regular(3, 3), 2, axis=-2)])
lu = functools.partial(numeric, "Lu", then=lambda lu, p: lu)
LU = [
    lu("plain", regular(3, 3)),
    lu("rows_exchanged", EXCHANGED),
    lu("batch_int64", BATCH, output_idx_type=tf.int64, static="all"),
    lu("complex", np.roll(regular_complex(3, 3), 1, 0)),
    lu("unknown_rank", EXCHANGED[None, None], static="none"),
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
        row("full_matrices", regular(3, 3), values(3, 3), static="none"),
        row("batch", triangle(2, 2, 2), values(2, 2, 2), static="all"),
        row("one_by_one", triangle(2, 1, 1), values(2, 1, 1)),
        row("no_matrices", triangle(0, 2, 2), values(0, 2, 2)),
        row("float", *floats(triangle(2, 2), values(2, 2)), step=1e-2, tolerance=5e-3),
    ]


CASES = [
    *DETERMINANTS,
    *FUNCTIONS,
    *LU,
    *_cholesky_grads("CholeskyGrad", None),
    *_cholesky_grads("BatchCholeskyGrad", old_op("BatchCholeskyGrad")),
]

# ---- Old graphs, which have separate ops for batches

values = sequence(9)
regular_singles = functools.partial(regular, dtype="float32")
ROUGH: dict[str, Any] = {"step": 1e-2, "tolerance": 5e-3}


def _row(op: str, build: Any = None) -> Callable[..., Case]:
    return functools.partial(numeric, op, build=build or old_op(op))


def _of_symmetric(op: str, **attributes: bool) -> Callable[..., Any]:
    """The op on (A + A^H) / 2: it reads one triangle, and differences change one element."""

    def build(a: Any) -> list[Any]:
        return old_op(op, **attributes)(0.5 * (a + tf.linalg.adjoint(a)))

    return build


def _symmetric(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Matrices with well-separated eigenvalues."""
    a = 0.3 * values(*shape, dtype=dtype)
    a = a + np.conj(np.swapaxes(a, -1, -2))
    return (a + np.diag(2.0 * np.arange(shape[-1]))).astype(dtype)


def _packed(op: str) -> Callable[..., Any]:
    """Eigenvalues and squares, because eigenvectors have no unique sign."""

    def build(a: Any) -> list[Any]:
        packed = _of_symmetric(op)(a)
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
    yield row("batch", positive(2, 2, 2), static="all")
    yield row("unknown_rank", positive(2, 2), static="none")
    yield row("float", positive(2, 2, dtype="float32"), **ROUGH)
    for op in ("SelfAdjointEig", "BatchSelfAdjointEig"):
        row = _row(op, _packed(op))
        yield row("plain", _symmetric(3, 3))
        yield row("unknown_rank", _symmetric(2, 2), static="none")
        yield row("one_by_one", _symmetric(1, 1))
        yield row("float", _symmetric(2, 2, dtype="float32"), **ROUGH)
    yield row("batch", _symmetric(2, 2, 2), static="all")
    row = _row("BatchSelfAdjointEigV2", _unpacked)
    yield row("plain", _symmetric(3, 3))
    yield row("batch", _symmetric(2, 2, 2), static="all")
    row = _row("BatchSelfAdjointEigV2", _eigenvalues)
    yield row("values_only", _symmetric(2, 3, 3), static="none")
    yield row("float", _symmetric(2, 2, dtype="float32"), **ROUGH)


def _svd(full: bool) -> Callable[..., Any]:
    """Singular values and the spans of the columns."""

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
    yield thin("complex", tall + 1j * tall[::-1], static="all")
    yield alone("values_only", tall[None], static="none")
    yield alone("float", tall.astype(np.float32), **ROUGH)


def _systems() -> Iterator[Case]:
    row = _row("BatchMatrixDeterminant")
    yield row("plain", regular(3, 3))
    yield row("complex_batch", regular(2, 2, 2, dtype="complex128"))
    yield row("no_inverse", np.ones((1, 2, 2)), static="all")
    yield row("float", regular_singles(2, 2), static="none", **ROUGH)
    for adjoint in (False, True):
        kind = "adjoint" if adjoint else "plain"
        row = _row("BatchMatrixInverse", old_op("BatchMatrixInverse", adjoint=adjoint))
        yield row(kind, regular(3, 3))
        yield row(f"{kind}_batch", regular(2, 2, 2), static="all")
        yield row(f"{kind}_float", regular_singles(2, 2), **ROUGH)
        row = _row("BatchMatrixSolve", old_op("BatchMatrixSolve", adjoint=adjoint))
        yield row(kind, regular(3, 3), values(3, 2))
        yield row(f"{kind}_batch", regular(2, 2, 2), values(2, 2, 1), static="none")
        op = "BatchMatrixTriangularSolve"
        for lower in (False, True):
            side = "lower" if lower else "upper"
            row = _row(op, old_op(op, lower=lower, adjoint=adjoint))
            yield row(f"{side}_{kind}", regular(3, 3), values(3, 2))
            yield row(f"{side}_{kind}_batch", regular(2, 2, 2), values(2, 2, 1), static="all")
    op = "BatchMatrixSolveLs"
    for fast in (True, False):
        row = _row(op, _regularized(old_op(op, fast=fast)))
        kind = "fast" if fast else "complete"
        yield row(f"{kind}_tall", values(2, 4, 2), values(2, 4, 2), static="all")
        yield row(f"{kind}_wide", values(2, 2, 4), values(2, 2, 2), static="all")


def _regularized(solve: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: solve(a, b, tf.constant(0.3, tf.float64))


def _parts() -> Iterator[Case]:
    for op, shapes in (
        ("BatchMatrixDiag", [(2, 3)]),
        ("BatchMatrixDiagPart", [(2, 3, 3)]),
        ("BatchMatrixSetDiag", [(2, 3, 3), (2, 3)]),
    ):
        row = _row(op)

        def data(dtype: str, shapes: Any = shapes) -> list[np.ndarray]:
            return [np.round(values(*shape, dtype=dtype), 2) for shape in shapes]

        yield row("double", *data("float64"), static="all")
        yield row("complex", *data("complex128"))
        yield row("half", *data("float16"), step=0.25, static="none")
        yield row("empty", *(values(0, *shape) for shape in shapes))
    ends, types = ((0, 0), (1, -1), (-1, 1)), ("float64", "complex128")
    for (lower, upper), dtype in itertools.product(ends, types):
        kind = "double" if dtype == "float64" else "complex"
        name = f"{kind}_{lower}_{upper}".replace("-1", "all")
        row = _row("BatchMatrixBandPart", _band)
        yield row(name, values(2, 3, 4, dtype=dtype), lower=lower, upper=upper)


def _band(a: Any, lower: int, upper: int) -> Any:
    return old_op("BatchMatrixBandPart")(a, tf.constant(lower, tf.int64), np.int64(upper))


CASES += [*_factors(), *_svds(), *_systems(), *_parts()]
