# SPDX-License-Identifier: Apache-2.0
"""Gradients by the boxes of crops, by drawn boxes' colours and by glimpses.

Python has none of them. Values are spread so that the differences of single
precision are good for three digits.
"""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal, single
from rows import call, each, ints, numeric

# Within the image, turned over, partly outside.
BOXES = np.array(
    [[0.13, 0.22, 0.83, 0.92], [0.07, 0.9, 0.93, 0.13], [-0.3, 0.3, 0.63, 1.4]], np.float32
)
BOX_INDEX = ints(1, 0, 1)
IMAGE = normal(2, 6, 5, 2)

by_boxes = functools.partial(numeric, "CropAndResizeGradBoxes", step=4e-3, tolerance=5e-3)


def _by_boxes(
    name: str, size: tuple[int, int] = (3, 4), image: Any = np.float32, count: int = 3, **more: Any
) -> Case:
    def build(grads: Any, image: Any, boxes: Any) -> Any:
        index = tf.constant(BOX_INDEX)[: tf.shape(boxes)[0]]
        return call("CropAndResizeGradBoxes", grads, image, boxes, index)

    grads = single(count, *size, 2)
    return by_boxes(name, grads, IMAGE.astype(image), BOXES[:count], build=build, **more)


def _crops(image: Any, boxes: Any) -> list[Any]:
    """To second order by the image and by the boxes, from the forward op on."""
    grads = np.ones([3, 3, 4, 2], np.float32)
    return [
        call("CropAndResize", image, boxes, BOX_INDEX, crop_size=[3, 4], method="bilinear"),
        call("CropAndResizeGradBoxes", grads, image, boxes, BOX_INDEX),
    ]


# Within, over the border, one over another, inverted, outside.
DRAWN = np.array(
    [
        [[0.1, 0.1, 0.6, 0.7], [0.3, 0.2, 0.9, 0.5], [-0.2, 0.4, 0.5, 1.3]],
        [[0.2, 0.3, 0.8, 0.8], [0.9, 0.9, 0.1, 0.1], [1.2, 0.1, 1.5, 0.3]],
    ],
    np.float32,
)
LINEAR: dict[str, Any] = {"step": 1.0, "tolerance": 1e-3}
HALVES = normal(2, 8, 7, 3).astype(np.float16)
drawn = functools.partial(numeric, "DrawBoundingBoxes", boxes=DRAWN, **LINEAR)
coloured = functools.partial(numeric, "DrawBoundingBoxesV2", boxes=DRAWN, **LINEAR)

OFFSETS = np.array([[0.1, -0.4], [-0.7, 0.3]], np.float32)


def _glimpses(op: str) -> list[Case]:
    def one(
        name: str, size: tuple[int, int] = (3, 4), offsets: np.ndarray = OFFSETS, **more: Any
    ) -> Case:
        how = {"noise": "zero", "uniform_noise": False, **LINEAR, **more}
        return numeric(op, name, single(2, 6, 5, 3), size=size, offsets=offsets, **how)

    # Where no part is outside, there is no noise.
    near = OFFSETS / 8
    return [
        one("over_the_border"),
        one("larger", (9, 4), known_shapes=True),
        one("corner", normalized=True, centered=False, offsets=OFFSETS + 0.5),
        one("in_pixels", normalized=False, offsets=OFFSETS * 4),
        one("corner_in_pixels", normalized=False, centered=False, offsets=OFFSETS * 5),
        one("far_outside", offsets=OFFSETS * 9),
        one("uniform", offsets=near, noise="uniform"),
        one("gaussian", offsets=near, noise="gaussian"),
        one("by_flag", offsets=near, noise="", uniform_noise=True),
        one("unknown_rank", known_shapes="rank"),
        one("nothing", (0, 4)),
    ]


CASES = [
    _by_boxes("samples"),
    _by_boxes("one_row", (1, 3)),
    _by_boxes("one_column", (2, 1)),
    _by_boxes("double", image=np.float64),
    _by_boxes("half", image=np.float16, wrt=[0, 2]),
    _by_boxes("whole_numbers", image=np.int32, wrt=[0, 2]),
    _by_boxes("known_shapes", known_shapes=True),
    _by_boxes("unknown_rank", known_shapes="rank"),
    _by_boxes("no_boxes", count=0),
    # Samples on the image's border, which count: no slope by the boxes there.
    numeric(
        "CropAndResizeGradBoxes",
        "to_the_border",
        *(single(1, 3, 4, 2), IMAGE[:1].astype(np.float32)),
        boxes=np.array([[0, 0, 1, 1]], np.float32),
        box_ind=[0],
        **LINEAR,
    ),
    by_boxes("from_crops", IMAGE.astype(np.float32), BOXES, build=_crops),
    by_boxes("from_crops_double", IMAGE, BOXES, build=_crops),
    drawn("colour", single(2, 8, 7, 3)),
    drawn("grey", single(2, 8, 7, 1)),
    drawn("transparent", single(2, 8, 7, 4), known_shapes=True),
    drawn("half", HALVES, tolerance=1e-2),
    drawn("unknown_rank", single(2, 8, 7, 3), known_shapes="rank"),
    coloured("each", single(2, 8, 7, 3), single(3, 3)),
    coloured("repeated", single(2, 8, 7, 3), single(2, 3), known_shapes=True),
    coloured("more_channels", single(2, 8, 7, 3), single(4, 5)),
    coloured("grey", single(2, 8, 7, 1), single(2, 1)),
    coloured("transparent", single(2, 8, 7, 4), single(2, 4), known_shapes="rank"),
    coloured("none", single(2, 8, 7, 3), single(0, 3)),
    coloured("no_boxes", single(2, 8, 7, 3), single(2, 3), boxes=DRAWN[:, :0]),
    coloured("half", HALVES, single(3, 3), tolerance=1e-2),
    *each("ExtractGlimpse ExtractGlimpseV2", _glimpses),
]
