# SPDX-License-Identifier: Apache-2.0
"""Gradients of dequantization by the range or the scales.

Python has none. Results are linear in these, or nearly so.
"""

from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from tensorflow.python.framework import op_def_registry

raw = tf.raw_ops

STEPS = np.arange(-118, 121, 18).reshape(2, 7)


def _dequantize(
    name: str,
    low: Any,
    high: Any,
    integers: Any = np.int8,
    dtype: Any = tf.float32,
    more: Any = None,
    **how: Any,
) -> Case:
    quantized = tf.dtypes.as_dtype(f"q{np.dtype(integers).name}")
    values = STEPS - STEPS.min() if np.dtype(integers).kind == "u" else STEPS

    def build(low: Any, high: Any) -> Any:
        stored = tf.bitcast(tf.constant(values.astype(integers)), quantized)
        return raw.Dequantize(input=stored, min_range=low, max_range=high, dtype=dtype, **how)

    return Case(
        "Dequantize",
        name,
        build,
        [np.asarray(low, np.float32), np.asarray(high, np.float32)],
        **{
            "reference": "numeric",
            "second_order": "numeric",
            "step": 0.05,
            "tolerance": 1e-3,
            **(more or {}),
        },
    )


def _uniform(name: str, scales: Any, zeros: Any, integers: Any = np.int8, **more: Any) -> Case:
    quantized = tf.dtypes.as_dtype(f"q{np.dtype(integers).name}")
    limits = np.iinfo(integers)
    values = STEPS - STEPS.min() if np.dtype(integers).kind == "u" else STEPS

    def build(scales: Any) -> Any:
        stored = tf.bitcast(tf.constant(values.astype(integers)), quantized)
        return raw.UniformDequantize(
            input=stored,
            scales=scales,
            zero_points=np.asarray(zeros, np.int32),
            Tout=tf.float32,
            quantization_axis=np.ndim(zeros) - 1 + (np.size(zeros) > 2),
            quantization_min_val=limits.min,
            quantization_max_val=limits.max,
        )

    return Case(
        "UniformDequantize",
        name,
        build,
        [np.asarray(scales, np.float32)],
        **{
            "reference": "numeric",
            "second_order": "numeric",
            "step": 0.05,
            "tolerance": 1e-3,
            **more,
        },
    )


COLUMNS: Any = (-1 - np.arange(7) / 8, 2 + np.arange(7) / 4)
SCALED: dict[str, Any] = {"mode": "SCALED"}


# Numbers of steps are whole but for changes of the range that are too small to
# differ in single precision.
def _unsigned() -> list[Case]:
    """Of the versions of TensorFlow whose op takes it."""
    types = op_def_registry.get("UniformDequantize").attr[0].allowed_values.list.type
    if tf.quint8.as_datatype_enum not in types:
        return []
    return [_uniform("unsigned", 0.3, 130, np.uint8, known_shapes=True)]


CASES = [
    _dequantize("signed", -1.5, 2.0),
    _dequantize("unsigned", -1.5, 2.0, np.uint8),
    _dequantize("short", -1.5, 2.0, np.int16, more={"known_shapes": True}),
    _dequantize("unsigned_short", -1.5, 2.0, np.uint16),
    _dequantize("long", -1.5, 2.0, np.int32),
    _dequantize("bfloat16", -1.5, 2.0, dtype=tf.bfloat16, more={"step": 0.5, "tolerance": 5e-2}),
    _dequantize("columns", *COLUMNS, axis=1),
    _dequantize("rows", [-1.5, -2], [2.0, 1.0], np.uint8, axis=0),
    _dequantize("scaled_by_high", -1.5, 2.0, **SCALED),
    _dequantize("scaled_by_low", -2.5, 2.0, **SCALED, more={"known_shapes": "rank"}),
    _dequantize("scaled_narrow", -2.5, 2.0, **SCALED, narrow_range=True),
    _dequantize("scaled_unsigned", -1.5, 2.0, np.uint8, **SCALED),
    _dequantize("scaled_short", -2.5, 2.0, np.int16, **SCALED),
    _dequantize("scaled_long", -2.5, 2.0, np.int32, **SCALED),
    _dequantize("scaled_rows", [-1.5, -2], [2.0, 1.0], **SCALED, axis=0),
    _dequantize("first", -1.5, 2.0, np.uint8, mode="MIN_FIRST", more={"step": 1e-3}),
    _dequantize("first_signed", -1.5, 2.0, mode="MIN_FIRST", more={"step": 1e-3}),
    _uniform("signed", 0.3, 3),
    *_unsigned(),
    _uniform("long", 0.3, -2, np.int32, known_shapes="rank"),
    _uniform("rows", [0.3, 0.7], [3, -4]),
    _uniform("columns", 0.3 + np.arange(7) / 8, np.arange(7)),
]
