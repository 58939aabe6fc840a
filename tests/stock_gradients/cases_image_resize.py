"""Gradients of resizing, cropping and drawing, and by the positions of crops and glimpses.

Python has none of them. The gradient ops are linear in their upstream gradients: the larger the
step of the differences, the smaller their rounding error in single precision.
"""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal, single
from rows import call, each, floats, ints, numeric

# ---- Sizes

linear = functools.partial(numeric, wrt=[0], step=1.0, tolerance=1e-4)


def averaged() -> list[Case]:
    """ResizeArea, which also has no gradient in Python."""
    image = single(2, 5, 6, 3)
    area = functools.partial(linear, "ResizeArea", align_corners=False)
    return [
        area("smaller", image, size=[2, 4]),
        area("larger", image, size=[7, 9]),
        area("align_corners", image, size=[3, 4], align_corners=True),
        area("larger_align_corners", image, size=[9, 7], align_corners=True),
        area("one_pixel", image, size=[1, 1], static="all"),
        area("two_channels", image[..., :2], size=[2, 4], static="none"),
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
    # Only nearest neighbours have the same type for both.
    return [
        row("float", *singles),
        row("double", grads if by_size else singles[0], image),
        row("smaller", singles[0], single(2, 7, 6, 2)),
        row("align_corners", *singles, align_corners=True),
        row("half_pixel_centers", *singles, half_pixel_centers=True),
        row("known_shapes", *singles, static="all"),
        row("unknown_rank", *singles, static="none"),
        row("no_images", *(x[:0] for x in singles)),
    ]


SCALE = np.array([1.5, 0.8], np.float32)
MOVE = np.array([0.3, -0.27], np.float32)


def _scale(image: Any, scale: Any, move: Any, **how: Any) -> Any:
    return call("ScaleAndTranslate", image, [5, 3], scale, move, **how)


def _scale_back(grads: Any, scale: Any, move: Any, **how: Any) -> Any:
    image = np.zeros([1, 3, 4, 2], np.float32)
    return call("ScaleAndTranslateGrad", grads, image, scale, move, **how)


# By the scale and the translation, too; Python's gradients by these are None.
scaled = functools.partial(linear, wrt=[0, 1, 2], step=4e-3, tolerance=1e-2)


def translated(op: str) -> list[Case]:
    build: Any = _scale_back if op.endswith("Grad") else _scale
    image = single(1, 3, 4, 2) if build is _scale else single(1, 5, 3, 2)

    def row(name: str, kernel: str = "lanczos3", scale: np.ndarray = SCALE, **more: Any) -> Case:
        return scaled(op, name, image, scale, MOVE, build=build, kernel_type=kernel, **more)

    return [
        row("lanczos1", "lanczos1"),
        row("lanczos3"),
        row("lanczos5", "lanczos5", static="all"),
        *(row(kernel, kernel) for kernel in ("gaussian", "triangle", "keyscubic", "mitchellcubic")),
        row("aliased", antialias=False, static="none"),
        row("smaller", scale=SCALE / 2),
        row("by_image", wrt=[0], step=1.0, tolerance=1e-4),
        # No position in a box has a derivative.
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

# ---- Crops, drawn boxes, glimpses. Values are spread so that differences in single precision are
# good for three digits.

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
    """To second order by the image and by the boxes, starting with the forward op."""
    grads = np.ones([3, 3, 4, 2], np.float32)
    return [
        call("CropAndResize", image, boxes, BOX_INDEX, crop_size=[3, 4], method="bilinear"),
        call("CropAndResizeGradBoxes", grads, image, boxes, BOX_INDEX),
    ]


# Inside, across the border, one over another, inverted, outside.
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

    # If no part is outside, there is no noise.
    near = OFFSETS / 8
    return [
        one("over_the_border"),
        one("larger", (9, 4), static="all"),
        one("corner", normalized=True, centered=False, offsets=OFFSETS + 0.5),
        one("in_pixels", normalized=False, offsets=OFFSETS * 4),
        one("corner_in_pixels", normalized=False, centered=False, offsets=OFFSETS * 5),
        one("far_outside", offsets=OFFSETS * 9),
        one("uniform", offsets=near, noise="uniform"),
        one("gaussian", offsets=near, noise="gaussian"),
        one("by_flag", offsets=near, noise="", uniform_noise=True),
        one("unknown_rank", static="none"),
        one("nothing", (0, 4)),
    ]


CASES += [
    _by_boxes("samples"),
    _by_boxes("one_row", (1, 3)),
    _by_boxes("one_column", (2, 1)),
    _by_boxes("double", image=np.float64),
    _by_boxes("half", image=np.float16, wrt=[0, 2]),
    _by_boxes("whole_numbers", image=np.int32, wrt=[0, 2]),
    _by_boxes("known_shapes", static="all"),
    _by_boxes("unknown_rank", static="none"),
    _by_boxes("no_boxes", count=0),
    # Samples on the image's border count, and have no slope by the boxes.
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
    drawn("transparent", single(2, 8, 7, 4), static="all"),
    drawn("half", HALVES, tolerance=1e-2),
    drawn("unknown_rank", single(2, 8, 7, 3), static="none"),
    coloured("each", single(2, 8, 7, 3), single(3, 3)),
    coloured("repeated", single(2, 8, 7, 3), single(2, 3), static="all"),
    coloured("more_channels", single(2, 8, 7, 3), single(4, 5)),
    coloured("grey", single(2, 8, 7, 1), single(2, 1)),
    coloured("transparent", single(2, 8, 7, 4), single(2, 4), static="none"),
    coloured("none", single(2, 8, 7, 3), single(0, 3)),
    coloured("no_boxes", single(2, 8, 7, 3), single(2, 3), boxes=DRAWN[:, :0]),
    coloured("half", HALVES, single(3, 3), tolerance=1e-2),
    *each("ExtractGlimpse ExtractGlimpseV2", _glimpses),
]
