# SPDX-License-Identifier: Apache-2.0
"""Gradients of conversions from HSV and of adjustments of colours.

Python has none of them.
"""

import colorsys
import functools
import itertools
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import single
from rows import call, numeric

# A hue in the first and the second half of each sixth of the circle, pale and
# strong, dark and bright.
HSV = np.array(
    [
        (hue / 12 + (0.03 if hue % 2 else 0.02), saturation, value)
        for hue, saturation, value in itertools.product(range(12), (0.3, 0.8), (0.5, 0.9))
    ]
)
RGB = np.array([colorsys.hsv_to_rgb(*pixel) for pixel in HSV])
IMAGES = RGB.reshape(2, 4, 6, 3).astype(np.float32)
# Differences in single precision.
SINGLE: dict[str, Any] = {"step": 5e-3, "tolerance": 5e-3}


def _adjust(op: str, name: str, number: float, images: np.ndarray = IMAGES, **more: Any) -> Case:
    """An op of images and a number."""
    return numeric(op, name, images, np.float32(number), **SINGLE, **more)


def _along_gray(op: str, **number: float) -> Case:
    """Gray pixels stay gray: there only brightness has a derivative."""
    gray = np.array([[[0.4], [0.9]]], np.float32)

    def build(v: Any, **number: float) -> Any:
        return call(op, tf.tile(v, [1, 1, 3]), **number)

    return numeric(op, "gray", gray, build=build, second_order=None, **number, **SINGLE)


def _of_version_1(*inputs: Any) -> Any:
    # The op is of graphs older than version 2.
    tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": 1}))
    return call("AdjustContrast", *inputs)


def _old_contrast(name: str, images: np.ndarray, low: float, high: float, **more: Any) -> Case:
    numbers = (np.float32(number) for number in (1.5, low, high))
    return numeric("AdjustContrast", name, images, *numbers, build=_of_version_1, **SINGLE, **more)


rgb = functools.partial(numeric, "HSVToRGB")
hue = functools.partial(_adjust, "AdjustHue")
saturation = functools.partial(_adjust, "AdjustSaturation")
contrast = functools.partial(_adjust, "AdjustContrastv2")
VOLUME = single(2, 3, 4, 2)
BFLOAT16 = HSV[::7].astype(ml_dtypes.bfloat16)
NUMBERS = np.arange(24, dtype=np.int32).reshape(2, 3, 4, 1)

CASES = [
    rgb("images", HSV.reshape(2, 4, 6, 3)),
    rgb("pixel", HSV[5]),
    rgb("float", HSV[::5].astype(np.float32), **SINGLE),
    rgb("half", HSV[::7].astype(np.float16), step=2**-6, tolerance=6e-2),
    rgb("bfloat16", BFLOAT16, step=2**-6, tolerance=0.3, second_order=None),
    rgb("beyond_the_circle", np.add(HSV[::6], [1.0, 0, 0])),
    rgb("empty", HSV[:0]),
    rgb("known_shapes", HSV[::6], known_shapes=True),
    rgb("unknown_rank", HSV[::6], known_shapes="rank"),
    hue("forward", 0.1),
    hue("backward", -0.3),
    hue("around", 2.4, known_shapes=True),
    hue("batches", 0.1, IMAGES[:, None], known_shapes="rank"),
    hue("empty", 0.1, IMAGES[:0]),
    _along_gray("AdjustHue", delta=0.1),
    saturation("less", 0.7),
    saturation("clipped", 1.5),
    saturation("to_gray", -0.5),
    saturation("unknown_rank", 1.5, known_shapes="rank"),
    saturation("image", 1.5, IMAGES[0], known_shapes=True),
    saturation("empty", 0.7, IMAGES[:0]),
    saturation("not_positive", 0.7, -IMAGES[:, :1]),
    _along_gray("AdjustSaturation", scale=1.5),
    contrast("images", 1.5),
    contrast("channels", 0.3, VOLUME),
    contrast("image", -2.0, VOLUME[0], known_shapes=True),
    contrast("batches", 1.5, VOLUME[:, None], known_shapes="rank"),
    contrast("empty", 1.5, VOLUME[:0]),
    _old_contrast("wide", VOLUME, -9.0, 9.0),
    _old_contrast("clipped", VOLUME, -0.597, 1.095),
    _old_contrast("double", VOLUME.astype(np.float64), -0.597, 1.095),
    _old_contrast("unknown_rank", VOLUME, -0.597, 1.095, known_shapes="rank"),
    _old_contrast("whole_numbers", NUMBERS, 3.2, 18.3, wrt=[1, 2, 3]),
]
