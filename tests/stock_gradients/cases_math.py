# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic: rounding, division, logarithms, complex numbers."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


def _float(*values: np.ndarray) -> list[np.ndarray]:
    return [value.astype(np.float32) for value in values]


# ---- Piecewise constant.


def _rounding() -> list[Case]:
    x = np.array([-1.5, -1.0, -0.2, 0.0, 0.5, 1.0, 2.7])
    cases = []
    for op in ("Ceil", "Floor", "Rint", "Round"):

        def build(x: Any, op: str = op) -> Any:
            return getattr(raw, op)(x=x)

        def product(x: Any, op: str = op) -> Any:
            return x * x * getattr(raw, op)(x=x)

        cases += [
            Case(op, "double", build, [x], no_gradient=True),
            Case(op, "float_known_shape", build, _float(x), no_gradient=True, known_shapes=True),
            Case(op, "in_a_product", product, [x]),
        ]
    for op in ("FloorDiv", "TruncateDiv"):

        def divide(x: Any, y: Any, op: str = op) -> Any:
            if op == "FloorDiv":
                return raw.FloorDiv(x=x, y=y)
            # Its kernels take integers.
            to_integer = [tf.cast(value, tf.int32) for value in (x, y)]
            quotient = raw.TruncateDiv(x=to_integer[0], y=to_integer[1])
            return tf.cast(quotient, tf.float64)

        def times(x: Any, y: Any, op: str = op) -> Any:
            return x * y * divide(x, y, op)

        x, y = np.array([7.0, -7.0, 8.0, 3.0]), np.array([2.0, 2.0, -3.0, 3.0])
        cases += [
            Case(op, "in_a_product", times, [x, y]),
            Case(op, "broadcast_in_a_product", times, [x, y[:1]]),
            Case(op, "known_shapes_in_a_product", times, [x, y], known_shapes=True),
        ]
        if op == "FloorDiv":
            cases.append(Case(op, "double", divide, [x, y], no_gradient=True))
    for op in ("ArgMax", "ArgMin"):

        def pick(x: Any, op: str = op) -> Any:
            index = getattr(raw, op)(input=x, dimension=1)
            return x * tf.cast(index, x.dtype)[:, tf.newaxis]

        cases += [
            Case(op, "in_a_product", pick, [normal(3, 4)]),
            Case(
                op, "float_known_shape", pick, [normal(3, 4, dtype=np.float32)], known_shapes=True
            ),
            Case(op, "one_column", pick, [normal(3, 1)]),
        ]
    return cases


# ---- Elementwise.


def _binary(op: str, first: str = "x", second: str = "y") -> Callable[..., Any]:
    return lambda x, y: getattr(raw, op)(**{first: x, second: y})


def _broadcasting(op: str, x: np.ndarray, y: np.ndarray, *names: str) -> list[Case]:
    """`x` and `y` are vectors of equal length."""
    build = _binary(op, *names)
    return [
        Case(op, "double", build, [x, y]),
        Case(op, "float_known_shape", build, _float(x, y), known_shapes=True),
        Case(op, "x_broadcast", build, [x, np.stack([y, y[::-1]])]),
        Case(op, "y_broadcast", build, [np.stack([x, x[::-1]])[:, None], y]),
        Case(op, "outer", build, [x, y[:, None]]),
        Case(op, "scalar_y_unknown_rank", build, [x, y[1]], known_shapes="rank"),
        Case(op, "scalar_x", build, [x[1], y]),
        Case(op, "empty", build, [x[:0], y[:0]]),
    ]


# With 0 where the op has its singular point.
TIMES = np.array([0.0, 0.5, 2.0, -1.5, 0.0])
LOG_OF = np.array([0.0, 0.3, 1.0, 2.0, 4.0])
DIVISOR = np.array([0.0, 0.3, -1.0, 2.0, 4.0])


