"""Elementwise arithmetic, sums, norms, products and reductions over segments."""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from old_ops import with_formula
from parity import Case
from random_values import complex_normal, distinct, normal, single
from rows import call, case, each, floats, ints, numeric

# ---- Piecewise constant


def _rounding(op: str) -> list[Case]:
    x = np.array([-1.5, -1.0, -0.2, 0.0, 0.5, 1.0, 2.7])
    return [
        case(op, "double", x, no_gradient=True),
        case(op, "float_known_shape", *floats(x), no_gradient=True, static="all"),
        case(op, "in_a_product", x, build=lambda x: x * x * call(op, x)),
    ]


X, Y = np.array([7.0, -7.0, 8.0, 3.0]), np.array([2.0, 2.0, -3.0, 3.0])


def _division(op: str) -> list[Case]:
    def times(x: Any, y: Any) -> Any:
        product = x * y
        if op == "FloorDiv":
            return product * call(op, x, y)
        # Its kernels take integers.
        quotient = call(op, *[tf.cast(value, tf.int32) for value in (x, y)])
        return product * tf.cast(quotient, tf.float64)

    row = functools.partial(case, op, build=times)
    return [
        row("in_a_product", X, Y),
        row("broadcast_in_a_product", X, Y[:1]),
        row("known_shapes_in_a_product", X, Y, static="all"),
    ]


def _picking(op: str) -> list[Case]:
    def pick(x: Any) -> Any:
        index = call(op, x, dimension=1)
        return x * tf.cast(index, x.dtype)[:, tf.newaxis]

    row = functools.partial(case, op, build=pick)
    return [
        row("in_a_product", normal(3, 4)),
        row("float_known_shape", single(3, 4), static="all"),
        row("one_column", normal(3, 1)),
    ]


# ---- Elementwise


def _broadcasting(op: str, x: np.ndarray, y: np.ndarray, build: Any = None) -> list[Case]:
    """`x` and `y` are vectors of equal length."""
    row = functools.partial(case, op, build=build)
    return [
        row("double", x, y),
        row("float_known_shape", *floats(x, y), static="all"),
        row("x_broadcast", x, np.stack([y, y[::-1]])),
        row("y_broadcast", np.stack([x, x[::-1]])[:, None], y),
        row("outer", x, y[:, None]),
        row("scalar_y_unknown_rank", x, y[1], static="none"),
        row("scalar_x", x[1], y),
        row("empty", x[:0], y[:0]),
    ]


MODULO = np.array([7.3, -7.3, 0.4, -0.4, 5.0]), np.array([2.0, 2.0, -0.3, 0.7, 1.5])


def _modulo(op: str) -> list[Case]:
    x, y = MODULO
    return [
        numeric(op, "numeric", x, y),
        numeric(op, "outer", x, y[:, None], static="none"),
        numeric(op, "scalar_x", x[1], y, static="all"),
        numeric(op, "empty", x[:0], y[:0]),
        numeric(op, "float", *floats(x, y), step=1e-2, tolerance=1e-3),
    ]


# Includes 0 if the op is singular there.
TIMES = np.array([0.0, 0.5, 2.0, -1.5, 0.0])
LOG_OF = np.array([0.0, 0.3, 1.0, 2.0, 4.0])
DIVISOR = np.array([0.0, 0.3, -1.0, 2.0, 4.0])


def _zero_at_zero(op: str, of: Callable[[Any], Any], is_defined: Callable[[Any], Any]) -> Any:
    """The op x f(y) with the gradient of that formula. Python's own is 0 by x at x = 0.

    Where x = 0 and f(y) is not defined, the op is the constant 0.
    """

    def formula(x: Any, y: Any) -> Any:
        is_constant = tf.equal(x, 0) & ~is_defined(y)
        product = x * of(tf.where(is_constant, tf.ones_like(y), y))
        return tf.where(is_constant, tf.zeros_like(product), product)

    return with_formula(op, f"{op}AsProduct", formula)


