# SPDX-License-Identifier: Apache-2.0
"""Gradients of convolutions, of their gradients and of biases."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

# The attributes of a convolution beside the shapes of image and filter.
CONV_2D: dict[str, tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]] = {
    "valid": ({"strides": [1, 1, 1, 1], "padding": "VALID"}, (2, 5, 6, 3), (3, 2, 3, 4)),
    "same_strided": ({"strides": [1, 2, 3, 1], "padding": "SAME"}, (2, 5, 7, 2), (3, 3, 2, 3)),
    "dilated": (
        {"strides": [1, 1, 1, 1], "padding": "VALID", "dilations": [1, 2, 1, 1]},
        (1, 6, 5, 2),
        (2, 3, 2, 2),
    ),
    "explicit": (
        {
            "strides": [1, 2, 1, 1],
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0],
        },
        (2, 5, 4, 2),
        (3, 2, 2, 3),
    ),
}
CONV_3D: dict[str, tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]] = {
    "valid": ({"strides": [1, 1, 1, 1, 1], "padding": "VALID"}, (2, 4, 5, 4, 2), (2, 3, 2, 2, 3)),
    "same_strided": (
        {"strides": [1, 2, 1, 3, 1], "padding": "SAME"},
        (1, 4, 3, 5, 2),
        (2, 2, 3, 2, 2),
    ),
    "pointwise": (
        {"strides": [1, 1, 1, 1, 1], "padding": "SAME"},
        (2, 3, 2, 3, 4),
        (1, 1, 1, 4, 2),
    ),
}
# Depthwise: the kernels want equal strides.
DEPTHWISE: dict[str, tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]] = {
    "valid": ({"strides": [1, 1, 1, 1], "padding": "VALID"}, (2, 5, 6, 3), (3, 2, 3, 2)),
    "same_strided": ({"strides": [1, 2, 2, 1], "padding": "SAME"}, (2, 5, 7, 2), (3, 3, 2, 1)),
    "explicit": (
        {
            "strides": [1, 2, 2, 1],
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, 1, 0, 0, 1, 0, 0],
        },
        (2, 5, 4, 2),
        (2, 2, 2, 3),
    ),
}
KINDS: dict[str, Any] = {
    "Conv2D": (raw.Conv2D, CONV_2D),
    "Conv3D": (raw.Conv3D, CONV_3D),
    "DepthwiseConv2dNative": (raw.DepthwiseConv2dNative, DEPTHWISE),
}


# Images and filters of which one is empty, or what they make: Python hands out memory
# that nothing was written to.
EMPTY: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "no_batch": ((0, 4, 4, 2), (2, 2, 2, 3)),
    "no_pixels": ((2, 2, 2, 2), (3, 3, 2, 3)),
    "no_filters": ((2, 4, 4, 2), (2, 2, 2, 0)),
}


def _of_nothing(kind: str) -> list[Case]:
    op, _ = KINDS[kind]
    depth = (2,) if kind == "Conv3D" else ()
    strides = [1] * (4 + len(depth))
    return [
        Case(
            kind,
            name,
            lambda x, f: op(input=x, filter=f, strides=strides, padding="VALID"),
            [normal(image[0], *depth, *image[1:]), normal(*depth, *kernel)],
            reference="numeric",
            second_order="numeric",
        )
        for name, (image, kernel) in EMPTY.items()
        # Conv3D refuses to run then.
        if kind != "Conv3D" or name != "no_filters"
    ]


def _output(op: Callable[..., Any], attributes: Any, *shapes: Any) -> tuple[int, ...]:
    with tf.Graph().as_default():
        x, f = (tf.zeros(shape) for shape in shapes)
        return tuple(op(input=x, filter=f, **attributes).shape.as_list())


def _forward(kind: str, dtype: Any) -> list[Case]:
    op, table = KINDS[kind]
    cases = []
    for name, (attributes, image, kernel) in table.items():

        def build(x: Any, f: Any, attributes: Any = attributes) -> Any:
            return op(input=x, filter=f, **attributes)

        cases.append(
            Case(
                kind,
                f"{name}_{np.dtype(dtype).name}",
                build,
                [normal(*image, dtype=dtype), normal(*kernel, dtype=dtype)],
            )
        )
    return cases


def _backprop_input(op: str, kind: str, dtype: Any, sizes: Any = np.int32) -> list[Case]:
    forward, table = KINDS[kind]
    cases = []
    for name, (attributes, image, kernel) in table.items():
        output = _output(forward, attributes, image, kernel)

        def build(f: Any, dy: Any, attributes: Any = attributes, image: Any = image) -> Any:
            return getattr(raw, op)(
                input_sizes=np.array(image, sizes), filter=f, out_backprop=dy, **attributes
            )

        suffix = "" if sizes == np.int32 else "_int64_sizes"
        cases.append(
            Case(
                op,
                f"{name}_{np.dtype(dtype).name}{suffix}",
                build,
                [normal(*kernel, dtype=dtype), normal(*output, dtype=dtype)],
            )
        )
    return cases


def _backprop_filter(op: str, kind: str, dtype: Any) -> list[Case]:
    forward, table = KINDS[kind]
    cases = []
    for name, (attributes, image, kernel) in table.items():
        if name == "dilated" and dtype == np.float64:
            continue  # no kernel for the CPU
        output = _output(forward, attributes, image, kernel)

        def build(x: Any, dy: Any, attributes: Any = attributes, kernel: Any = kernel) -> Any:
            return getattr(raw, op)(input=x, filter_sizes=kernel, out_backprop=dy, **attributes)

        cases.append(
            Case(
                op,
                f"{name}_{np.dtype(dtype).name}",
                build,
                [normal(*image, dtype=dtype), normal(*output, dtype=dtype)],
                onednn=name == "dilated",
            )
        )
    return cases


def _bias_grad(name: str, *shape: int, layout: str = "NHWC", dtype: Any = np.float64) -> Case:
    return Case(
        "BiasAddGrad",
        name,
        lambda dy: raw.BiasAddGrad(out_backprop=dy, data_format=layout),
        [normal(*shape, dtype=dtype)],
    )


def _bias_add_v1(name: str, *shape: int, dtype: Any = np.float64) -> Case:
    return Case(
        "BiasAddV1",
        name,
        lambda x, b: raw.BiasAddV1(value=x, bias=b),
        [normal(*shape, dtype=dtype), normal(shape[-1], dtype=dtype)],
    )


CASES = [
    *_backprop_filter("Conv2DBackpropFilter", "Conv2D", np.float64),
    *_backprop_filter("Conv2DBackpropFilter", "Conv2D", np.float32),
    *_forward("Conv3D", np.float64),
    *_forward("Conv3D", np.float32),
    *_backprop_input("Conv3DBackpropInputV2", "Conv3D", np.float64),
    *_backprop_input("Conv3DBackpropInputV2", "Conv3D", np.float32, np.int64),
    *_backprop_filter("Conv3DBackpropFilterV2", "Conv3D", np.float64),
    *_backprop_filter("Conv3DBackpropFilterV2", "Conv3D", np.float32),
    *_backprop_input("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNative", np.float64),
    *_backprop_input("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNative", np.float32),
    *_backprop_filter("DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNative", np.float64),
    *_backprop_filter("DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNative", np.float32),
    *_of_nothing("Conv3D"),
    *_of_nothing("DepthwiseConv2dNative"),
    _bias_grad("images", 2, 3, 4, 5),
    _bias_grad("matrix_float", 3, 4, dtype=np.float32),
    _bias_grad("channels_first", 2, 3, 4, 5, layout="NCHW"),
    _bias_grad("channels_first_volumes", 2, 3, 2, 4, 2, layout="NCHW"),
    _bias_grad("empty", 0, 3),
    _bias_grad("complex", 2, 3, dtype=np.complex128),
    _bias_grad("bfloat16", 2, 3, dtype=ml_dtypes.bfloat16),
    _bias_add_v1("images", 2, 3, 4, 5),
    _bias_add_v1("matrix_float", 3, 4, dtype=np.float32),
    _bias_add_v1("complex", 3, 4, dtype=np.complex128),
    _bias_add_v1("empty", 0, 3),
]
