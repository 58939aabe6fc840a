# SPDX-License-Identifier: Apache-2.0
"""Gradients of conversions from HSV and of adjustments of colours.

Python has none of them.
"""

import colorsys
import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

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
GRAY = np.array([[[0.4, 0.4, 0.4], [0.9, 0.9, 0.9]]], np.float32)


def _numeric(op: str, name: str, build: Callable[..., Any], *inputs: Any, **more: Any) -> Case:
    return Case(
        op, name, build, inputs, **{"reference": "numeric", "second_order": "numeric", **more}
    )


def _rgb(name: str, hsv: np.ndarray, **more: Any) -> Case:
    return _numeric("HSVToRGB", name, lambda x: raw.HSVToRGB(images=x), hsv, **more)


def _adjust(op: str, argument: str) -> Callable[..., Case]:
    """Cases of an op of images and a number."""

    def one(name: str, number: float, images: np.ndarray = IMAGES, **more: Any) -> Case:
        return _numeric(
            op,
            name,
            lambda x, n: getattr(raw, op)(images=x, **{argument: n}),
            images,
            np.float32(number),
            **{**SINGLE, **more},
        )

    return one


def _along_gray(op: str, name: str, **number: float) -> Case:
    """Gray pixels stay gray: there only brightness has a derivative."""
    return _numeric(
        op,
        name,
        lambda v: getattr(raw, op)(images=tf.tile(v, [1, 1, 3]), **number),
        GRAY[..., :1],
        second_order=None,
        **SINGLE,
    )


def _old_contrast(name: str, images: np.ndarray, ends: tuple[float, float], **more: Any) -> Case:
    def build(x: Any, factor: Any, low: Any, high: Any) -> Any:
        # The op is of graphs older than version 2.
        tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": 1}))
        return raw.AdjustContrast(images=x, contrast_factor=factor, min_value=low, max_value=high)

    numbers = (np.float32(number) for number in (1.5, *ends))
    return _numeric("AdjustContrast", name, build, images, *numbers, **{**SINGLE, **more})


_hue = _adjust("AdjustHue", "delta")
_saturation = _adjust("AdjustSaturation", "scale")
_contrast = _adjust("AdjustContrastv2", "contrast_factor")
VOLUME = normal(2, 3, 4, 2).astype(np.float32)

CASES = [
    _rgb("images", HSV.reshape(2, 4, 6, 3)),
    _rgb("pixel", HSV[5]),
    _rgb("float", HSV[::5].astype(np.float32), **SINGLE),
    _rgb("half", HSV[::7].astype(np.float16), step=2**-6, tolerance=6e-2),
    _rgb(
        "bfloat16",
        HSV[::7].astype(ml_dtypes.bfloat16),
        step=2**-6,
        tolerance=0.3,
        second_order=None,
    ),
    _rgb("beyond_the_circle", np.add(HSV[::6], [1.0, 0, 0])),
    _rgb("empty", HSV[:0]),
    _rgb("known_shapes", HSV[::6], known_shapes=True),
    _rgb("unknown_rank", HSV[::6], known_shapes="rank"),
    _hue("forward", 0.1),
    _hue("backward", -0.3),
    _hue("around", 2.4, known_shapes=True),
    _hue("batches", 0.1, IMAGES[:, None], known_shapes="rank"),
    _hue("empty", 0.1, IMAGES[:0]),
    _along_gray("AdjustHue", "gray", delta=0.1),
    _saturation("less", 0.7),
    _saturation("clipped", 1.5),
    _saturation("to_gray", -0.5),
    _saturation("unknown_rank", 1.5, known_shapes="rank"),
    _saturation("image", 1.5, IMAGES[0], known_shapes=True),
    _saturation("empty", 0.7, IMAGES[:0]),
    _saturation("not_positive", 0.7, -IMAGES[:, :1]),
    _along_gray("AdjustSaturation", "gray", scale=1.5),
    _contrast("images", 1.5),
    _contrast("channels", 0.3, VOLUME),
    _contrast("image", -2.0, VOLUME[0], known_shapes=True),
    _contrast("batches", 1.5, VOLUME[:, None], known_shapes="rank"),
    _contrast("empty", 1.5, VOLUME[:0]),
    _old_contrast("wide", VOLUME, (-9.0, 9.0)),
    _old_contrast("clipped", VOLUME, (-0.597, 1.095)),
    _old_contrast("double", VOLUME.astype(np.float64), (-0.597, 1.095)),
    _old_contrast("unknown_rank", VOLUME, (-0.597, 1.095), known_shapes="rank"),
    _old_contrast(
        "whole_numbers",
        np.arange(24, dtype=np.int32).reshape(2, 3, 4, 1),
        (3.2, 18.3),
        wrt=[1, 2, 3],
    ),
]