XLOGY = _zero_at_zero("Xlogy", tf.math.log, lambda y: y > 0)
XLOG1PY = _zero_at_zero("Xlog1py", tf.math.log1p, lambda y: y > -1)
XDIVY = _zero_at_zero("Xdivy", tf.math.reciprocal, lambda y: tf.not_equal(y, 0))


def _singular(op: str) -> list[Case]:
    return [
        numeric(op, "numeric", TIMES[1:4], LOG_OF[1:4]),
        numeric(op, "complex", complex_normal(4), complex_normal(4, seed=5)),
    ]


def _gradients(op: str) -> list[Case]:
    y, dy = normal(2, 3), normal(2, 3, seed=1)
    z, dz = complex_normal(4), complex_normal(4, seed=5)
    small = [v.clip(0.5, 2) for v in (y, dy)]
    return [
        case(op, "double", y, dy),
        case(op, "float_known_shape", *floats(y, dy), static="all"),
        case(op, "unknown_rank", y, dy, static="none"),
        case(op, "half", *(v.astype(np.float16) for v in small)),
        case(op, "bfloat16", *(v.astype(ml_dtypes.bfloat16) for v in small)),
        case(op, "empty", y[:, :0], dy[:, :0]),
        case(op, "complex128", z, dz),
        case(op, "complex64", z.astype(np.complex64), dz.astype(np.complex64)),
        numeric(op, "numeric", y[0], dy[0]),
        numeric(op, "complex_numeric", z, dz),
    ]


WITH_ZERO = complex_normal(7)
WITH_ZERO[2] = 0
absolute = functools.partial(case, "ComplexAbs", Tout=tf.float64)

CASES = [
    *each("Ceil Floor Rint Round", _rounding),
    *each("FloorDiv TruncateDiv", _division),
    case("FloorDiv", "double", X, Y, no_gradient=True),
    *each("ArgMax ArgMin", _picking),
    *_broadcasting("FloorMod", *MODULO),
    numeric("FloorMod", "numeric", *MODULO),
    case("FloorMod", "bfloat16", *(v.astype(ml_dtypes.bfloat16) for v in MODULO)),
    *each("Mod TruncateMod", _modulo),
    *_broadcasting("NextAfter", *MODULO),
    *_broadcasting("Xlogy", TIMES, LOG_OF[::-1].copy(), XLOGY),
    *_broadcasting("Xlog1py", TIMES, LOG_OF, XLOG1PY),
    *_broadcasting("Xdivy", TIMES, DIVISOR[::-1].copy(), XDIVY),
    *_broadcasting("MulNoNan", TIMES, DIVISOR[::-1].copy()),
    *each("Xlogy Xlog1py Xdivy MulNoNan", _singular),
    absolute("complex128", WITH_ZERO),
    absolute(
        "complex64_known_shape", WITH_ZERO.astype(np.complex64), Tout=tf.float32, static="all"
    ),
    absolute("matrix_unknown_rank", complex_normal(2, 3), static="none"),
    numeric("ComplexAbs", "numeric", complex_normal(3), Tout=tf.float64),
    absolute("empty", WITH_ZERO[:0]),
    *each("InvGrad ReciprocalGrad SqrtGrad RsqrtGrad SigmoidGrad TanhGrad", _gradients),
]

# ---- Norms and products

BOTH = (False, True)
CUBE, AXES, ONE = normal(2, 3, 4), ints(0, 2), ints(1)
ROWS_AND_ZERO = normal(3, 2)
ROWS_AND_ZERO[1] = 0
A, B = normal(2, 3), normal(2, 3, seed=1)

