# SPDX-License-Identifier: Apache-2.0
"""Special functions."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case

raw = tf.raw_ops
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}

REAL = np.array([-7.5, -3.0, -1.0, -0.3, -1e-3, 1e-3, 0.4, 1.0, 2.5, 9.0])
POSITIVE = np.array([1e-3, 0.1, 0.5, 0.9, 1.1, 2.0, 3.7, 8.0, 20.0])
# No poles: those are at 0, -1, -2, ...
BETWEEN_POLES = np.array([-3.7, -1.2, -0.5, 0.3, 1.0, 2.5, 10.0])


def _unary(op: str) -> Callable[..., Any]:
    return lambda x: getattr(raw, op)(x=x)


def _unary_cases(op: str, x: np.ndarray) -> list[Case]:
    build = _unary(op)
    matrix = x[: 2 * (x.size // 2)].reshape(2, -1)
    return [
        Case(op, "double", build, [x]),
        Case(
            op,
            "float_known_shape",
            build,
            [x.astype(np.float32)],
            known_shapes=True,
            tolerance=5e-4,
        ),
        Case(op, "matrix_unknown_rank", build, [matrix], known_shapes="rank"),
        Case(op, "empty", build, [x[:0]]),
        Case(op, "numeric", build, [matrix[:, 2:]], reference="numeric", second_order="numeric"),
    ]


def _at(op: str, name: str, *values: float, **options: Any) -> Case:
    """At singular points, where only central differences know better."""
    options = {"reference": "numeric", "second_order": None, **options}
    return Case(op, name, _unary(op), [np.array(values)], **options)


UNARY = [
    *_unary_cases("Erfc", REAL),
    *_unary_cases("Dawsn", REAL),
    *_unary_cases("Expint", POSITIVE),
    *_unary_cases("FresnelCos", REAL),
    *_unary_cases("FresnelSin", REAL),
    *_unary_cases("Spence", POSITIVE),
    *_unary_cases("Digamma", BETWEEN_POLES),
    *(
        case
        for op in ("J0", "J1", "I0", "I0e", "I1", "I1e")
        for case in _unary_cases(f"Bessel{op}", REAL)
    ),
    *(
        case
        for op in ("Y0", "Y1", "K0", "K0e", "K1", "K1e")
        for case in _unary_cases(f"Bessel{op}", POSITIVE[1:])
    ),
    _at("Spence", "one", 1.0, 0.5, reference="python"),
    _at("Spence", "one_twice", 1.0, second_order="numeric"),
    # Python gives BesselI1 the derivative 1 at 0; it is 1/2.
    _at("BesselI1", "zero", 0.0, 1.0, second_order="numeric"),
    _at("BesselI1e", "zero", 0.0, 1.0),
    _at("BesselJ1", "zero", 0.0, 1.0, second_order="numeric"),
    _at("BesselI0", "zero", 0.0, second_order="numeric"),
    _at("BesselJ0", "zero", 0.0, second_order="numeric"),
    _at("BesselI0e", "zero", 0.0, reference="python"),
    _at("BesselK1", "zero", 0.0, 1.0, reference="python"),
    _at("BesselY1", "zero", 0.0, 1.0, reference="python"),
    _at("BesselK1e", "zero", 0.0, 1.0, reference="python"),
    _at("Expint", "zero", 0.0, 1.0, reference="python"),
    Case("Erfc", "half", _unary("Erfc"), [REAL.astype(np.float16)]),
    Case("Erfc", "bfloat16", _unary("Erfc"), [REAL.astype(ml_dtypes.bfloat16)]),
]


def _polygamma(n: Any, x: Any) -> Any:
    return raw.Polygamma(a=n, x=x)


def _zeta(x: Any, q: Any) -> Any:
    return raw.Zeta(x=x, q=q)


ORDERS = np.array([0.0, 1.0, 2.0, 5.0])
ROW = np.array([0.3, 1.0, 2.5, 7.0])
COLUMN = np.array([[0.7], [1.4], [4.0]])


def _float(*values: np.ndarray) -> list[np.ndarray]:
    return [value.astype(np.float32) for value in values]


GAMMA = [
    Case("Polygamma", "double", _polygamma, [ORDERS, ROW]),
    Case("Polygamma", "float_known_shape", _polygamma, _float(ORDERS, ROW), known_shapes=True),
    Case("Polygamma", "x_broadcast", _polygamma, [ORDERS, COLUMN]),
    Case("Polygamma", "n_broadcast", _polygamma, [np.array(1.0), ROW]),
    Case("Polygamma", "unknown_rank", _polygamma, [ORDERS, COLUMN], known_shapes="rank"),
    Case("Polygamma", "empty", _polygamma, [ORDERS[:0], ROW[:0]]),
    # Python has no gradient by x.
    Case("Zeta", "by_q", _zeta, [ROW + 1.5, ROW], wrt=[1]),
    *(
        Case("Zeta", name, _zeta, inputs, **{**NUMERIC, **more})
        for name, inputs, more in (
            ("double", [ROW + 1.5, ROW], {}),
            ("near_one", [np.array([1.01, 1.1]), np.array([0.1, 30.0])], {}),
            ("large", [np.array([40.0, 3.0, 60.0]), np.array([2.0, 1e3, 50.0])], {}),
            ("q_broadcast", [COLUMN + 1.5, ROW], {}),
            ("scalar_q", [ROW + 1.5, np.array(0.8)], {}),
            ("scalar_x_unknown_rank", [np.array(2.2), ROW], {"known_shapes": "rank"}),
            (
                "float_known_shape",
                _float(ROW + 1.5, ROW),
                {"known_shapes": True, "step": 1e-2, "tolerance": 1e-2},
            ),
        )
    ),
]

CASES = UNARY + GAMMA
