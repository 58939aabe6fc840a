"""Gradients of quantization, and of dequantization by the range or the scales.

Those of quantization are straight-through estimates, which differences of the op cannot give.
Python has none of dequantization, whose results are (almost) linear in the range.
"""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal, single
from rows import call, case, floats, numeric
from tensorflow.python.framework import op_def_registry

# ---- Fake quantization

# Values below, at and above the bounds of the ranges used here.
VALUES = np.array([-9, -6.1, -6, -2, -1, -0.3, 0, 0.2, 0.99, 1, 2, 6, 6.1, 9.0])
FLOATS = VALUES.astype(np.float32)
# Values away from the bounds, for differences.
APART = np.array([-9, -5, -1.8, -0.7, -0.3, 0.2, 0.7, 1.6, 5, 9.0], np.float32)
PAIRS = APART.reshape(5, 2)
# Python treats the gradients as constants; they are linear in the upstream ones.
ROUGH = {"step": 1e-2, "tolerance": 2e-3}
TWICE: dict[str, Any] = {"second_order": "numeric", **ROUGH}

of_args = functools.partial(case, "FakeQuantWithMinMaxArgs", second_order=None)


def of_vars(name: str, low: float, high: float, x: np.ndarray = FLOATS, **more: Any) -> Case:
    bounds = np.float32(low), np.float32(high)
    return case("FakeQuantWithMinMaxVars", name, x, *bounds, **{"second_order": None, **more})


def per_channel(name: str, x: np.ndarray, **more: Any) -> Case:
    bounds = (np.linspace(sign, sign * 2.2, x.shape[-1], dtype=np.float32) for sign in (-1, 1))
    op, how = "FakeQuantWithMinMaxVarsPerChannel", {"second_order": None, **more}
    return case(op, name, x.astype(np.float32), *bounds, **how)


def of_gradient(op: str, *bounds: Any) -> list[Case]:
    """The gradient as a separate op, by its upstream gradient."""
    how = {**dict(zip(("min", "max"), bounds, strict=False)), "wrt": [0], **TWICE}
    row = functools.partial(case, op, reference="numeric", **how)
    return [
        row("default", single(5, 2), PAIRS),
        row("narrow", single(5, 2), PAIRS, narrow_range=True),
        row("bits", single(5, 2), PAIRS, num_bits=4),
    ]


FAKE = [
    of_args("default", FLOATS),
    of_args("range", FLOATS, min=-1.0, max=2.0),
    of_args("bits_narrow", FLOATS, min=-2.0, max=1.0, num_bits=4, narrow_range=True),
    of_args("empty", np.zeros([0, 3], np.float32)),
    of_args("twice", APART, min=-1.0, max=2.0, **TWICE),
    of_vars("range", -1.0, 2.0),
    of_vars("bits_narrow", -2.0, 1.0, num_bits=4, narrow_range=True),
    of_vars("positive_range", 0.5, 2.0),
    of_vars("zero_range", 0.0, 0.0),
    of_vars("matrix", -1.0, 2.0, FLOATS.reshape(7, 2)),
    of_vars("twice", -1.0, 2.0, PAIRS, **TWICE),
    of_vars("twice_positive_range", 0.5, 2.0, APART, **TWICE),
    per_channel("vector", normal(3) * 2),
    per_channel("matrix", normal(4, 3) * 2),
    per_channel("images_narrow", normal(2, 3, 2, 4) * 2, num_bits=5, narrow_range=True),
    per_channel("twice", PAIRS, **TWICE),
    *of_gradient("FakeQuantWithMinMaxArgsGradient"),
    *of_gradient("FakeQuantWithMinMaxVarsGradient", np.float32(-1), np.float32(2)),
    *of_gradient(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        *floats(np.array([-1.2, -1.4]), np.array([1.3, 2.0])),
    ),
]

# ---- Quantization and back


def v2(name: str, dtype: Any = np.float64, **how: Any) -> Case:
    bounds = np.array(-6.0, dtype), np.array(6.0, dtype)
    x = VALUES.reshape(7, 2).astype(dtype)
    return case("QuantizeAndDequantizeV2", name, x, *bounds, **how)


def v4_grad(
    name: str, low: Any = -1.0, high: Any = 1.0, dtype: Any = np.float64, **more: Any
) -> Case:
    """By the upstream gradient, because the derivative by the values is zero. Python fails."""
    inputs = (normal(7, 2), VALUES.reshape(7, 2), np.array(low), np.array(high))
    how = {"wrt": [0], "then": lambda by_x, *_: by_x, **more}
    op = "QuantizeAndDequantizeV4Grad"
    return numeric(op, name, *(value.astype(dtype) for value in inputs), **how)