norm = functools.partial(case, "EuclideanNorm", keep_dims=False)
accumulate = functools.partial(case, "AccumulateNV2", shape=[2, 3])
NORMS = [
    norm("two_axes", CUBE, AXES),
    norm("negative_axis_kept", CUBE, ints(-2, dtype=np.int64), keep_dims=True),
    norm("scalar_axis", CUBE, ONE[0]),
    norm("no_axis", CUBE, AXES[:0]),
    norm("float_known_shapes", *floats(CUBE), AXES, static="all"),
    norm("unknown_rank", CUBE, AXES, static="none"),
    norm("empty", CUBE[:, :0], AXES),
    norm("half", CUBE.astype(np.float16), AXES, keep_dims=True),
    numeric("EuclideanNorm", "numeric", ROWS_AND_ZERO[:1], ONE),
    # The norm's derivative at zero, as a symmetric difference: zero.
    norm("zero", ROWS_AND_ZERO, ONE, reference="numeric", second_order=None),
    # The norm is real, so the imaginary part of its upstream gradient has no effect.
    numeric("EuclideanNorm", "complex", complex_normal(2, 3), ONE),
    case("Cross", "double", A, B),
    case("Cross", "float_known_shape", *floats(A, B), static="all"),
    case("Cross", "unknown_rank", A, B, static="none"),
    numeric("Cross", "vector", A[0], B[0]),
    accumulate("three", [A, B, normal(2, 3, seed=2)]),
    accumulate("one", [A]),
    accumulate("float", floats(A, B)),
]


def _sparse_matmul() -> Iterator[Case]:
    a, b = single(3, 4), single(4, 2)
    a[0, 1:3] = 0
    b[2] = 0
    for turn_a, turn_b, sparse in itertools.product(BOTH, BOTH, "ab"):
        row = functools.partial(
            case,
            "SparseMatMul",
            transpose_a=turn_a,
            transpose_b=turn_b,
            a_is_sparse=sparse == "a",
            b_is_sparse=sparse == "b",
        )
        name = f"{'at' if turn_a else 'a'}_{'bt' if turn_b else 'b'}_{sparse}_sparse"
        inputs = [
            np.ascontiguousarray(x.T if turn else x) for x, turn in ((a, turn_a), (b, turn_b))
        ]
        short = [v.astype(ml_dtypes.bfloat16) for v in inputs]
        yield row(name, *inputs)
        yield row(f"{name}_bfloat16", short[0], inputs[1] if sparse == "a" else short[1])


# ---- Cumulative

LAST, FIRST = ints(-1)[0], np.array(0, np.int64)
ZEROS = normal(3, 5)
ZEROS[0, 1] = ZEROS[1, 0] = ZEROS[1, 3] = ZEROS[2, 4] = 0


def _cumulative(exclusive: bool, reverse: bool) -> list[Case]:
    how: dict[str, Any] = {"exclusive": exclusive, "reverse": reverse}
    product = functools.partial(case, "Cumprod", **how)
    numeric_product = functools.partial(numeric, "Cumprod", **how)
    logsumexp = functools.partial(case, "CumulativeLogsumexp", **how)
    kind = ("exclusive" if exclusive else "inclusive") + ("_reverse" if reverse else "")
    floating = f"{kind}_float_known_shape"
    # Python's second order of logsumexp is NaN for an empty sum.
    second = None if exclusive else "python"
    return [
        product(kind, normal(3, 4), LAST),
        product(floating, single(3, 4), FIRST, static="all"),
        # Python gives 0 at the zeros.
        product(f"{kind}_zeros", ZEROS, LAST, reference="numeric", second_order=None),
        numeric_product(f"{kind}_one_zero", ZEROS[[0, 2]], LAST),
        # Python's gradient is not conjugated.
        numeric_product(f"{kind}_complex", complex_normal(3), LAST),
        logsumexp(kind, normal(3, 4), LAST, second_order="numeric"),
        logsumexp(floating, single(3, 4), FIRST, static="all", second_order=second),
        logsumexp(f"{kind}_far_apart", 400 * normal(3, 4), LAST, second_order=None),
    ]


