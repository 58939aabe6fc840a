"""Colours and projective transforms of images, by all inputs."""

import colorsys
import functools
import itertools
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from old_ops import of_version
from parity import Case
from random_values import distinct, normal, single
from rows import call, case, each, numeric


def _colours(*shape: int, seed: int = 0) -> np.ndarray:
    """Pixels with three different channels in (0, 1), well apart."""
    values = distinct(*shape, 3, seed=seed)
    return (values - values.min() + 1) / (values.max() - values.min() + 2)


# Each order of the channels, pairs of equal ones, gray, black, pure colours.
SPECIAL = np.fromstring(
    """
    .9 .5 .1  .9 .1 .5  .5 .9 .1  .1 .9 .5  .5 .1 .9  .1 .5 .9
    .7 .7 .2  .7 .2 .7  .2 .7 .7  .7 .2 .2  .2 .7 .2  .2 .2 .7  .4 .4 .4
     0  0  0   1  0  0   0  1  0   0  0  1  .6  0 .3   0 .6 .3  .3  0 .6
    """,
    sep=" ",
).reshape(-1, 3)
hsv = functools.partial(case, "RGBToHSV")
CASES = [
    hsv("image", _colours(2, 3, 4)),
    hsv("float", _colours(2, 5).astype(np.float32)),
    # In half precision Python's second order overflows.
    hsv("half", _colours(2, 5).astype(np.float16), tolerance=5e-2, second_order=None),
    hsv("bfloat16", _colours(2, 3).astype(ml_dtypes.bfloat16), second_order=None),
    hsv("one_pixel", _colours()),
    hsv("known_shapes", _colours(2, 3), static="all"),
    hsv("orders_and_ties", SPECIAL[:13]),
    # The second order is taken of Python's own first order, which differs for a channel at 0.
    hsv("zeros", SPECIAL[13:], second_order=None),
    hsv("empty", _colours(2, 3)[:0]),
    numeric("RGBToHSV", "numeric", _colours(2, 3, seed=1)),
]

# Maps of output pixels to input pixels: [a0, a1, a2, b0, b1, b2, c0, c1].
SHIFT = [1.0, 0.0, 1.0, 0.0, 1.0, -1.0, 0.0, 0.0]
ROTATE = [0.8, -0.6, 1.5, 0.6, 0.8, -0.5, 0.0, 0.0]
PROJECT = [1.1, 0.2, -0.5, -0.1, 0.9, 0.3, 0.02, -0.01]


def _warp(op: str, name: str, *transforms: list[float], dtype: Any = float, **more: Any) -> Case:
    """By the images: the op is linear, and computes in single precision."""
    fill = {"fill_value": 0.5} if op.endswith("V3") else {}
    how = {"output_shape": (5, 6), "interpolation": "BILINEAR", "step": 1.0, **fill, **more}
    maps = np.array(transforms, np.float32)
    return case(op, name, normal(2, 5, 6, 2).astype(dtype), transforms=maps, **how)


def _warps(op: str) -> list[Case]:
    warp = functools.partial(_warp, op)
    return [
        warp("shift", SHIFT),
        warp("rotate", ROTATE),
        warp("project_nearest", PROJECT, interpolation="NEAREST"),
        warp("one_each", ROTATE, PROJECT, dtype=np.float32),
        warp("to_larger", PROJECT, output_shape=(7, 8)),
        warp("reflect", ROTATE, fill_mode="REFLECT"),
        warp("wrap_nearest", ROTATE, fill_mode="WRAP", interpolation="NEAREST"),
        warp("half", PROJECT, dtype=np.float16),
        # A shift by whole pixels is a permutation, for which the gradient by the inverse transform
        # is exact.
        warp("shift_numeric", SHIFT, reference="numeric", second_order="numeric"),
    ]


# With 4 rows and 6 columns, these read no pixel near the border between two.
TURNED = [0.573, -0.509, 1.066, 0.585, 0.977, -0.366, 0.015, -0.012]
SEEN = [1.076, -0.045, -0.608, 0.047, 1.002, 0.364, 0.016, -0.009]


def _moves(op: str) -> list[Case]:
    """By inputs without a gradient in Python: the transforms and the fill value."""

    def move(name: str, images: np.ndarray, *transforms: list[float], **more: Any) -> Case:
        fill = [np.array(0.5, np.float32)] if op.endswith("V3") else []
        maps = np.array(transforms, np.float32)
        how = {"interpolation": "BILINEAR", "step": 4e-3, "tolerance": 2e-2, **more}
        by = list(range(1, 2 + len(fill)))
        # By the images, the gradient is not that of differences.
        size = {"output_shape": [4, 6], "wrt": by}
        return numeric(op, f"by_{name}", images, maps, *fill, **size, **how)

    images = single(2, 5, 6, 2)
    return [
        move("one_transform", images, TURNED),
        move("transforms", images, TURNED, SEEN, static="all"),
        move("reflected", images, TURNED, SEEN, fill_mode="REFLECT"),
        move("wrapped", images, TURNED, SEEN, fill_mode="WRAP"),
        move("nearest_filled", images, TURNED, SEEN, fill_mode="NEAREST"),
        move("double", normal(2, 5, 6, 2), SEEN, static="none"),
    ]


