"""Neural networks and images; see cases_stock.py."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import distinct, normal, single
from rows import case, each, floats, ints, numeric, output, with_static_shapes

IMAGE, VOLUME = (2, 5, 4, 2), (1, 4, 3, 4, 2)
# Python's second order fails or is wrong.
SECOND = {"second_order": "numeric"}

# ---- Pooling

KSIZE, STRIDES = [1, 2, 3, 1], [1, 2, 1, 1]
EXPLICIT = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 0, 2, 0, 0]}
FLAT: dict[str, Any] = {"ksize": KSIZE, "strides": STRIDES}
DEEP: dict[str, Any] = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 1, 2, 1]}
STEEP: dict[str, Any] = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 2, 1, 1], "padding": "SAME"}
RATIO = {"pooling_ratio": [1.0, 1.5, 1.3, 1.0], "deterministic": True, "seed": 3, "seed2": 4}
OTHER_RATIO = {"pooling_ratio": [1.0, 1.4, 1.3, 1.0], "deterministic": True, "seed": 5}


def pooling(padding: str) -> list[Case]:
    x, volumes, how = distinct(*IMAGE), distinct(*VOLUME, dtype=np.float32), {"padding": padding}
    return [
        case("AvgPool", padding, normal(*IMAGE), **FLAT, **how),
        case("MaxPool", padding, x, **FLAT, **how),
        case("MaxPool", f"{padding}_ties", np.ones(IMAGE), **FLAT, **how),
        case("MaxPoolV2", padding, x, ints(*KSIZE), ints(*STRIDES), **how),
        case("AvgPool3D", padding, single(*VOLUME), **DEEP, **how),
        case("MaxPool3D", padding, volumes, **DEEP, **how),
    ]


def fractional(op: str) -> list[Case]:
    row = functools.partial(case, op, static="all", then=output(0), **SECOND)
    x, y = distinct(1, 7, 6, 2), distinct(1, 6, 5, 2)
    return [
        row("disjoint", x, overlapping=False, **RATIO),
        row("overlapping", x, overlapping=True, **RATIO),
        row("float32", y.astype(np.float32), step=1e-2, **OTHER_RATIO),
        row("float64", y, step=1e-2, **OTHER_RATIO),
    ]


POOLING = [
    *each("SAME VALID", pooling),
    # Python's second order does not support explicit padding.
    case("MaxPool", "explicit", distinct(*IMAGE), **EXPLICIT, **FLAT, **SECOND),
    *each("FractionalAvgPool FractionalMaxPool", fractional),
]
LARGER = distinct(1, 4, 4, 2, dtype=np.float32)
MORE_POOLING = [
    case("MaxPoolV2", "float", LARGER, ints(1, 2, 2, 1), ints(1, 1, 2, 1), padding="SAME"),
    case("AvgPool3D", "strides", single(1, 2, 4, 3, 2), **STEEP),
    case("MaxPool3D", "strides", distinct(1, 2, 4, 3, 2, dtype=np.float32), **STEEP),
]

# ---- Convolution


def convolution(name: str, **how: Any) -> list[Case]:
    x, kernel = normal(2, 6, 5, 2), normal(3, 2, 2, 3)
    if "dilations" in how:  # the CPU has kernels only in single precision
        return [case("Conv2D", name, *floats(x, kernel), onednn=True, **how)]
    y = tf.raw_ops.Conv2D(input=x, filter=kernel, **how).numpy()
    return [
        case("Conv2D", name, x, kernel, **how),
        case("Conv2DBackpropInput", name, ints(*x.shape), kernel, y, **how),
        case("DepthwiseConv2dNative", name, x, normal(3, 2, 2, 2), **how),
    ]


ONES = [1, 1, 1, 1]
UNEVEN = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]}
CONVOLUTION = [
    *convolution("same", strides=ONES, padding="SAME"),
    *convolution("valid_strides", strides=[1, 2, 2, 1], padding="VALID"),
    *convolution("explicit", strides=ONES, **UNEVEN),
    *convolution("dilations", strides=ONES, padding="VALID", dilations=[1, 2, 2, 1]),
]
STRIDED = {"strides": [1, 2, 2, 1], "padding": "SAME"}
DEPTHWISE = case(
    "DepthwiseConv2dNative", "strides", single(1, 5, 4, 2), single(2, 2, 2, 2), **STRIDED
)

# ---- Normalization


def batch_norm(layout: str) -> list[Case]:
    """By x, scale and offset."""
    x = single(*((2, 3, 2, 4) if layout == "NHWC" else (2, 4, 3, 2)))
    positive, empty = np.abs(single(4, seed=3)) + 0.5, np.zeros(0, np.float32)
    by = {"wrt": [0, 1, 2], "then": lambda y, *_: y, "data_format": layout}
    op, inputs = "FusedBatchNormV3", (x, positive, single(4))
    return [
        case(op, f"{layout}_training", *inputs, empty, empty, is_training=True, **by),
        case(op, f"{layout}_inference", *inputs, single(4), positive, is_training=False, **by),
    ]


# LRN has kernels only in single precision, and no second order in Python.
ROUGH = {"second_order": "numeric", "step": 1e-2, "tolerance": 2e-3}
NARROW = {"depth_radius": 1, "bias": 0.8, "alpha": 0.5, "beta": 0.7, **ROUGH}
LRN = single(1, 2, 2, 6)

LOSS, OF_LOSS = "SoftmaxCrossEntropyWithLogits", {"then": lambda loss, _: loss}
LOGITS, LABELS = normal(2, 3), np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])

NORMALIZATION = [
    *each("NHWC NCHW", batch_norm),
    case("BiasAdd", "NHWC", normal(2, 3, 4), normal(4)),
    case("BiasAdd", "NCHW", normal(2, 4, 3), normal(4), data_format="NCHW"),
    case("LRN", "defaults", LRN, **ROUGH),
    case("LRN", "narrow", LRN, **NARROW),
    case("LRN", "unknown_rank", LRN, static="none", **NARROW),
    case("LRN", "wide", LRN, depth_radius=9, beta=1.5, **ROUGH),
    case(LOSS, "double", LOGITS, LABELS, **OF_LOSS, **SECOND),
    # Python treats the labels as constants in the second output, and does not sum over broadcast
    # axes.
    numeric(LOSS, "both_outputs", LOGITS, LABELS),
    numeric(LOSS, "broadcast_labels", LOGITS, LABELS[:1], **OF_LOSS),
    # The optimizer assumes, like the op, that the shapes are equal, which breaks the second order.
    numeric(LOSS, "broadcast_logits", LOGITS[:1], LABELS, second_order=None, **OF_LOSS),
]

# ---- Quantization

VALUES, BITS = np.array([-2.0, -0.4, 0.3, 0.9, 1.7]), np.array(8, np.int32)
LIMITS = np.array(-1.0), np.array(1.0)
v3 = functools.partial(case, "QuantizeAndDequantizeV3")
v4 = functools.partial(case, "QuantizeAndDequantizeV4", range_given=True, **SECOND)
QUANTIZATION = [
    v3("double", VALUES, *LIMITS, BITS, range_given=True),
    v3("axis", normal(2, 3), np.full(2, -1.0), np.full(2, 1.5), BITS, axis=0),
    v3("narrow", normal(2, 3), np.array(-1.0), np.array(1.5), BITS, narrow_range=True),
    v4("double", VALUES, *LIMITS),
    v4("matrix", normal(3, 2), *LIMITS),
    v4("unsigned", VALUES, *LIMITS, signed_input=False),
]

# ---- Images: linear in the image. Python lacks the gradient for some types and does not
# differentiate it again.

linear = functools.partial(case, wrt=[0], step=1.0, static="all", **SECOND)
SMALL, SIZE = single(1, 3, 4, 2), ints(5, 3)
CROP = ints(0, 0), ints(3, 2)
WHOLE = np.array([[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 1.0]], np.float32)
# Samples are between pixels.
BETWEEN = np.array([[0.1, 0.2, 0.83, 0.92], [0.05, 0.03, 0.97, 0.93]], np.float32)
BOXES = np.array([[0.1, 0.2, 0.8, 0.9], [0.05, 0.1, 0.9, 0.95]], np.float32)
SCALED = SIZE, *floats(np.array([1.5, 0.8]), np.array([0.3, -0.2]))


def resize(op: str) -> list[Case]:
    return [
        linear(op, "float", SMALL, SIZE),
        linear(op, "align_corners", SMALL, SIZE, align_corners=True),
        linear(op, "half_pixel_centers", SMALL, SIZE, half_pixel_centers=True),
    ]


def image_types() -> Iterator[Case]:
    image = normal(1, 3, 4, 2)
    for dtype, tolerance in ((np.float64, 1e-4), (np.float16, 2e-2)):
        name, x = np.dtype(dtype).name, image.astype(dtype)
        row = functools.partial(linear, tolerance=tolerance)
        yield row("ResizeBilinear", name, x, SIZE)
        yield row("ResizeNearestNeighbor", name, x, SIZE)
        reference = "numeric" if dtype == np.float16 else "python"
        yield row("ResizeBicubic", name, x, SIZE, reference=reference)
        yield row("CropAndResize", name, x, BOXES, *CROP)
        yield row("ScaleAndTranslate", name, x, *SCALED, reference="numeric")
    rough = {"step": 4e-3, "tolerance": 1e-2}
    of_bytes = (10 * np.abs(image)).astype(np.uint8)
    yield case("CropAndResize", "boxes_of_bytes", of_bytes, BOXES, *CROP, **rough, **SECOND)
    x = image.astype(np.float32)
    yield linear(
        "ScaleAndTranslate", "float32_antialias", x, *SCALED, antialias=False, tolerance=1e-4
    )


IMAGES = [
    *each("ResizeBilinear ResizeBicubic ResizeNearestNeighbor", resize),
    linear("CropAndResize", "bilinear", SMALL, WHOLE, *CROP, method="bilinear"),
    linear("CropAndResize", "nearest", SMALL, WHOLE, *CROP, method="nearest"),
    linear("CropAndResize", "boxes", SMALL, BETWEEN, *CROP, wrt=[0, 1], step=4e-3, tolerance=5e-3),
    linear("ScaleAndTranslate", "float", SMALL, *SCALED),
    linear("ScaleAndTranslate", "box", SMALL, *SCALED, kernel_type="box"),
]

CASES = [
    *with_static_shapes([*POOLING, *CONVOLUTION, *NORMALIZATION, *QUANTIZATION, *IMAGES]),
    *MORE_POOLING,
    DEPTHWISE,
    *image_types(),
]
