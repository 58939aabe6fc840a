# SPDX-License-Identifier: Apache-2.0
"""Gradients of image ops by images, and of projective transforms by all inputs."""

import functools
from typing import Any

import ml_dtypes
import numpy as np
from parity import Case
from random_values import distinct, normal, single
from rows import case, each, numeric


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
    hsv("known_shapes", _colours(2, 3), known_shapes=True),
    hsv("orders_and_ties", SPECIAL[:13]),
    # Second order: Python's own first order is taken there, which is not that of
    # a channel at 0.
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
        # A shift by whole pixels is a permutation: here the gradient by the
        # inverse transform is exact.
        warp("shift_numeric", SHIFT, reference="numeric", second_order="numeric"),
    ]


# Of 4 rows and 6 columns these read no pixel near the border between two.
TURNED = [0.573, -0.509, 1.066, 0.585, 0.977, -0.366, 0.015, -0.012]
SEEN = [1.076, -0.045, -0.608, 0.047, 1.002, 0.364, 0.016, -0.009]


def _moves(op: str) -> list[Case]:
    """By what Python has no gradient by: the transforms and the value that fills up."""

    def move(name: str, images: np.ndarray, *transforms: list[float], **more: Any) -> Case:
        fill = [np.array(0.5, np.float32)] if op.endswith("V3") else []
        maps = np.array(transforms, np.float32)
        how = {"interpolation": "BILINEAR", "step": 4e-3, "tolerance": 2e-2, **more}
        by = list(range(1, 2 + len(fill)))
        # By the images the gradient is not that of differences.
        size = {"output_shape": [4, 6], "wrt": by}
        return numeric(op, f"by_{name}", images, maps, *fill, **size, **how)

    images = single(2, 5, 6, 2)
    return [
        move("one_transform", images, TURNED),
        move("transforms", images, TURNED, SEEN, known_shapes=True),
        move("reflected", images, TURNED, SEEN, fill_mode="REFLECT"),
        move("wrapped", images, TURNED, SEEN, fill_mode="WRAP"),
        move("nearest_filled", images, TURNED, SEEN, fill_mode="NEAREST"),
        move("double", normal(2, 5, 6, 2), SEEN, known_shapes="rank"),
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
        known_shapes=True,
    ),
]
