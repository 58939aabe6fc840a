"""Inverses, linear systems, tridiagonal matrices and decompositions."""

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from old_ops import with_gradient
from parity import Case
from random_values import positive, regular, sequence, sequences
from rows import call, case, numeric

values, singles, complexes = sequences(4)

inverse = functools.partial(case, "MatrixInverse")
solve = functools.partial(case, "MatrixSolve")
INVERSE = [
    inverse("plain", regular(3, 3)),
    inverse("adjoint_batch", regular(2, 3, 3), adjoint=True),
    inverse("adjoint_complex", regular(3, 3, dtype="complex128"), adjoint=True, static="all"),
    inverse("complex", regular(2, 2, dtype="complex128"), static="none"),
    inverse("float", regular(2, 2, 2, dtype="float32")),
    inverse("empty_batch", regular(0, 2, 2)),
    solve("plain", regular(3, 3), values(3, 2)),
    solve("adjoint_batch", regular(2, 3, 3), values(2, 3, 1), adjoint=True, static="all"),
    solve("adjoint_complex", regular(3, 3, dtype="complex128"), complexes(3, 2), adjoint=True),
    solve("complex", regular(2, 3, 3, dtype="complex128"), complexes(2, 3, 2), static="none"),
    solve("float", regular(3, 3, dtype="float32"), singles(3, 4)),
]


def bands(*shape: int, dtype: str = "float64", upper: bool = False) -> np.ndarray:
    """Diagonals of a well-conditioned triangular matrix, with the main one first, or last
    in an upper matrix."""
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
            static="all",
            **how,
        )
    upper = functools.partial(case, op, lower=False, static="all")
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
    root("batch", regular(2, 2, 2), static="all"),
    root("float", regular(3, 3, dtype="float32")),
    # Python's gradient transposes where it must take the adjoint.
    numeric("MatrixSquareRoot", "complex", regular(3, 3, dtype="complex128")),
    root("equal_eigenvalues", np.eye(3) * 4),
    root(
        "small_matrix",
        regular(3, 3),
        build=lambda a: call("MatrixSquareRoot", a * 1e-12),
        tolerance=1e-6,
    ),
    root("unknown_rank", regular(2, 2), static="none"),
]


def _least_squares(*inputs: Any, l2: float, fast: bool = True) -> Any:
    return call("MatrixSolveLs", *inputs, tf.constant(l2, tf.float64), fast=fast)


def _of_rank_one(x: Any, y: Any, b: Any) -> Any:
    """x y^T has rank 1 for all x and y."""
    return _least_squares(x[:, None] * y, b, l2=0.0, fast=False)


least = functools.partial(case, "MatrixSolveLs", build=_least_squares)
numeric_least = functools.partial(numeric, "MatrixSolveLs", build=_least_squares)


def _least_squares_cases() -> Iterator[Case]:
    for name, m, n in (("tall", 4, 2), ("wide", 2, 4), ("square", 3, 3)):
        yield least(name, values(m, n), values(m, 2), l2=0.0, static="all")
        yield least(f"{name}_regularized", values(m, n), values(m, 2), l2=0.7, static="all")
        batch = f"{name}_batch_of_unknown_shape"
        yield numeric_least(batch, values(2, m, n), values(2, m, 1), l2=0.2)
        # Python's gradient transposes where it must take the adjoint.
        yield numeric_least(f"{name}_complex", complexes(m, n), complexes(m, 2), l2=0.3)
    yield least("float", singles(4, 3), singles(4, 1), l2=0.5, static="all")
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
    for name, batch, dtype, static in (
        ("plain", (), "float64", "rank"),
        ("batch", (2,), "float64", "all"),
        ("float", (), "float32", "none"),
        ("complex", (2, 1), "complex128", "rank"),
    ):
        rows = [values(*batch, 1, 4, dtype=dtype) for _ in range(3)]
        x = values(*batch, 4, 2, dtype=dtype)
        yield case("TridiagonalMatMul", name, *rows, x, static=static)
    yield case("TridiagonalMatMul", "one_by_one", *(values(1, 1) for _ in range(4)))
    op = "TridiagonalSolve"
    yield case(op, "plain", diagonals(3, 4), values(4, 2))
    yield case(
        op,
        "batch_without_pivoting",
        *(diagonals(2, 3, 4), values(2, 4, 1)),
        partial_pivoting=False,
        static="all",
    )
    yield case(op, "float", diagonals(3, 3, dtype="float32"), singles(3, 2), static="none")
    # Python's gradient does not conjugate.
    yield numeric(op, "complex", diagonals(2, 3, 3, dtype="complex128"), complexes(2, 3, 2))
    yield case(op, "perturbed_if_singular", diagonals(3, 3), values(3, 2), perturb_singular=True)
    yield case(op, "one_by_one", diagonals(3, 1), values(1, 2))