def _gradient_of_v4(x: Any, dy: Any) -> Any:
    y = call("QuantizeAndDequantizeV4", x, np.float64(-1.5), np.float64(1.5), range_given=True)
    return tf.gradients(y, x, dy)[0]


AND_BACK = [
    v2("range_found"),
    v2("range_given", range_given=True),
    v2("unsigned_half_up", signed_input=False, round_mode="HALF_UP"),
    v2("narrow_float", np.float32, narrow_range=True, num_bits=4),
    v4_grad("scalar_range"),
    v4_grad("float", dtype=np.float32, **ROUGH),
    v4_grad("per_channel", [-1.5, -0.5], [1.0, 3.0], axis=1),
    v4_grad("first_axis", np.full(7, -1.5), np.full(7, 2.5), axis=0),
    numeric("QuantizeAndDequantizeV4Grad", "of_v4", VALUES, normal(14), build=_gradient_of_v4),
]

# ---- Dequantization. Numbers of steps are whole, except for changes of the range that are too
# small to matter in single precision.


def stored(integers: Any) -> Any:
    steps = np.arange(-118, 121, 18).reshape(2, 7)
    if np.dtype(integers).kind == "u":
        steps -= steps.min()
    quantized = tf.dtypes.as_dtype(f"q{np.dtype(integers).name}")
    return tf.bitcast(tf.constant(steps.astype(integers)), quantized)


def of_range(
    name: str, low: Any = -1.5, high: Any = 2.0, integers: Any = np.int8, **more: Any
) -> Case:
    def build(low: Any, high: Any, **how: Any) -> Any:
        return call("Dequantize", stored(integers), low, high, **how)

    bounds = np.asarray(low, np.float32), np.asarray(high, np.float32)
    how = {"dtype": tf.float32, "step": 0.05, "tolerance": 1e-3, **more}
    return numeric("Dequantize", name, *bounds, build=build, **how)


def of_scales(name: str, scales: Any, zeros: Any, integers: Any = np.int8, **more: Any) -> Case:
    def build(scales: Any, **how: Any) -> Any:
        return call("UniformDequantize", stored(integers), scales, **how)

    return numeric(
        "UniformDequantize",
        name,
        np.asarray(scales, np.float32),
        build=build,
        zero_points=np.asarray(zeros, np.int32),
        Tout=tf.float32,
        quantization_axis=np.ndim(zeros) - 1 + (np.size(zeros) > 2),
        quantization_min_val=np.iinfo(integers).min,
        quantization_max_val=np.iinfo(integers).max,
        step=0.05,
        tolerance=1e-3,
        **more,
    )


def unsigned() -> list[Case]:
    """A case for the versions of TensorFlow whose op takes this type."""
    types = op_def_registry.get("UniformDequantize").attr[0].allowed_values.list.type
    if tf.quint8.as_datatype_enum not in types:
        return []
    return [of_scales("unsigned", 0.3, 130, np.uint8, static="all")]


LOWS, HIGHS = -1 - np.arange(7) / 8, 2 + np.arange(7) / 4
ROWS = [-1.5, -2], [2.0, 1.0]
scaled = functools.partial(of_range, mode="SCALED")
first = functools.partial(of_range, mode="MIN_FIRST", step=1e-3)
DEQUANTIZATION = [
    of_range("signed"),
    of_range("unsigned", integers=np.uint8),
    of_range("short", integers=np.int16, static="all"),
    of_range("unsigned_short", integers=np.uint16),
    of_range("long", integers=np.int32),
    of_range("bfloat16", dtype=tf.bfloat16, step=0.5, tolerance=5e-2),
    of_range("columns", LOWS, HIGHS, axis=1),
    of_range("rows", *ROWS, np.uint8, axis=0),
    scaled("scaled_by_high"),
    scaled("scaled_by_low", -2.5, static="none"),
    scaled("scaled_narrow", -2.5, narrow_range=True),
    scaled("scaled_unsigned", integers=np.uint8),
    scaled("scaled_short", -2.5, integers=np.int16),
    scaled("scaled_long", -2.5, integers=np.int32),
    scaled("scaled_rows", *ROWS, axis=0),
    first("first", integers=np.uint8),
    first("first_signed"),
    of_scales("signed", 0.3, 3),
    *unsigned(),
    of_scales("long", 0.3, -2, np.int32, static="none"),
    of_scales("rows", [0.3, 0.7], [3, -4]),
    of_scales("columns", 0.3 + np.arange(7) / 8, np.arange(7)),
]

CASES = [*FAKE, *AND_BACK, *DEQUANTIZATION]
