"""Special functions, including the incomplete gamma and beta functions and their
derivatives by parameters."""

import functools
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from old_ops import with_formula
from parity import Case
from rows import call, case, each, floats, numeric

REAL = np.array([-7.5, -3.0, -1.0, -0.3, -1e-3, 1e-3, 0.4, 1.0, 2.5, 9.0])
POSITIVE = np.array([1e-3, 0.1, 0.5, 0.9, 1.1, 2.0, 3.7, 8.0, 20.0])
# Without poles, which are at 0, -1, -2, ...
BETWEEN_POLES = np.array([-3.7, -1.2, -0.5, 0.3, 1.0, 2.5, 10.0])
ROW = np.array([0.3, 1.0, 2.5, 7.0])
BACK = ROW[::-1].copy()
COLUMN = np.array([[0.7], [1.4], [4.0]])
SINGLE: dict[str, Any] = {"step": 1e-2, "tolerance": 1e-2}


def _unary(op: str, x: np.ndarray) -> list[Case]:
    matrix = x[: 2 * (x.size // 2)].reshape(2, -1)
    return [
        case(op, "double", x),
        case(op, "float_known_shape", *floats(x), static="all", tolerance=5e-4),
        case(op, "matrix_unknown_rank", matrix, static="none"),
        case(op, "empty", x[:0]),
        numeric(op, "numeric", matrix[:, 2:]),
    ]


def _at(op: str, name: str, *values: float, **more: Any) -> Case:
    """At singular points, where only central differences are correct."""
    return numeric(op, name, np.array(values), **{"second_order": None, **more})


as_python = functools.partial(_at, reference="python")
second = functools.partial(_at, second_order="numeric")
UNARY = [
    *each("Erfc Dawsn FresnelCos FresnelSin", lambda op: _unary(op, REAL)),
    *each("BesselJ0 BesselJ1 BesselI0 BesselI0e BesselI1 BesselI1e", lambda op: _unary(op, REAL)),
    *each("Expint Spence", lambda op: _unary(op, POSITIVE)),
    *each(
        "BesselY0 BesselY1 BesselK0 BesselK0e BesselK1 BesselK1e",
        lambda op: _unary(op, POSITIVE[1:]),
    ),
    *_unary("Digamma", BETWEEN_POLES),
    as_python("Spence", "one", 1.0, 0.5),
    second("Spence", "one_twice", 1.0),
    second("Spence", "near_one", 1 + 1e-14, 0.97, 1.03),
    # Both terms of Python's gradient are nearly the same.
    second("Dawsn", "large", 1e4, -2e4, build=lambda x: 1e12 * call("Dawsn", x), step=1.0),
    # Python gives BesselI1 the derivative 1 at 0; it is 1/2.
    second("BesselI1", "zero", 0.0, 1.0),
    _at("BesselI1e", "zero", 0.0, 1.0),
    second("BesselJ1", "zero", 0.0, 1.0),
    *each("BesselI1 BesselJ1", lambda op: [second(op, "near_zero", 1e-14, -1e-300, 0.999)]),
    second("BesselI0", "zero", 0.0),
    second("BesselJ0", "zero", 0.0),
    as_python("BesselI0e", "zero", 0.0),
    *each("BesselK1 BesselY1 BesselK1e Expint", lambda op: [as_python(op, "zero", 0.0, 1.0)]),
    case("Erfc", "half", REAL.astype(np.float16)),
    case("Erfc", "bfloat16", REAL.astype(ml_dtypes.bfloat16)),
]

ORDERS = np.array([0.0, 1.0, 2.0, 5.0])
polygamma = functools.partial(case, "Polygamma")
zeta = functools.partial(numeric, "Zeta")
ZETA = [
    polygamma("double", ORDERS, ROW),
    polygamma("float_known_shape", *floats(ORDERS, ROW), static="all"),
    polygamma("x_broadcast", ORDERS, COLUMN),
    polygamma("n_broadcast", np.array(1.0), ROW),
    polygamma("unknown_rank", ORDERS, COLUMN, static="none"),
    polygamma("empty", ORDERS[:0], ROW[:0]),
    # Python has no gradient by x.
    case("Zeta", "by_q", ROW + 1.5, ROW, wrt=[1]),
    zeta("double", ROW + 1.5, ROW),
    zeta("near_one", np.array([1.01, 1.1]), np.array([0.1, 30.0])),
    zeta("large", np.array([40.0, 3.0, 60.0]), np.array([2.0, 1e3, 50.0])),
    zeta("q_broadcast", COLUMN + 1.5, ROW),
    zeta("scalar_q", ROW + 1.5, np.array(0.8)),
    zeta("scalar_x_unknown_rank", np.array(2.2), ROW, static="none"),
    zeta("float_known_shape", *floats(ROW + 1.5, ROW), static="all", **SINGLE),
]

# ---- Incomplete gamma functions


def _as_python(op: str) -> list[Case]:
    # Python's derivative by a has no derivative.
    row = functools.partial(case, op, second_order=None)
    large, small = np.array([200.0, 180.0]), np.array([180.0, 200.0])
    return [
        row("as_python", ROW, BACK),
        case(op, "by_x", ROW, BACK, wrt=[1]),
        row("float_known_shape", *floats(ROW, ROW), static="all"),
        row("large", large, small),
        row("zero_x", np.array([1.5, 2.0]), np.zeros(2), wrt=[1]),
    ]


def _lower(a: Any, x: Any) -> Any:
    """P(a, x) for the integers a from 1 to 4    (DLMF 8.4.7)."""
    terms = [tf.ones_like(x), x, x * x / 2, x * x * x / 6]
    counts = [tf.where(k < a, term, tf.zeros_like(x)) for k, term in enumerate(terms)]
    return 1 - tf.exp(-x) * tf.add_n(counts)


LOWER = with_formula("Igamma", "IgammaAsSum", _lower)
UPPER = with_formula("Igammac", "IgammacAsSum", lambda a, x: 1 - _lower(a, x))
INTEGERS = np.array([1.0, 2, 3, 4])


def _at_zero(op: str, build: Any) -> list[Case]:
    """At x = 0, where Python has NaN, in first order for a = 1, else in second."""
    zeros = np.zeros(4)
    return [
        case(op, "ends", INTEGERS, zeros, wrt=[1], build=build),
        case(op, "ends_float", *floats(INTEGERS, zeros), wrt=[1], build=build, static="all"),
        case(op, "inside", INTEGERS, ROW, wrt=[1], build=build),
    ]


# Parameters of all sizes, with quantiles on both sides of the mean.
SHAPES = np.array([0.02, 0.02, 0.5, 0.5, 1.0, 20.0, 20.0, 300.0, 300.0])
POINTS = np.array([0.001, 0.3, 0.05, 2.0, 1.0, 12.0, 31.0, 280.0, 330.0])
ALL_SIZES: dict[str, Any] = {"step": 1e-6, "tolerance": 2e-4}


def _gamma(op: str) -> list[Case]:
    return [
        numeric(op, "double", ROW, BACK),
        numeric(op, "all_sizes", SHAPES, POINTS, **ALL_SIZES),
        numeric(op, "equal", ROW, ROW, static="all"),
        numeric(op, "a_broadcast", ROW, COLUMN),
        numeric(op, "scalar_a", np.array(2.0), COLUMN, static="none"),
        numeric(op, "scalar_x", COLUMN, np.array(1.2)),
        numeric(op, "empty", ROW[:0], ROW[:0]),
        numeric(op, "float", *floats(BACK + 1, ROW + 1), **SINGLE),
    ]


# ---- The incomplete beta function

UNIT = np.array([0.05, 0.3, 0.6, 0.97])
ENDS = np.array([[1.0, 2, 3, 1], [2, 1, 3, 1], [0, 1, 0, 1]])
OF_ALL_SIZES = np.array(
    [
        [0.05, 0.05, 0.5, 30.0, 30.0, 200.0, 0.3],
        [0.05, 8.0, 0.5, 50.0, 50.0, 0.5, 90.0],
        [0.4, 0.01, 0.9, 0.32, 0.44, 0.99, 0.02],
    ]
)
beta = functools.partial(numeric, "Betainc")
OF_INTEGERS = np.array([[2.0, 2, 1, 3, 2, 1], [2, 2, 3, 1, 1, 1], [0, 1, 0, 1, 0, 1]])


def _beta_of_integers(a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b) for OF_INTEGERS; I_x(a, b) is 1 - I_(1-x)(b, a), and x^a for b = 1."""
    square, cube, rest = x * x, x * x * x, 1 - x
    values = [3 * square - 2 * cube] * 2 + [1 - rest * rest * rest, cube, square, x]
    return tf.stack([value[k] for k, value in enumerate(values)])


integers = with_formula("Betainc", "BetaincOfIntegers", _beta_of_integers)
first_is_one = with_formula("Betainc", "BetaincOfOne", lambda a, b, x: 1 - (1 - x) ** b)
second_is_one = with_formula("Betainc", "BetaincAsPower", lambda a, b, x: x**a)
BETA = [
    # Python has no gradient by a and b.
    case("Betainc", "as_python", ROW, BACK, UNIT, wrt=[2]),
    case("Betainc", "ends", *ENDS, wrt=[2], second_order=None),
    case("Betainc", "integers_at_the_ends", *OF_INTEGERS, wrt=[2], build=integers),
    # The derivative by a parameter changes with x there.
    case("Betainc", "first_is_one", np.ones(4), ROW, np.zeros(4), wrt=[1, 2], build=first_is_one),
    case("Betainc", "second_is_one", ROW, np.ones(4), np.ones(4), wrt=[0, 2], build=second_is_one),
    beta("parameters_at_the_ends", *ENDS, wrt=[0, 1], second_order=None),
    beta("double", ROW, BACK, UNIT),
    beta("equal_parameters", ROW, ROW, UNIT, static="all"),
    beta("all_sizes", *OF_ALL_SIZES, **ALL_SIZES),
    beta("scalar_x", ROW, BACK, np.array(0.3)),
    beta("scalar_parameters", np.array(2.0), np.array(0.5), UNIT, static="none"),
    beta("matrix", COLUMN, COLUMN + 1, UNIT[:3, None]),
    beta("empty", ROW[:0], ROW[:0], UNIT[:0]),
    beta("float", *floats(ROW + 1, BACK + 1, UNIT[::-1] / 2 + 0.2), **SINGLE),
]

CASES = [
    *UNARY,
    *ZETA,
    *each("Igamma Igammac", _as_python),
    *_at_zero("Igamma", LOWER),
    *_at_zero("Igammac", UPPER),
    *each("Igamma Igammac IgammaGradA RandomGammaGrad", _gamma),
    numeric("IgammaGradA", "zero_x", np.array([1.5, 2.0]), np.zeros(2), wrt=[0]),
    *BETA,
]
