# SPDX-License-Identifier: Apache-2.0
"""Gradients of grayscale dilation and of its gradients."""

from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import distinct, normal

raw = tf.raw_ops

WINDOWS: dict[str, dict[str, Any]] = {
    "valid": {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"},
    "same_strided": {"strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"},
    "dilated": {"strides": [1, 1, 2, 1], "rates": [1, 2, 1, 1], "padding": "VALID"},
    "same_dilated": {"strides": [1, 1, 2, 1], "rates": [1, 2, 3, 1], "padding": "SAME"},
}


def _inputs(dtype: Any) -> list[np.ndarray]:
    """An image and a filter, off the multiples of 1/8 so that no sums are equal."""
    return [
        # NumPy 2.0 makes bfloat16 less an integer a float.
        (distinct(2, 6, 5, 2, dtype=dtype) - 9).astype(dtype),
        (normal(3, 2, 2) / 3).astype(dtype),
    ]


def _forward(name: str, dtype: Any = np.float64, **more: Any) -> Case:
    def build(x: Any, f: Any) -> Any:
        return raw.Dilation2D(input=x, filter=f, **WINDOWS[name])

    # Python has no second order.
    return Case(
        "Dilation2D",
        f"{name}_{np.dtype(dtype).name}",
        build,
        _inputs(dtype),
        **{"second_order": "numeric", **more},
    )


def _gradient(op: str, name: str, dtype: Any = np.float64, **more: Any) -> Case:
    inputs = _inputs(dtype)
    with tf.Graph().as_default():
        x, f = (tf.zeros(value.shape) for value in inputs)
        shape = raw.Dilation2D(input=x, filter=f, **WINDOWS[name]).shape

    def build(x: Any, f: Any, dy: Any) -> Any:
        return getattr(raw, op)(input=x, filter=f, out_backprop=dy, **WINDOWS[name])

    return Case(
        op,
        f"{name}_{np.dtype(dtype).name}",
        build,
        [*inputs, normal(*shape).astype(dtype)],
        **{
            "wrt": [2],
            "reference": "numeric",
            "second_order": "numeric",
            "step": 1e-5 if dtype == np.float64 else 1.0,
            **more,
        },
    )


def _gradients(op: str) -> list[Case]:
    return [
        *(_gradient(op, name) for name in WINDOWS),
        _gradient(op, "valid", np.float32, known_shapes=True),
        _gradient(op, "same_strided", np.float32, known_shapes="rank"),
        _gradient(op, "valid", np.float16),
        _gradient(op, "dilated", ml_dtypes.bfloat16),
        # Where the winners are does not move.
        Case(
            op,
            "by_all",
            lambda x, f, dy: getattr(raw, op)(
                input=x, filter=f, out_backprop=dy, **WINDOWS["valid"]
            ),
            [*_inputs(np.float64), normal(2, 4, 4, 2)],
            reference="numeric",
            second_order="numeric",
        ),
    ]


CASES = [
    _forward("valid"),
    _forward("same_strided"),
    _forward("dilated", np.float32, second_order=None),
    _forward("same_dilated"),
    _forward("valid", np.float32, step=1.0, second_order=None, known_shapes=True),
    Case(
        "Dilation2D",
        "numeric",
        lambda x, f: raw.Dilation2D(input=x, filter=f, **WINDOWS["same_strided"]),
        _inputs(np.float64),
        reference="numeric",
        second_order="numeric",
        known_shapes="rank",
    ),
    *_gradients("Dilation2DBackpropInput"),
    *_gradients("Dilation2DBackpropFilter"),
]
