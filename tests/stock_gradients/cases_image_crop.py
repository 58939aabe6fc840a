# SPDX-License-Identifier: Apache-2.0
"""Gradients by the boxes of crops, by drawn boxes' colours and by glimpses.

Python has none of them. Values are spread so that the differences of single
precision are good for three digits.
"""

from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
# Within the image, turned over, partly outside.
BOXES = np.array(
    [[0.13, 0.22, 0.83, 0.92], [0.07, 0.9, 0.93, 0.13], [-0.3, 0.3, 0.63, 1.4]], np.float32
)
BOX_INDEX = np.array([1, 0, 1], np.int32)


def _by_boxes(
    name: str,
    size: tuple[int, int] = (3, 4),
    dtype: Any = np.float32,
    boxes: np.ndarray = BOXES,
    **more: Any,
) -> Case:
    def build(grads: Any, image: Any, boxes: Any) -> Any:
        index = tf.constant(BOX_INDEX)[: tf.shape(boxes)[0]]
        return raw.CropAndResizeGradBoxes(grads=grads, image=image, boxes=boxes, box_ind=index)

    inputs = [
        normal(len(boxes), *size, 2, dtype=np.float32),
        normal(2, 6, 5, 2).astype(dtype),
        boxes,
    ]
    return Case(
        "CropAndResizeGradBoxes",
        name,
        build,
        inputs,
        **{**NUMERIC, "step": 4e-3, "tolerance": 5e-3, **more},
    )


def _crops(name: str, method: str, dtype: Any = np.float32) -> Case:
    """To second order by the image and by the boxes, from the forward op on."""
    return Case(
        "CropAndResizeGradBoxes",
        name,
        lambda image, boxes: [
            raw.CropAndResize(
                image=image, boxes=boxes, box_ind=BOX_INDEX, crop_size=[3, 4], method=method
            ),
            raw.CropAndResizeGradBoxes(
                grads=np.ones([3, 3, 4, 2], np.float32), image=image, boxes=boxes, box_ind=BOX_INDEX
            ),
        ],
        [normal(2, 6, 5, 2).astype(dtype), BOXES],
        **{**NUMERIC, "step": 4e-3, "tolerance": 5e-3},
    )


# Within, over the border, one over another, inverted, outside.
DRAWN = np.array(
    [
        [[0.1, 0.1, 0.6, 0.7], [0.3, 0.2, 0.9, 0.5], [-0.2, 0.4, 0.5, 1.3]],
        [[0.2, 0.3, 0.8, 0.8], [0.9, 0.9, 0.1, 0.1], [1.2, 0.1, 1.5, 0.3]],
    ],
    np.float32,
)


def _drawn(name: str, channels: int = 3, dtype: Any = np.float32, **more: Any) -> Case:
    return Case(
        "DrawBoundingBoxes",
        name,
        lambda images: raw.DrawBoundingBoxes(images=images, boxes=DRAWN),
        [normal(2, 8, 7, channels).astype(dtype)],
        **{**NUMERIC, "step": 1.0, "tolerance": 1e-3, **more},
    )


def _coloured(
    name: str,
    colors: tuple[int, int],
    channels: int = 3,
    dtype: Any = np.float32,
    boxes: np.ndarray = DRAWN,
    **more: Any,
) -> Case:
    return Case(
        "DrawBoundingBoxesV2",
        name,
        lambda images, colors: raw.DrawBoundingBoxesV2(images=images, boxes=boxes, colors=colors),
        [normal(2, 8, 7, channels).astype(dtype), normal(*colors, dtype=np.float32)],
        **{**NUMERIC, "step": 1.0, "tolerance": 1e-3, **more},
    )


OFFSETS = np.array([[0.1, -0.4], [-0.7, 0.3]], np.float32)


def _glimpses(op: str) -> list[Case]:
    def one(
        name: str,
        size: tuple[int, int] = (3, 4),
        offsets: np.ndarray = OFFSETS,
        settings: Any = None,
        **how: Any,
    ) -> Case:
        how = {"noise": "zero", "uniform_noise": False, **how}
        return Case(
            op,
            name,
            lambda x: getattr(raw, op)(input=x, size=size, offsets=tf.constant(offsets), **how),
            [normal(2, 6, 5, 3, dtype=np.float32)],
            **{**NUMERIC, "step": 1.0, "tolerance": 1e-3, **(settings or {})},
        )

    # Where no part is outside, there is no noise.
    near = OFFSETS / 8
    return [
        one("over_the_border"),
        one("larger", (9, 4), settings={"known_shapes": True}),
        one("corner", normalized=True, centered=False, offsets=OFFSETS + 0.5),
        one("in_pixels", normalized=False, offsets=OFFSETS * 4),
        one("corner_in_pixels", normalized=False, centered=False, offsets=OFFSETS * 5),
        one("far_outside", offsets=OFFSETS * 9),
        one("uniform", offsets=near, noise="uniform"),
        one("gaussian", offsets=near, noise="gaussian"),
        one("by_flag", offsets=near, noise="", uniform_noise=True),
        one("unknown_rank", settings={"known_shapes": "rank"}),
        one("nothing", (0, 4)),
    ]


CASES = [
    _by_boxes("samples"),
    _by_boxes("one_row", (1, 3)),
    _by_boxes("one_column", (2, 1)),
    _by_boxes("double", dtype=np.float64),
    _by_boxes("half", dtype=np.float16, wrt=[0, 2]),
    _by_boxes("whole_numbers", dtype=np.int32, wrt=[0, 2]),
    _by_boxes("known_shapes", known_shapes=True),
    _by_boxes("unknown_rank", known_shapes="rank"),
    _by_boxes("no_boxes", boxes=BOXES[:0]),
    _crops("from_crops", "bilinear"),
    _crops("from_crops_double", "bilinear", np.float64),
    _drawn("colour"),
    _drawn("grey", 1),
    _drawn("transparent", 4, known_shapes=True),
    _drawn("half", dtype=np.float16, tolerance=1e-2),
    _drawn("unknown_rank", known_shapes="rank"),
    _coloured("each", (3, 3)),
    _coloured("repeated", (2, 3), known_shapes=True),
    _coloured("more_channels", (4, 5)),
    _coloured("grey", (2, 1), 1),
    _coloured("transparent", (2, 4), 4, known_shapes="rank"),
    _coloured("none", (0, 3)),
    _coloured("no_boxes", (2, 3), boxes=DRAWN[:, :0]),
    _coloured("half", (3, 3), dtype=np.float16, tolerance=1e-2),
    *_glimpses("ExtractGlimpse"),
    *_glimpses("ExtractGlimpseV2"),
]
