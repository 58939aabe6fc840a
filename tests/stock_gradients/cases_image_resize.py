# SPDX-License-Identifier: Apache-2.0
"""Gradients of the ops that are gradients of resizing and cropping images.

Python has none of them. They are linear in the upstream gradients that they take:
the larger the step of the differences, the less rounding of single precision in them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

BOXES = np.array([[0.1, 0.2, 0.8, 0.9], [0.07, 0.9, 0.93, 0.13]], np.float32)
BOX_INDEX = np.array([1, 0], np.int32)
SCALE = np.array([1.5, 0.8], np.float32)
MOVE = np.array([0.3, -0.27], np.float32)


def linear(op: str, name: str, build: Callable[..., Any], *inputs: np.ndarray, **more: Any) -> Case:
    return Case(
        op,
        name,
        build,
        inputs,
        **{
            "wrt": [0],
            "reference": "numeric",
            "second_order": "numeric",
            "step": 1.0,
            "tolerance": 1e-4,
            **more,
        },
    )


def resized(kind: str) -> list[Case]:
    op = f"Resize{kind}Grad"

    def one(name: str, grads: np.ndarray, image: np.ndarray, more: Any = None, **how: bool) -> Case:
        def build(grads: Any, image: Any) -> Any:
            size = (
                {"size": tf.shape(image)[1:3]}
                if kind == "NearestNeighbor"
                else {"original_image": image}
            )
            return getattr(raw, op)(grads=grads, **size, **how)

        return linear(op, name, build, grads, image, **(more or {}))

    # Only of nearest neighbours both have one type.
    precise = np.float64 if kind == "NearestNeighbor" else np.float32
    grads, image = normal(2, 5, 3, 2), normal(2, 3, 4, 2)
    single, singles = grads.astype(np.float32), image.astype(np.float32)
    return [
        one("float", single, singles),
        one("double", grads.astype(precise), image),
        one("smaller", single, normal(2, 7, 6, 2, dtype=np.float32)),
        one("align_corners", single, singles, align_corners=True),
        one("half_pixel_centers", single, singles, half_pixel_centers=True),
        one("known_shapes", single, singles, {"known_shapes": True}),
        one("unknown_rank", single, singles, {"known_shapes": "rank"}),
        one("no_images", single[:0], singles[:0]),
    ]


def translated() -> list[Case]:
    """By the scale and the translation, too, of which Python's gradients are none."""

    def one(
        op: str,
        name: str,
        scale: np.ndarray = SCALE,
        dtype: Any = np.float32,
        more: Any = None,
        **how: Any,
    ) -> Case:
        def forward(image: Any, scale: Any, move: Any) -> Any:
            return raw.ScaleAndTranslate(
                images=image, size=[5, 3], scale=scale, translation=move, **how
            )

        def gradient(grads: Any, scale: Any, move: Any) -> Any:
            return raw.ScaleAndTranslateGrad(
                grads=grads,
                original_image=np.zeros([1, 3, 4, 2], np.float32),
                scale=scale,
                translation=move,
                **how,
            )

        is_forward = op == "ScaleAndTranslate"
        return linear(
            op,
            name,
            forward if is_forward else gradient,
            (normal(1, 3, 4, 2) if is_forward else normal(1, 5, 3, 2)).astype(dtype),
            scale,
            MOVE,
            **{"wrt": [0, 1, 2], "step": 4e-3, "tolerance": 1e-2, **(more or {})},
        )

    return [
        case
        for op in ("ScaleAndTranslate", "ScaleAndTranslateGrad")
        for case in (
            one(op, "lanczos1", kernel_type="lanczos1"),
            one(op, "lanczos3"),
            one(op, "lanczos5", kernel_type="lanczos5", more={"known_shapes": True}),
            one(op, "gaussian", kernel_type="gaussian"),
            one(op, "triangle", kernel_type="triangle"),
            one(op, "keyscubic", kernel_type="keyscubic"),
            one(op, "mitchellcubic", kernel_type="mitchellcubic"),
            one(op, "aliased", antialias=False, more={"known_shapes": "rank"}),
            one(op, "smaller", SCALE / 2),
            one(op, "by_image", more={"wrt": [0], "step": 1.0, "tolerance": 1e-4}),
            # No place has a derivative in a box.
            one(op, "by_box", kernel_type="box", more={"wrt": [0], "step": 1.0}),
        )
    ] + [
        one("ScaleAndTranslate", "double", dtype=np.float64),
        one("ScaleAndTranslate", "numbers", dtype=np.int32, more={"wrt": [1, 2]}),
    ]


def cropped() -> list[Case]:
    op = "CropAndResizeGradImage"

    def one(name: str, method: str, dtype: Any, **more: Any) -> Case:
        def build(grads: Any, boxes: Any) -> Any:
            return raw.CropAndResizeGradImage(
                grads=grads,
                boxes=boxes,
                box_ind=BOX_INDEX,
                image_size=[2, 4, 5, 2],
                T=dtype,
                method=method,
            )

        grads = normal(2, 3, 2, 2, dtype=np.float32)
        return linear(op, name, build, grads, BOXES, **more)

    return [
        one("bilinear", "bilinear", tf.float32),
        one("nearest", "nearest", tf.float32),
        one("double", "bilinear", tf.float64),
        one("by_boxes", "bilinear", tf.float64, wrt=[0, 1], step=4e-3, tolerance=5e-3),
    ]


def averaged() -> list[Case]:
    """ResizeArea, of which Python has no gradient either."""

    def one(
        name: str,
        size: tuple[int, int],
        image: np.ndarray,
        align_corners: bool = False,
        **more: Any,
    ) -> Case:
        return linear(
            "ResizeArea",
            name,
            lambda x: raw.ResizeArea(images=x, size=list(size), align_corners=align_corners),
            image,
            **more,
        )

    image = normal(2, 5, 6, 3, dtype=np.float32)
    return [
        one("smaller", (2, 4), image),
        one("larger", (7, 9), image),
        one("align_corners", (3, 4), image, True),
        one("larger_align_corners", (9, 7), image, True),
        one("one_pixel", (1, 1), image, known_shapes=True),
        one("two_channels", (2, 4), image[..., :2], known_shapes="rank"),
        one("double", (2, 4), image.astype(np.float64)),
        one("half", (2, 4), image.astype(np.float16), tolerance=2e-2),
        one("no_images", (2, 4), image[:0]),
    ]


CASES = [
    *averaged(),
    *resized("Bicubic"),
    *resized("Bilinear"),
    *resized("NearestNeighbor"),
    *translated(),
    *cropped(),
]