logsumexp = functools.partial(case, "CumulativeLogsumexp")
CASES += [
    *NORMS,
    *_sparse_matmul(),
    *(one for how in itertools.product(BOTH, BOTH) for one in _cumulative(*how)),
    logsumexp("empty", normal(0, 4), LAST),
    logsumexp("half", normal(3, 4, dtype=np.float16), LAST, second_order=None),
    logsumexp("unknown_rank", normal(3, 4), LAST, static="none"),
    case("Cumprod", "empty", normal(0, 4), LAST),
    case("Cumprod", "unknown_rank", normal(3, 4), LAST, static="none"),
]

# ---- Segments

# Sorted, with repeated segments and a single one, and the same with a missing one, for which
# Python's second order is NaN.
IDS = ints(0, 0, 0, 1, 2, 2)
GAP = ints(0, 0, 0, 2, 3, 3)
TIES = np.array([[1.0, 2], [1, 5], [0, 5], [4, 4], [3, 3], [3, 2]])


def _sorted(op: str) -> list[Case]:
    rough = distinct(6, 2, dtype=ml_dtypes.bfloat16)
    return [
        case(op, "matrix", distinct(6, 3), IDS),
        case(op, "vector_int64", distinct(6), IDS.astype(np.int64)),
        case(op, "float_known_shapes", distinct(6, 2, 2, dtype=np.float32), IDS, static="all"),
        case(op, "unknown_rank", distinct(6, 2, 2), IDS, static="none"),
        case(op, "missing_segment", distinct(6, 2), GAP, second_order="numeric"),
        case(op, "bfloat16", rough, GAP, second_order=None),
        case(op, "empty", distinct(0, 2), IDS[:0]),
        numeric(op, "numeric", distinct(6, 2), IDS),
    ]


def _zeros(*places: int) -> np.ndarray:
    data = normal(6, 2)
    data[list(places), 0] = 0
    return data


UNSORTED_IDS = ints(3, 0, 3, -1, 0, 3)
ID_MATRIX = np.array([[1, 0, 1], [0, -1, 3]], np.int64)
product = functools.partial(case, "SegmentProd")
unsorted = functools.partial(case, "UnsortedSegmentProd", num_segments=4)
numeric_unsorted = functools.partial(numeric, "UnsortedSegmentProd", num_segments=4)

CASES += [
    *each("SegmentMean SegmentMax SegmentMin SegmentProd", _sorted),
    case("SegmentMean", "complex", complex_normal(6, 2), IDS),
    case("SegmentMax", "ties", TIES, IDS),
    case("SegmentMin", "ties", TIES, IDS),
    case("SegmentMax", "half", TIES.astype(np.float16), IDS, second_order=None),
    # Python's gradient of a complex product is not conjugated.
    numeric("SegmentProd", "complex", complex_normal(6, 2), IDS),
    product("one_zero", _zeros(1, 3), IDS, second_order="numeric"),
    product("two_zeros", _zeros(0, 2, 5), IDS, second_order=None),
    numeric("SegmentProd", "one_zero_numeric", _zeros(1, 3), IDS),
    unsorted("matrix", normal(6, 2), UNSORTED_IDS),
    unsorted("float_known_shapes", single(6, 2), UNSORTED_IDS, static="all"),
    unsorted("ids_matrix", normal(2, 3, 2), ID_MATRIX),
    unsorted("ids_of_data_unknown_rank", normal(2, 3), ID_MATRIX, static="none"),
    unsorted("one_zero", _zeros(1, 2, 3), UNSORTED_IDS, second_order="numeric"),
    unsorted("two_zeros", _zeros(0, 2, 4), UNSORTED_IDS, second_order=None),
    numeric_unsorted("complex", complex_normal(6, 2), UNSORTED_IDS),
    unsorted("empty", normal(0, 2), UNSORTED_IDS[:0]),
    numeric_unsorted("numeric", _zeros(1, 2, 3), UNSORTED_IDS),
]
