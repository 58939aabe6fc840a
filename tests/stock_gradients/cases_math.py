# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic: rounding, division, logarithms, complex numbers."""

import functools
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal, single
from rows import call, case, each, floats, numeric

# ---- Piecewise constant


def _rounding(op: str) -> list[Case]:
    x = np.array([-1.5, -1.0, -0.2, 0.0, 0.5, 1.0, 2.7])
    return [
        case(op, "double", x, no_gradient=True),
        case(op, "float_known_shape", *floats(x), no_gradient=True, known_shapes=True),
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
        row("known_shapes_in_a_product", X, Y, known_shapes=True),
    ]


def _picking(op: str) -> list[Case]:
    def pick(x: Any) -> Any:
        index = call(op, x, dimension=1)
        return x * tf.cast(index, x.dtype)[:, tf.newaxis]

    row = functools.partial(case, op, build=pick)
    return [
        row("in_a_product", normal(3, 4)),
        row("float_known_shape", single(3, 4), known_shapes=True),
        row("one_column", normal(3, 1)),
    ]


# ---- Elementwise


def _broadcasting(op: str, x: np.ndarray, y: np.ndarray) -> list[Case]:
    """`x` and `y` are vectors of equal length."""
    return [
        case(op, "double", x, y),
        case(op, "float_known_shape", *floats(x, y), known_shapes=True),
        case(op, "x_broadcast", x, np.stack([y, y[::-1]])),
        case(op, "y_broadcast", np.stack([x, x[::-1]])[:, None], y),
        case(op, "outer", x, y[:, None]),
        case(op, "scalar_y_unknown_rank", x, y[1], known_shapes="rank"),
        case(op, "scalar_x", x[1], y),
        case(op, "empty", x[:0], y[:0]),
    ]


MODULO = np.array([7.3, -7.3, 0.4, -0.4, 5.0]), np.array([2.0, 2.0, -0.3, 0.7, 1.5])


def _modulo(op: str) -> list[Case]:
    x, y = MODULO
    return [
        numeric(op, "numeric", x, y),
        numeric(op, "outer", x, y[:, None], known_shapes="rank"),
        numeric(op, "scalar_x", x[1], y, known_shapes=True),
        numeric(op, "empty", x[:0], y[:0]),
        numeric(op, "float", *floats(x, y), step=1e-2, tolerance=1e-3),
    ]


# With 0 where the op has its singular point.
TIMES = np.array([0.0, 0.5, 2.0, -1.5, 0.0])
LOG_OF = np.array([0.0, 0.3, 1.0, 2.0, 4.0])
DIVISOR = np.array([0.0, 0.3, -1.0, 2.0, 4.0])


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
        case(op, "float_known_shape", *floats(y, dy), known_shapes=True),
        case(op, "unknown_rank", y, dy, known_shapes="rank"),
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
    *_broadcasting("Xlogy", TIMES, LOG_OF[::-1].copy()),
    *_broadcasting("Xlog1py", TIMES, LOG_OF),
    *_broadcasting("Xdivy", TIMES, DIVISOR[::-1].copy()),
    *_broadcasting("MulNoNan", TIMES, DIVISOR[::-1].copy()),
    *each("Xlogy Xlog1py Xdivy MulNoNan", _singular),
    absolute("complex128", WITH_ZERO),
    absolute(
        "complex64_known_shape", WITH_ZERO.astype(np.complex64), Tout=tf.float32, known_shapes=True
    ),
    absolute("matrix_unknown_rank", complex_normal(2, 3), known_shapes="rank"),
    numeric("ComplexAbs", "numeric", complex_normal(3), Tout=tf.float64),
    absolute("empty", WITH_ZERO[:0]),
    *each("InvGrad ReciprocalGrad SqrtGrad RsqrtGrad SigmoidGrad TanhGrad", _gradients),
]
