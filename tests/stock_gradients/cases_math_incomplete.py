# SPDX-License-Identifier: Apache-2.0
"""The incomplete gamma and beta functions and their derivatives by parameters."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case

raw = tf.raw_ops
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
SINGLE: dict[str, Any] = {"step": 1e-2, "tolerance": 1e-2}

ROW = np.array([0.3, 1.0, 2.5, 7.0])
BACK = ROW[::-1].copy()
COLUMN = np.array([[0.7], [1.4], [4.0]])
UNIT = np.array([0.05, 0.3, 0.6, 0.97])
# Of parameters of all sizes, quantiles on both sides of the mean.
SHAPES = np.array([0.02, 0.02, 0.5, 0.5, 1.0, 20.0, 20.0, 300.0, 300.0])
POINTS = np.array([0.001, 0.3, 0.05, 2.0, 1.0, 12.0, 31.0, 280.0, 330.0])


def _float(*values: np.ndarray) -> list[np.ndarray]:
    return [value.astype(np.float32) for value in values]


def _binary(op: str, first: str, second: str) -> Callable[..., Any]:
    return lambda a, x: getattr(raw, op)(**{first: a, second: x})


def _gamma() -> Iterator[Case]:
    for op in ("Igamma", "Igammac"):
        build = _binary(op, "a", "x")
        # By a, Python's derivative has no derivative.
        yield Case(op, "as_python", build, [ROW, BACK], second_order=None)
        yield Case(op, "by_x", build, [ROW, BACK], wrt=[1])
        yield Case(
            op, "float_known_shape", build, _float(ROW, ROW), second_order=None, known_shapes=True
        )
        yield Case(
            op,
            "large",
            build,
            [np.array([200.0, 180.0]), np.array([180.0, 200.0])],
            second_order=None,
        )
        yield Case(
            op, "zero_x", build, [np.array([1.5, 2.0]), np.zeros(2)], wrt=[1], second_order=None
        )
    for op, first, second in (
        ("Igamma", "a", "x"),
        ("Igammac", "a", "x"),
        ("IgammaGradA", "a", "x"),
        ("RandomGammaGrad", "alpha", "sample"),
    ):
        build = _binary(op, first, second)
        for name, inputs, more in (
            ("double", [ROW, BACK], {}),
            ("all_sizes", [SHAPES, POINTS], {"step": 1e-6, "tolerance": 2e-4}),
            ("equal", [ROW, ROW], {"known_shapes": True}),
            ("a_broadcast", [ROW, COLUMN], {}),
            ("scalar_a", [np.array(2.0), COLUMN], {"known_shapes": "rank"}),
            ("scalar_x", [COLUMN, np.array(1.2)], {}),
            ("empty", [ROW[:0], ROW[:0]], {}),
            ("float", _float(BACK + 1, ROW + 1), SINGLE),
        ):
            yield Case(op, name, build, inputs, **{**NUMERIC, **more})
    yield Case(
        "IgammaGradA",
        "zero_x",
        _binary("IgammaGradA", "a", "x"),
        [np.array([1.5, 2.0]), np.zeros(2)],
        wrt=[0],
        **NUMERIC,
    )


def _betainc(a: Any, b: Any, x: Any) -> Any:
    return raw.Betainc(a=a, b=b, x=x)


def _beta() -> Iterator[Case]:
    op = "Betainc"
    # Python has no gradient by a and b.
    yield Case(op, "as_python", _betainc, [ROW, BACK, UNIT], wrt=[2])
    ends = [
        np.array([1.0, 2.0, 3.0, 1.0]),
        np.array([2.0, 1.0, 3.0, 1.0]),
        np.array([0.0, 1.0, 0.0, 1.0]),
    ]
    yield Case(op, "ends", _betainc, ends, wrt=[2], second_order=None)
    yield Case(
        op,
        "parameters_at_the_ends",
        _betainc,
        ends,
        wrt=[0, 1],
        reference="numeric",
        second_order=None,
    )
    for name, inputs, more in (
        ("double", [ROW, BACK, UNIT], {}),
        ("equal_parameters", [ROW, ROW, UNIT], {"known_shapes": True}),
        (
            "all_sizes",
            [
                np.array([0.05, 0.05, 0.5, 30.0, 30.0, 200.0, 0.3]),
                np.array([0.05, 8.0, 0.5, 50.0, 50.0, 0.5, 90.0]),
                np.array([0.4, 0.01, 0.9, 0.32, 0.44, 0.99, 0.02]),
            ],
            {"step": 1e-6, "tolerance": 2e-4},
        ),
        ("scalar_x", [ROW, BACK, np.array(0.3)], {}),
        ("scalar_parameters", [np.array(2.0), np.array(0.5), UNIT], {"known_shapes": "rank"}),
        ("matrix", [COLUMN, COLUMN + 1, UNIT[:3, None]], {}),
        ("empty", [ROW[:0], ROW[:0], UNIT[:0]], {}),
        ("float", _float(ROW + 1, BACK + 1, UNIT[::-1] / 2 + 0.2), SINGLE),
    ):
        yield Case(op, name, _betainc, inputs, **{**NUMERIC, **more})


CASES = [*_gamma(), *_beta()]
