# SPDX-License-Identifier: Apache-2.0
"""Neural networks and images; see cases_stock.py."""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
from cases_stock import case, numeric, numeric_second, single, with_static_shapes
from parity import Case
from random_values import distinct, normal

IMAGE, VOLUME = (2, 5, 4, 2), (1, 4, 3, 4, 2)


def pooling() -> list[Case]:
    cases = []
    for padding in ("SAME", "VALID"):
        flat = {"ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": padding}
        deep: dict[str, Any] = {
            "ksize": [1, 2, 2, 2, 1],
            "strides": [1, 2, 1, 2, 1],
            "padding": padding,
        }
        cases += [
            case("AvgPool", padding, normal(*IMAGE), **flat),
            case("MaxPool", padding, distinct(*IMAGE), **flat),
            case("MaxPool", f"{padding}_ties", np.ones(IMAGE), **flat),
            case(
                "MaxPoolV2",
                padding,
                distinct(*IMAGE),
                np.array(flat["ksize"], np.int32),
                np.array(flat["strides"], np.int32),
                padding=padding,
            ),
            case("AvgPool3D", padding, single(*VOLUME), **deep),
            case("MaxPool3D", padding, distinct(*VOLUME, dtype=np.float32), **deep),
        ]
    pads = [0, 0, 1, 0, 0, 2, 0, 0]
    ratio = {"pooling_ratio": [1.0, 1.5, 1.3, 1.0], "deterministic": True, "seed": 3, "seed2": 4}
    return [
        *cases,
        # Python's second order knows no explicit padding.
        numeric_second(
            case(
                "MaxPool",
                "explicit",
                distinct(*IMAGE),
                ksize=[1, 2, 3, 1],
                strides=[1, 2, 1, 1],
                padding="EXPLICIT",
                explicit_paddings=pads,
            )
        ),
        *(
            Case(
                op,
                name,
                lambda x, op=op, o=o: getattr(tf.raw_ops, op)(value=x, overlapping=o, **ratio)[0],
                [distinct(1, 7, 6, 2)],
                known_shapes=True,
                second_order="numeric",
            )
            for op in ("FractionalAvgPool", "FractionalMaxPool")
            for name, o in (("disjoint", False), ("overlapping", True))
        ),
    ]


def convolution() -> list[Case]:
    cases = []
    x, kernel = normal(2, 6, 5, 2), normal(3, 2, 2, 3)
    options: dict[str, dict[str, Any]] = {
        "same": {"strides": [1, 1, 1, 1], "padding": "SAME"},
        "valid_strides": {"strides": [1, 2, 2, 1], "padding": "VALID"},
        "explicit": {
            "strides": [1, 1, 1, 1],
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0],
        },
        "dilations": {"strides": [1, 1, 1, 1], "padding": "VALID", "dilations": [1, 2, 2, 1]},
    }
    for name, more in options.items():
        if name == "dilations":  # the CPU has kernels of single precision
            inputs = [v.astype(np.float32) for v in (x, kernel)]
            one = case("Conv2D", name, *inputs, **more)
            cases.append(dataclasses.replace(one, onednn=True))
            continue
        cases.append(case("Conv2D", name, x, kernel, **more))
        size = np.array(x.shape, np.int32)
        y = tf.raw_ops.Conv2D(input=x, filter=kernel, **more).numpy()
        depthwise = normal(3, 2, 2, 2)
        cases += [
            case("Conv2DBackpropInput", name, size, kernel, y, **more),
            case("DepthwiseConv2dNative", name, x, depthwise, **more),
        ]
    return cases


def normalization() -> list[Case]:
    cases = []
    for training in (True, False):
        for layout in ("NHWC", "NCHW"):
            shape = (2, 3, 2, 4) if layout == "NHWC" else (2, 4, 3, 2)
            positive = np.abs(single(4, seed=3)) + 0.5
            empty = np.zeros(0, np.float32)

            def build(
                x: Any,
                scale: Any,
                offset: Any,
                mean: Any,
                variance: Any,
                training: bool = training,
                layout: str = layout,
            ) -> Any:
                return tf.raw_ops.FusedBatchNormV3(
                    x=x,
                    scale=scale,
                    offset=offset,
                    mean=mean,
                    variance=variance,
                    is_training=training,
                    data_format=layout,
                ).y

            mean, variance = (empty, empty) if training else (single(4), positive)
            inputs = [single(*shape), positive, single(4), mean, variance]
            name = f"{layout}_{'training' if training else 'inference'}"
            cases.append(Case("FusedBatchNormV3", name, build, inputs, wrt=[0, 1, 2]))
    return [
        *cases,
        case("BiasAdd", "NHWC", normal(2, 3, 4), normal(4)),
        case("BiasAdd", "NCHW", normal(2, 4, 3), normal(4), data_format="NCHW"),
        *responses(),
        *cross_entropy(),
    ]