CASES = [*INVERSE, *_triangular_cases(), *ROOTS, *_least_squares_cases(), *_tridiagonal_cases()]

# ---- Decompositions. If Python has a gradient, it is the reference, for any function of the
# factors. Otherwise (unknown shapes, more than one surplus column) central differences are, of
# functions that do not depend on the choice of surplus columns.

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


def _eig(a: Any, compute_v: bool = True) -> list[Any]:
    single = a.dtype in (tf.float32, tf.complex64)
    e, v = call("Eig", a, compute_v=compute_v, Tout=tf.complex64 if single else tf.complex128)
    return [e, v] if compute_v else [e]


cholesky = functools.partial(case, "Cholesky")
eigh = functools.partial(case, "SelfAdjointEigV2")
eigenvalues = functools.partial(eigh, compute_v=False, then=lambda e, v: e)
eig = functools.partial(case, "Eig", build=_eig)
CASES += [
    cholesky("plain", positive(3, 3)),
    cholesky("batch", positive(2, 3, 3), static="all"),
    cholesky("float", positive(2, 2, dtype="float32")),
    cholesky("complex", positive(3, 3, dtype="complex128")),
    cholesky("one_by_one", positive(2, 1, 1), static="none"),
    cholesky("no_matrices", positive(0, 3, 3)),
    eigh("plain", _hermitian(3, 3)),
    eigh("batch", _hermitian(2, 3, 3), static="all"),
    eigenvalues("values_only", _hermitian(3, 3)),
    eigh("float", _hermitian(3, 3, dtype="float32")),
    eigh("complex", _hermitian(3, 3, dtype="complex128")),
    eigenvalues(
        "values_only_complex_batch", _hermitian(2, 2, 2, dtype="complex128"), static="none"
    ),
    eigh("vectors_only", _hermitian(3, 3), then=lambda e, v: v),
    eig("real", values(3, 3)),
    eig("real_batch", values(2, 3, 3), static="all"),
    eig("complex", values(3, 3, dtype="complex128")),
    eig("values_only", values(3, 3), compute_v=False),
    eig("values_only_complex", values(2, 3, 3, dtype="complex128"), compute_v=False, static="none"),
    eig("float", values(2, 2, dtype="float32")),
]


def _svd(a: Any, compute_uv: bool = True, full_matrices: bool = False) -> list[Any]:
    s, u, v = call("Svd", a, compute_uv=compute_uv, full_matrices=full_matrices)
    # The type of s may be complex, but its values are real.
    s = tf.cast(s, a.dtype.real_dtype)
    return [s, u, v] if compute_uv else [s]


def _projector(q: Any) -> Any:
    """The projector on the span of the columns, which does not depend on the basis."""
    return tf.matmul(q, q, adjoint_b=True)


def _invariants_of_svd(a: Any, full_matrices: bool) -> list[Any]:
    s, u, v = call("Svd", a, compute_uv=True, full_matrices=full_matrices)
    best = tf.matmul(u[..., :1] * s[..., None, :1], v[..., :1], adjoint_b=True)
    surplus = [_projector(u[..., 2:]), _projector(v[..., 2:])] if full_matrices else []
    return [tf.cast(s, a.dtype.real_dtype), best, *surplus]


SHAPES = (("square", 3, 3), ("tall", 4, 2), ("wide", 2, 4))


def _svd_cases() -> Iterator[Case]:
    svd = functools.partial(case, "Svd", build=_svd, static="all")
    for dtype in ("float64", "complex128"):
        spread = functools.partial(_spread, dtype=dtype)
        # Python gives the real singular values a complex gradient, which affects the second order.
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


def _qr_cases() -> Iterator[Case]:
    qr = functools.partial(case, "Qr", static="all")
    numeric_qr = functools.partial(numeric, "Qr")
    for name, m, n in SHAPES:
        for dtype in ("float64", "complex128"):
            yield qr(f"{name}_{dtype}", _spread(m, n, dtype=dtype))
        yield numeric_qr(f"{name}_of_unknown_shape", _spread(2, m, n))
    for name, m, n in (("square", 3, 3), ("wide", 2, 3)):
        yield qr(f"{name}_full", _spread(2, m, n), full_matrices=True)
    yield numeric_qr("one_surplus_column", _spread(3, 2), full_matrices=True)
    yield numeric_qr(
        "surplus_columns",
        _spread(4, 2),
        full_matrices=True,
        then=lambda q, r: [q[..., :2], r, _projector(q[..., 2:])],
    )
    yield qr("float", regular(3, 3, dtype="float32"))


CASES += [*_svd_cases(), *_qr_cases()]

# ---- Equal eigenvalues and singular values: functions that are smooth there. Python's gradients
# lack what is between two equal values, and in second order what changes between them.