def _elementwise() -> list[Case]:
    x = np.array([7.3, -7.3, 0.4, -0.4, 5.0])
    y = np.array([2.0, 2.0, -0.3, 0.7, 1.5])
    z = complex_normal(7)
    z[2] = 0

    def absolute(x: Any) -> Any:
        out = tf.float32 if x.dtype == tf.complex64 else tf.float64
        return raw.ComplexAbs(x=x, Tout=out)

    return [
        *_broadcasting("FloorMod", x, y),
        Case(
            "FloorMod",
            "numeric",
            _binary("FloorMod"),
            [x, y],
            reference="numeric",
            second_order="numeric",
        ),
        Case(
            "FloorMod",
            "bfloat16",
            _binary("FloorMod"),
            [v.astype(ml_dtypes.bfloat16) for v in (x, y)],
        ),
        *(
            Case(op, name, _binary(op), inputs, reference="numeric", second_order="numeric", **more)
            for op in ("Mod", "TruncateMod")
            for name, inputs, more in (
                ("numeric", [x, y], {}),
                ("outer", [x, y[:, None]], {"known_shapes": "rank"}),
                ("scalar_x", [x[1], y], {"known_shapes": True}),
                ("empty", [x[:0], y[:0]], {}),
                ("float", _float(x, y), {"step": 1e-2, "tolerance": 1e-3}),
            )
        ),
        *_broadcasting("NextAfter", x, y, "x1", "x2"),
        *_broadcasting("Xlogy", TIMES, LOG_OF[::-1].copy()),
        *_broadcasting("Xlog1py", TIMES, LOG_OF),
        *_broadcasting("Xdivy", TIMES, DIVISOR[::-1].copy()),
        *_broadcasting("MulNoNan", TIMES, DIVISOR[::-1].copy()),
        *(
            Case(
                op,
                "numeric",
                _binary(op),
                [TIMES[1:4], LOG_OF[1:4]],
                reference="numeric",
                second_order="numeric",
            )
            for op in ("Xlogy", "Xlog1py", "Xdivy", "MulNoNan")
        ),
        *(
            Case(
                op,
                "complex",
                _binary(op),
                [complex_normal(4), complex_normal(4, seed=5)],
                reference="numeric",
                second_order="numeric",
            )
            for op in ("Xlogy", "Xlog1py", "Xdivy", "MulNoNan")
        ),
        Case("ComplexAbs", "complex128", absolute, [z]),
        Case(
            "ComplexAbs",
            "complex64_known_shape",
            absolute,
            [z.astype(np.complex64)],
            known_shapes=True,
        ),
        Case(
            "ComplexAbs",
            "matrix_unknown_rank",
            absolute,
            [complex_normal(2, 3)],
            known_shapes="rank",
        ),
        Case(
            "ComplexAbs",
            "numeric",
            absolute,
            [complex_normal(3)],
            reference="numeric",
            second_order="numeric",
        ),
        Case("ComplexAbs", "empty", absolute, [z[:0]]),
    ]


def _gradients_of_gradients() -> list[Case]:
    cases = []
    for op in ("InvGrad", "ReciprocalGrad", "SqrtGrad", "RsqrtGrad", "SigmoidGrad", "TanhGrad"):
        build = _binary(op, "y", "dy")
        y, dy = normal(2, 3), normal(2, 3, seed=1)
        z, dz = complex_normal(4), complex_normal(4, seed=5)
        cases += [
            Case(op, "double", build, [y, dy]),
            Case(op, "float_known_shape", build, _float(y, dy), known_shapes=True),
            Case(op, "unknown_rank", build, [y, dy], known_shapes="rank"),
            Case(op, "half", build, [v.clip(0.5, 2).astype(np.float16) for v in (y, dy)]),
            Case(
                op, "bfloat16", build, [v.clip(0.5, 2).astype(ml_dtypes.bfloat16) for v in (y, dy)]
            ),
            Case(op, "empty", build, [y[:, :0], dy[:, :0]]),
            Case(op, "complex128", build, [z, dz]),
            Case(op, "complex64", build, [z.astype(np.complex64), dz.astype(np.complex64)]),
            Case(op, "numeric", build, [y[0], dy[0]], reference="numeric", second_order="numeric"),
            Case(
                op, "complex_numeric", build, [z, dz], reference="numeric", second_order="numeric"
            ),
        ]
    return cases


CASES = [*_rounding(), *_elementwise(), *_gradients_of_gradients()]
