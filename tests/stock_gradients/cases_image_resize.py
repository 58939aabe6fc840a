# SPDX-License-Identifier: Apache-2.0
"""Gradients of the ops that are gradients of resizing and cropping images.

Python has none of them. They are linear in the upstream gradients that they take:
the larger the step of the differences, the less rounding of single precision in them.
"""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal, single
from rows import call, each, floats, ints, numeric

linear = functools.partial(numeric, wrt=[0], step=1.0, tolerance=1e-4)


def averaged() -> list[Case]:
    """ResizeArea, of which Python has no gradient either."""
    image = single(2, 5, 6, 3)
    area = functools.partial(linear, "ResizeArea", align_corners=False)
    return [
        area("smaller", image, size=[2, 4]),
        area("larger", image, size=[7, 9]),
        area("align_corners", image, size=[3, 4], align_corners=True),
        area("larger_align_corners", image, size=[9, 7], align_corners=True),
        area("one_pixel", image, size=[1, 1], known_shapes=True),
        area("two_channels", image[..., :2], size=[2, 4], known_shapes="rank"),
        area("double", image.astype(np.float64), size=[2, 4]),
        area("half", image.astype(np.float16), size=[2, 4], tolerance=2e-2),
        area("no_images", image[:0], size=[2, 4]),
    ]


def resized(op: str) -> list[Case]:
    by_size = "Nearest" in op

    def build(grads: Any, image: Any, **how: bool) -> Any:
        return call(op, grads, tf.shape(image)[1:3] if by_size else image, **how)

    row = functools.partial(linear, op, build=build)
    grads, image = normal(2, 5, 3, 2), normal(2, 3, 4, 2)
    singles = floats(grads, image)
    # Only of nearest neighbours both have one type.
    return [
        row("float", *singles),
        row("double", grads if by_size else singles[0], image),
        row("smaller", singles[0], single(2, 7, 6, 2)),
        row("align_corners", *singles, align_corners=True),
        row("half_pixel_centers", *singles, half_pixel_centers=True),
        row("known_shapes", *singles, known_shapes=True),
        row("unknown_rank", *singles, known_shapes="rank"),
        row("no_images", *(x[:0] for x in singles)),
    ]


SCALE = np.array([1.5, 0.8], np.float32)
MOVE = np.array([0.3, -0.27], np.float32)


def _scale(image: Any, scale: Any, move: Any, **how: Any) -> Any:
    return call("ScaleAndTranslate", image, [5, 3], scale, move, **how)


def _scale_back(grads: Any, scale: Any, move: Any, **how: Any) -> Any:
    image = np.zeros([1, 3, 4, 2], np.float32)
    return call("ScaleAndTranslateGrad", grads, image, scale, move, **how)


# By the scale and the translation, too, of which Python's gradients are none.
scaled = functools.partial(linear, wrt=[0, 1, 2], step=4e-3, tolerance=1e-2)


def translated(op: str) -> list[Case]:
    build: Any = _scale_back if op.endswith("Grad") else _scale
    image = single(1, 3, 4, 2) if build is _scale else single(1, 5, 3, 2)

    def row(name: str, kernel: str = "lanczos3", scale: np.ndarray = SCALE, **more: Any) -> Case:
        return scaled(op, name, image, scale, MOVE, build=build, kernel_type=kernel, **more)

    return [
        row("lanczos1", "lanczos1"),
        row("lanczos3"),
        row("lanczos5", "lanczos5", known_shapes=True),
        *(row(kernel, kernel) for kernel in ("gaussian", "triangle", "keyscubic", "mitchellcubic")),
        row("aliased", antialias=False, known_shapes="rank"),
        row("smaller", scale=SCALE / 2),
        row("by_image", wrt=[0], step=1.0, tolerance=1e-4),
        # No place has a derivative in a box.
        row("by_box", "box", wrt=[0], step=1.0),
    ]


forward = functools.partial(scaled, "ScaleAndTranslate", build=_scale)
crop = functools.partial(
    linear, "CropAndResizeGradImage", box_ind=ints(1, 0), image_size=[2, 4, 5, 2], method="bilinear"
)
CROPS = [single(2, 3, 2, 2), np.array([[0.1, 0.2, 0.8, 0.9], [0.07, 0.9, 0.93, 0.13]], np.float32)]
CASES = [
    *averaged(),
    *each("ResizeBicubicGrad ResizeBilinearGrad ResizeNearestNeighborGrad", resized),
    *each("ScaleAndTranslate ScaleAndTranslateGrad", translated),
    forward("double", normal(1, 3, 4, 2), SCALE, MOVE),
    forward("numbers", normal(1, 3, 4, 2).astype(np.int32), SCALE, MOVE, wrt=[1, 2]),
    crop("bilinear", *CROPS, T=tf.float32),
    crop("nearest", *CROPS, T=tf.float32, method="nearest"),
    crop("double", *CROPS, T=tf.float64),
    crop("by_boxes", *CROPS, T=tf.float64, wrt=[0, 1], step=4e-3, tolerance=5e-3),
]