def _with_values(values_of: Sequence[float], m: int, n: int, dtype: str) -> np.ndarray:
    """A random m x n matrix with these singular values."""
    u, v = (np.linalg.qr(values(k, k, dtype=dtype))[0] for k in (m, n))
    k = len(values_of)
    return ((u[:, :k] * np.array(values_of)) @ np.conj(v[:, :k].T)).astype(dtype)


def _with_eigenvalues(values_of: Sequence[float], dtype: str, hermitian: bool) -> np.ndarray:
    v = values(len(values_of), len(values_of), dtype=dtype)
    v = np.linalg.qr(v)[0] if hermitian else v + 2 * np.eye(len(values_of))
    return ((v * np.array(values_of)) @ np.linalg.inv(v)).astype(dtype)


def _nearest_rotation(a: Any) -> Any:
    _, u, v = call("Svd", a)
    return tf.matmul(u, v, adjoint_b=True)


def _best_of_rank_one(a: Any) -> Any:
    s, u, v = call("Svd", a)
    return tf.matmul(u[..., :1] * s[..., None, :1], v[..., :1], adjoint_b=True)


def _projector_on_two(a: Any) -> Any:
    return _projector(call("Svd", a)[1][..., :2])


def _lowest_two(a: Any) -> Any:
    """The projector on the eigenvectors of the two smallest eigenvalues."""
    _, v = call("SelfAdjointEigV2", 0.5 * (a + tf.linalg.adjoint(a)))
    return _projector(v[..., :2])


def _near_two(a: Any) -> Any:
    """The projector on the eigenvectors of eigenvalues near 2, along the others."""
    e, v = _eig(a)
    is_near = tf.cast(tf.abs(e - 2) < 0.5, v.dtype)
    return tf.matmul(v * is_near[..., None, :], tf.linalg.inv(v))


@tf.RegisterGradient("NotANumber")
def _not_a_number(op: tf.Operation, *_: tf.Tensor) -> tf.Tensor:
    return op.inputs[0] * np.nan


def _reconstructed(a: Any) -> Any:
    """Smooth, but no upstream gradient of e and V says what V diag(e) V^H is there."""
    e, v = call("SelfAdjointEigV2", a)
    return tf.matmul(v * e[..., None, :], v, adjoint_b=True)


def _composed(a: Any) -> Any:
    s, u, v = call("Svd", a)
    return tf.matmul(u * s[..., None, :], v, adjoint_b=True)


def _degenerate_cases() -> Iterator[Case]:
    numeric_svd = functools.partial(numeric, "Svd", build=_nearest_rotation)
    yield numeric_svd("rotation_of_the_identity", np.eye(3))
    yield numeric_svd("rotation_of_a_diagonal", np.diag([2.0, 2, 1]), static="all")
    batch = np.stack([_with_values(s, 3, 3, "float64") for s in ([2, 2, 2], [3, 2, 1])])
    yield numeric_svd("rotations", batch, static="none")
    for dtype in ("float64", "complex128"):
        with_values = functools.partial(_with_values, dtype=dtype)
        yield numeric_svd(f"rotation_{dtype}", with_values([2, 2, 1], 3, 3))
        yield numeric_svd(f"rotation_tall_{dtype}", with_values([2, 2], 4, 2))
        yield numeric_svd(f"rotation_wide_{dtype}", with_values([2, 2, 1], 3, 5))
        best = functools.partial(numeric, "Svd", build=_best_of_rank_one)
        yield best(f"best_of_rank_one_{dtype}", with_values([3, 1, 1], 3, 3))
        yield best(f"of_rank_one_{dtype}", with_values([3], 3, 3))
        projector = functools.partial(numeric, "Svd", build=_projector_on_two)
        yield projector(f"projector_{dtype}", with_values([2, 2, 1], 4, 3))
        with_eigenvalues = functools.partial(_with_eigenvalues, dtype=dtype)
        for op, build, hermitian in (
            ("SelfAdjointEigV2", _lowest_two, True),
            ("Eig", _near_two, False),
        ):
            # Steps part the eigenvalues, but too little for accurate differences.
            row = functools.partial(numeric, op, build=build, tolerance=1e-3)
            yield row(f"equal_{dtype}", with_eigenvalues([2, 2, 4], hermitian=hermitian))
        yield numeric(
            "SelfAdjointEigV2",
            f"equal_others_{dtype}",
            with_eigenvalues([1, 2, 4, 4], hermitian=True),
            build=_lowest_two,
        )
    for op, build in (("SelfAdjointEigV2", _reconstructed), ("Svd", _composed)):
        unknown = with_gradient(op, "NotANumber", build)
        yield case(op, "unknown_slope", np.eye(3), build=unknown, second_order=None)


CASES += _degenerate_cases()