def responses() -> list[Case]:
    """LRN, which has kernels of single precision, and no second order in Python."""
    x = single(1, 2, 2, 6)
    rough: dict[str, Any] = {"second_order": "numeric", "step": 1e-2, "tolerance": 2e-3}
    narrow = {"depth_radius": 1, "bias": 0.8, "alpha": 0.5, "beta": 0.7}
    cases = [
        case("LRN", "defaults", x),
        case("LRN", "narrow", x, **narrow),
        case("LRN", "wide", x, depth_radius=9, beta=1.5),
    ]
    return [
        *(dataclasses.replace(one, **rough) for one in cases),
        dataclasses.replace(cases[1], name="unknown_rank", known_shapes="rank", **rough),
    ]


def cross_entropy() -> list[Case]:
    op = "SoftmaxCrossEntropyWithLogits"

    def loss(x: Any, p: Any) -> Any:
        return tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=x, labels=p).loss

    def both(x: Any, p: Any) -> Any:
        return list(tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=x, labels=p))

    x, p = normal(2, 3), np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    # Python takes the labels for constants in the second output, and does not sum
    # over axes that were broadcast.
    return [
        numeric_second(Case(op, "double", loss, [x, p])),
        numeric(Case(op, "both_outputs", both, [x, p])),
        numeric(Case(op, "broadcast_labels", loss, [x, p[:1]])),
        # The optimizer takes the op's word that the shapes are equal, and goes wrong in
        # the second order.
        numeric(Case(op, "broadcast_logits", loss, [x[:1], p]), second_order=None),
    ]


def quantization() -> list[Case]:
    x = np.array([-2.0, -0.4, 0.3, 0.9, 1.7])
    low, high, bits = np.array(-1.0), np.array(1.0), np.array(8, np.int32)
    limits = {"range_given": True}
    op = "QuantizeAndDequantizeV4"
    return [
        case("QuantizeAndDequantizeV3", "double", x, low, high, bits, **limits),
        # Python's second order fails.
        numeric_second(case(op, "double", x, low, high, **limits)),
        numeric_second(case(op, "matrix", normal(3, 2), low, high, **limits)),
        numeric_second(case(op, "unsigned", x, low, high, signed_input=False, **limits)),
    ]


def linear(op: str, name: str, *inputs: Any, **attributes: Any) -> Case:
    """As `case`, of single precision; Python has no second order."""
    return dataclasses.replace(
        case(op, name, *inputs, **attributes),
        wrt=[0],
        second_order="numeric",
        step=1.0,
        known_shapes=True,
    )


def images() -> list[Case]:
    small, size = single(1, 3, 4, 2), np.array([5, 3], np.int32)
    cases = []
    for op in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"):
        cases += [
            linear(op, "float", small, size),
            linear(op, "align_corners", small, size, align_corners=True),
            linear(op, "half_pixel_centers", small, size, half_pixel_centers=True),
        ]
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 1.0]], np.float32)
    index, crop = np.zeros(2, np.int32), np.array([3, 2], np.int32)
    for method in ("bilinear", "nearest"):
        cases.append(linear("CropAndResize", method, small, boxes, index, crop, method=method))
    # By the boxes, too, whose samples lie between pixels.
    boxes = np.array([[0.1, 0.2, 0.83, 0.92], [0.05, 0.03, 0.97, 0.93]], np.float32)
    of_boxes = linear("CropAndResize", "boxes", small, boxes, index, crop)
    cases.append(dataclasses.replace(of_boxes, wrt=[0, 1], step=4e-3, tolerance=5e-3))
    scale, move = np.array([1.5, 0.8], np.float32), np.array([0.3, -0.2], np.float32)
    return [
        *cases,
        linear("ScaleAndTranslate", "float", small, size, scale, move),
        linear("ScaleAndTranslate", "box", small, size, scale, move, kernel_type="box"),
    ]


CASES = with_static_shapes(
    [*pooling(), *convolution(), *normalization(), *quantization(), *images()]
)