VERSIONS = "ImageProjectiveTransformV2 ImageProjectiveTransformV3"
CASES += [
    *each(VERSIONS, _warps),
    *each(VERSIONS, _moves),
    _warp("ImageProjectiveTransformV3", "nearest_fill_mode", ROTATE, fill_mode="NEAREST"),
    case(
        "ImageProjectiveTransformV2",
        "transforms_are_an_input",
        *(normal(1, 5, 6, 1), np.array([ROTATE], np.float32)),
        output_shape=[5, 6],
        interpolation="BILINEAR",
        wrt=[0],
        static="all",
    ),
]

# ---- Conversions from HSV and adjustments of colours. Python has no gradient of them.

# Hues in the first and the second half of each sixth of the circle, pale and strong, dark and
# bright.
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
    """Gray pixels stay gray, so only brightness has a derivative there."""
    gray = np.array([[[0.4], [0.9]]], np.float32)

    def build(v: Any, **number: float) -> Any:
        return call(op, tf.tile(v, [1, 1, 3]), **number)

    return numeric(op, "gray", gray, build=build, second_order=None, **number, **SINGLE)


def _old_contrast(name: str, images: np.ndarray, low: float, high: float, **more: Any) -> Case:
    """The op is of graphs older than version 2."""
    numbers = (np.float32(number) for number in (1.5, low, high))
    build = of_version(1, functools.partial(call, "AdjustContrast"))
    return numeric("AdjustContrast", name, images, *numbers, build=build, **SINGLE, **more)


rgb = functools.partial(numeric, "HSVToRGB")
hue = functools.partial(_adjust, "AdjustHue")
saturation = functools.partial(_adjust, "AdjustSaturation")
contrast = functools.partial(_adjust, "AdjustContrastv2")
VOLUME = single(2, 3, 4, 2)
BFLOAT16 = HSV[::7].astype(ml_dtypes.bfloat16)
NUMBERS = np.arange(24, dtype=np.int32).reshape(2, 3, 4, 1)

CASES += [
    rgb("images", HSV.reshape(2, 4, 6, 3)),
    rgb("pixel", HSV[5]),
    rgb("float", HSV[::5].astype(np.float32), **SINGLE),
    rgb("half", HSV[::7].astype(np.float16), step=2**-6, tolerance=6e-2),
    rgb("bfloat16", BFLOAT16, step=2**-6, tolerance=0.3, second_order=None),
    rgb("beyond_the_circle", np.add(HSV[::6], [1.0, 0, 0])),
    rgb("empty", HSV[:0]),
    rgb("known_shapes", HSV[::6], static="all"),
    rgb("unknown_rank", HSV[::6], static="none"),
    hue("forward", 0.1),
    hue("backward", -0.3),
    hue("around", 2.4, static="all"),
    hue("batches", 0.1, IMAGES[:, None], static="none"),
    hue("empty", 0.1, IMAGES[:0]),
    _along_gray("AdjustHue", delta=0.1),
    saturation("less", 0.7),
    saturation("clipped", 1.5),
    saturation("to_gray", -0.5),
    saturation("unknown_rank", 1.5, static="none"),
    saturation("image", 1.5, IMAGES[0], static="all"),
    saturation("empty", 0.7, IMAGES[:0]),
    saturation("not_positive", 0.7, -IMAGES[:, :1]),
    _along_gray("AdjustSaturation", scale=1.5),
    contrast("images", 1.5),
    contrast("channels", 0.3, VOLUME),
    contrast("image", -2.0, VOLUME[0], static="all"),
    contrast("batches", 1.5, VOLUME[:, None], static="none"),
    contrast("empty", 1.5, VOLUME[:0]),
    _old_contrast("wide", VOLUME, -9.0, 9.0),
    _old_contrast("clipped", VOLUME, -0.597, 1.095),
    _old_contrast("double", VOLUME.astype(np.float64), -0.597, 1.095),
    _old_contrast("unknown_rank", VOLUME, -0.597, 1.095, static="none"),
    _old_contrast("whole_numbers", NUMBERS, 3.2, 18.3, wrt=[1, 2, 3]),
]
