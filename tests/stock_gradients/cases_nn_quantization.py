# SPDX-License-Identifier: Apache-2.0
"""Gradients of quantization.

They are straight-through estimates: no differences of the op would give them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

# Below, at and above the bounds of the ranges used here.
VALUES = np.array([-9, -6.1, -6, -2, -1, -0.3, 0, 0.2, 0.99, 1, 2, 6, 6.1, 9.0])
FLOATS = VALUES.astype(np.float32)


# Away from the bounds, for differences.
APART = np.array([-9, -5, -1.8, -0.7, -0.3, 0.2, 0.7, 1.6, 5, 9.0], np.float32)
# Python takes the gradients for constants; they are linear in the upstream ones.
TWICE: dict[str, Any] = {"second_order": "numeric", "step": 1e-2, "tolerance": 2e-3}
ONCE: dict[str, Any] = {"second_order": None}


def _args(
    name: str, x: np.ndarray = FLOATS, more: dict[str, Any] = ONCE, **attributes: Any
) -> Case:
    return Case(
        "FakeQuantWithMinMaxArgs",
        name,
        lambda x: raw.FakeQuantWithMinMaxArgs(inputs=x, **attributes),
        [x],
        **more,
    )


def _vars(
    name: str,
    low: float,
    high: float,
    x: np.ndarray = FLOATS,
    more: dict[str, Any] = ONCE,
    **attributes: Any,
) -> Case:
    return Case(
        "FakeQuantWithMinMaxVars",
        name,
        lambda x, low, high: raw.FakeQuantWithMinMaxVars(inputs=x, min=low, max=high, **attributes),
        [x, np.array(low, np.float32), np.array(high, np.float32)],
        **more,
    )


def _per_channel(name: str, x: np.ndarray, more: dict[str, Any] = ONCE, **attributes: Any) -> Case:
    channels = x.shape[-1]
    return Case(
        "FakeQuantWithMinMaxVarsPerChannel",
        name,
        lambda x, low, high: raw.FakeQuantWithMinMaxVarsPerChannel(
            inputs=x, min=low, max=high, **attributes
        ),
        [
            x.astype(np.float32),
            np.linspace(-1, -2.2, channels, dtype=np.float32),
            np.linspace(1, 2.2, channels, dtype=np.float32),
        ],
        **more,
    )


def _of_gradient(op: str, *bounds: np.ndarray, **attributes: Any) -> Callable[..., Any]:
    """The gradient as an op of its own, by its upstream gradient."""
    extra = dict(zip(("min", "max"), bounds, strict=False))
    return lambda dy, x: getattr(raw, op)(gradients=dy, inputs=x, **extra, **attributes)


def _v2(
    name: str, dtype: Any = np.float64, bounds: tuple[Any, Any] = (-6.0, 6.0), **attributes: Any
) -> Case:
    return Case(
        "QuantizeAndDequantizeV2",
        name,
        lambda x, low, high: raw.QuantizeAndDequantizeV2(
            input=x, input_min=low, input_max=high, **attributes
        ),
        [VALUES.reshape(7, 2).astype(dtype), *(np.array(b, dtype) for b in bounds)],
    )


def _v4_grad(
    name: str, dtype: Any = np.float64, bounds: tuple[Any, Any] = (-1.0, 1.0), **attributes: Any
) -> Case:
    """Python fails here (TypeError): central differences instead.

    By the upstream gradient: by the values the derivative is zero.
    """
    dtype = np.dtype(dtype)
    more: dict[str, Any] = {} if dtype == np.float64 else {"step": 1e-2, "tolerance": 2e-3}
    return Case(
        "QuantizeAndDequantizeV4Grad",
        name,
        lambda dy, x, low, high: raw.QuantizeAndDequantizeV4Grad(
            gradients=dy, input=x, input_min=low, input_max=high, **attributes
        )[0],
        [
            normal(7, 2, dtype=dtype),
            VALUES.reshape(7, 2).astype(dtype),
            *(np.array(b, dtype) for b in bounds),
        ],
        wrt=[0],
        reference="numeric",
        second_order="numeric",
        **more,
    )


CASES = [
    _args("default"),
    _args("range", min=-1.0, max=2.0),
    _args("bits_narrow", min=-2.0, max=1.0, num_bits=4, narrow_range=True),
    _args("empty", x=np.zeros([0, 3], np.float32)),
    _args("twice", APART, TWICE, min=-1.0, max=2.0),
    _vars("range", -1.0, 2.0),
    _vars("bits_narrow", -2.0, 1.0, num_bits=4, narrow_range=True),
    _vars("positive_range", 0.5, 2.0),
    _vars("zero_range", 0.0, 0.0),
    _vars("matrix", -1.0, 2.0, x=FLOATS.reshape(7, 2)),
    _vars("twice", -1.0, 2.0, APART.reshape(5, 2), TWICE),
    _vars("twice_positive_range", 0.5, 2.0, APART, TWICE),
    _per_channel("vector", normal(3) * 2),
    _per_channel("matrix", normal(4, 3) * 2),
    _per_channel("images_narrow", normal(2, 3, 2, 4) * 2, num_bits=5, narrow_range=True),
    _per_channel("twice", APART.reshape(5, 2), TWICE),
    *(
        Case(
            op,
            name,
            _of_gradient(op, *bounds, **attributes),
            [normal(5, 2, dtype=np.float32), APART.reshape(5, 2)],
            wrt=[0],
            reference="numeric",
            **TWICE,
        )
        for op, bounds in (
            ("FakeQuantWithMinMaxArgsGradient", ()),
            ("FakeQuantWithMinMaxVarsGradient", np.array([-1, 2], np.float32)),
            (
                "FakeQuantWithMinMaxVarsPerChannelGradient",
                np.array([[-1.2, -1.4], [1.3, 2.0]], np.float32),
            ),
        )
        for name, attributes in (
            ("default", {}),
            ("narrow", {"narrow_range": True}),
            ("bits", {"num_bits": 4}),
        )
    ),
    _v2("range_found"),
    _v2("range_given", range_given=True),
    _v2("unsigned_half_up", signed_input=False, round_mode="HALF_UP"),
    _v2("narrow_float", np.float32, narrow_range=True, num_bits=4),
    _v4_grad("scalar_range"),
    _v4_grad("float", np.float32),
    _v4_grad("per_channel", bounds=([-1.5, -0.5], [1.0, 3.0]), axis=1),
    _v4_grad("first_axis", bounds=(np.full(7, -1.5), np.full(7, 2.5)), axis=0),
    Case(
        "QuantizeAndDequantizeV4Grad",
        "of_v4",
        lambda x, dy: tf.gradients(
            raw.QuantizeAndDequantizeV4(
                input=x, input_min=np.float64(-1.5), input_max=np.float64(1.5), range_given=True
            ),
            x,
            dy,
        )[0],
        [VALUES, normal(14)],
        reference="numeric",
        second_order="numeric",
    ),
]
