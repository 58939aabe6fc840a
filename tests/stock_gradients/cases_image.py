# SPDX-License-Identifier: Apache-2.0
"""Gradients of image ops."""

from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import distinct, normal

raw = tf.raw_ops


def _colours(*shape: int, seed: int = 0) -> np.ndarray:
    """Pixels with three different channels in (0, 1), well apart."""
    values = distinct(*shape, 3, seed=seed)
    return (values - values.min() + 1) / (values.max() - values.min() + 2)


# Each order of the channels, pairs of equal ones, gray, black, pure colours.
SPECIAL = np.array(
    [
        [0.9, 0.5, 0.1],
        [0.9, 0.1, 0.5],
        [0.5, 0.9, 0.1],
        [0.1, 0.9, 0.5],
        [0.5, 0.1, 0.9],
        [0.1, 0.5, 0.9],
        [0.7, 0.7, 0.2],
        [0.7, 0.2, 0.7],
        [0.2, 0.7, 0.7],
        [0.7, 0.2, 0.2],
        [0.2, 0.7, 0.2],
        [0.2, 0.2, 0.7],
        [0.4, 0.4, 0.4],
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.6, 0.0, 0.3],
        [0.0, 0.6, 0.3],
        [0.3, 0.0, 0.6],
    ]
)


def _hsv(name: str, x: np.ndarray, **more: Any) -> Case:
    return Case("RGBToHSV", name, lambda x: raw.RGBToHSV(images=x), [x], **more)


# Maps of output pixels to input pixels: [a0, a1, a2, b0, b1, b2, c0, c1].
SHIFT = [1.0, 0.0, 1.0, 0.0, 1.0, -1.0, 0.0, 0.0]
ROTATE = [0.8, -0.6, 1.5, 0.6, 0.8, -0.5, 0.0, 0.0]
PROJECT = [1.1, 0.2, -0.5, -0.1, 0.9, 0.3, 0.02, -0.01]


def _warp(
    version: int,
    name: str,
    *transforms: list[float],
    dtype: Any = np.float64,
    size: tuple[int, int] = (5, 6),
    interpolation: str = "BILINEAR",
    reference: str = "python",
    **attributes: Any,
) -> Case:
    op = f"ImageProjectiveTransformV{version}"
    arguments = {
        "transforms": np.array(transforms, np.float32),
        "output_shape": size,
        "interpolation": interpolation,
        **attributes,
    }
    if version == 3:
        arguments.setdefault("fill_value", 0.5)
    # The op is linear, and computes in single precision.
    return Case(
        op,
        name,
        lambda x: getattr(raw, op)(images=x, **arguments),
        [normal(2, 5, 6, 2).astype(dtype)],
        reference=reference,
        second_order=reference,
        step=1.0,
    )


CASES = [
    _hsv("image", _colours(2, 3, 4)),
    _hsv("float", _colours(2, 5).astype(np.float32)),
    # In half precision Python's second order overflows.
    _hsv("half", _colours(2, 5).astype(np.float16), tolerance=5e-2, second_order=None),
    _hsv("bfloat16", _colours(2, 3).astype(ml_dtypes.bfloat16), second_order=None),
    _hsv("one_pixel", _colours()),
    _hsv("known_shapes", _colours(2, 3), known_shapes=True),
    _hsv("orders_and_ties", SPECIAL[:13]),
    # Second order: Python's own first order is taken there, which is not that of
    # a channel at 0.
    _hsv("zeros", SPECIAL[13:], second_order=None),
    _hsv("empty", _colours(2, 3)[:0]),
    _hsv("numeric", _colours(2, 3, seed=1), reference="numeric", second_order="numeric"),
    *(
        case
        for version in (2, 3)
        for case in (
            _warp(version, "shift", SHIFT),
            _warp(version, "rotate", ROTATE),
            _warp(version, "project_nearest", PROJECT, interpolation="NEAREST"),
            _warp(version, "one_each", ROTATE, PROJECT, dtype=np.float32),
            _warp(version, "to_larger", PROJECT, size=(7, 8)),
            _warp(version, "reflect", ROTATE, fill_mode="REFLECT"),
            _warp(version, "wrap_nearest", ROTATE, fill_mode="WRAP", interpolation="NEAREST"),
            _warp(version, "half", PROJECT, dtype=np.float16),
            # A shift by whole pixels is a permutation: here the gradient by the
            # inverse transform is exact.
            _warp(version, "shift_numeric", SHIFT, reference="numeric"),
        )
    ),
    _warp(3, "nearest_fill_mode", ROTATE, fill_mode="NEAREST"),
    Case(
        "ImageProjectiveTransformV2",
        "transforms_are_an_input",
        lambda x, t: raw.ImageProjectiveTransformV2(
            images=x, transforms=t, output_shape=[5, 6], interpolation="BILINEAR"
        ),
        [normal(1, 5, 6, 1), np.array([ROTATE], np.float32)],
        wrt=[0],
        known_shapes=True,
    ),
]
