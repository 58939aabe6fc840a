# SPDX-License-Identifier: Apache-2.0
"""Gradients of the general convolution and of rare forms of convolutions' gradients.

Python has no gradient of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from cases_nn_convolution import CONV_2D, CONV_3D
from fed_kernels import outputs_are_fed
from parity import Case
from random_values import normal
from tensorflow.python.framework.ops import gradient_registry

raw = tf.raw_ops

NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
# A convolution is linear in each input.
SINGLE: dict[str, Any] = {"step": 0.5, "tolerance": 1e-3}


def _conv(name: str, image: Any, kernel: Any, dtype: Any = np.float64, **how: Any) -> Case:
    known_shapes = how.pop("known_shapes", False)
    single = {} if dtype == np.float64 else SINGLE
    if dtype == np.float16:
        single = {"step": 1.0, "tolerance": 5e-2}
    return Case(
        "Conv",
        name,
        lambda x, f: raw.Conv(input=x, filter=f, **how),
        [normal(*image, dtype=dtype), normal(*kernel, dtype=dtype)],
        known_shapes=known_shapes,
        onednn="dilations" in how,
        **NUMERIC,
        **single,
    )


VALID: dict[str, Any] = {"strides": [1] * 4, "padding": "VALID"}
SAME: dict[str, Any] = {"strides": [1, 2, 1, 1], "padding": "SAME"}
EXPLICIT: dict[str, Any] = {
    "strides": [1, 1, 2, 1],
    "padding": "EXPLICIT",
    "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0],
}
VALID_3D: dict[str, Any] = {"strides": [1] * 5, "padding": "VALID"}
SAME_3D: dict[str, Any] = {"strides": [1, 2, 1, 3, 1], "padding": "SAME"}
IMAGE, KERNEL = (2, 5, 4, 2), (3, 2, 2, 3)
VOLUME, KERNEL_3D = (1, 4, 3, 4, 2), (2, 3, 2, 2, 3)
# Any number of batch axes.
BATCHES: dict[str, Any] = {"batch_dims": 2, **SAME}
GENERAL = [
    _conv("valid", IMAGE, KERNEL, **VALID),
    _conv("same_strided", IMAGE, KERNEL, **SAME),
    _conv("explicit", IMAGE, KERNEL, **EXPLICIT),
    _conv("float_explicit", IMAGE, KERNEL, np.float32, **EXPLICIT, known_shapes=True),
    _conv("dilated", IMAGE, (2, 2, 2, 3), np.float32, **VALID, dilations=[1, 2, 1, 1]),
    _conv("float", IMAGE, KERNEL, np.float32, **SAME, known_shapes="rank"),
    _conv("half", (1, 3, 3, 2), (2, 2, 2, 2), np.float16, **VALID),
    _conv("two_batch_axes", (2, 1, 5, 4, 2), KERNEL, **BATCHES),
    _conv("two_batch_axes_explicit", (1, 2, 5, 4, 2), KERNEL, batch_dims=2, **EXPLICIT),
    _conv("volumes", VOLUME, KERNEL_3D, **VALID_3D),
    _conv("volumes_same_strided", VOLUME, KERNEL_3D, **SAME_3D, known_shapes=True),
    _conv("volumes_float", VOLUME, KERNEL_3D, np.float32, **VALID_3D),
    _conv("volumes_two_batch_axes", (2, *VOLUME), KERNEL_3D, batch_dims=2, **VALID_3D),
]


@tf.RegisterGradient("ConvOfChannelsLast")
def _of_channels_last(op: tf.Operation, upstream: tf.Tensor) -> Any:
    x, f = op.inputs
    last = list(range(x.shape.rank))
    last.append(last.pop(1))
    forward = {4: tf.nn.conv2d, 5: tf.nn.conv3d}[x.shape.rank]
    strides = [op.get_attr("strides")[i] for i in last]
    padding = op.get_attr("padding").decode()
    y = forward(tf.transpose(x, last), f, strides, padding)
    return tf.gradients(tf.transpose(y, np.argsort(last)), [x, f], upstream)


def _channels_first(name: str, image: Any, kernel: Any, **how: Any) -> Case:
    """The CPU has kernels of the gradients alone, and of float: outputs are fed."""
    size = len(image) - 2
    shape = [image[0], kernel[-1]] + [
        -(-(n - (k - 1) * (how["padding"] == "VALID")) // s)
        for n, k, s in zip(image[2:], kernel[:size], how["strides"][2:], strict=True)
    ]

    def build(x: Any, f: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        override = graph.gradient_override_map({"Conv": "ConvOfChannelsLast"})
        with override, outputs_are_fed("Conv"):
            return raw.Conv(input=x, filter=f, data_format="CHANNELS_FIRST", name="fed", **how)

    return Case(
        "Conv",
        f"channels_first_{name}",
        build,
        [normal(*image, dtype=np.float32), normal(*kernel, dtype=np.float32)],
        also_fed={"fed:0": normal(*shape, dtype=np.float32)},
        onednn=True,
    )


CHANNELS_FIRST = [
    _channels_first("images", (2, 3, 5, 4), (3, 2, 3, 2), **VALID),
    _channels_first("strided", (2, 3, 5, 4), (3, 2, 3, 2), strides=[1, 1, 2, 1], padding="SAME"),
    _channels_first("volumes", (1, 2, 4, 3, 4), (2, 3, 2, 2, 3), **VALID_3D),
]


def _output(forward: Any, how: Any, image: Any, kernel: Any) -> list[int]:
    with tf.Graph().as_default():
        return forward(input=tf.zeros(image), filter=tf.zeros(kernel), **how).shape


def _old_3d(op: str, name: str, dtype: Any = np.float64, **more: Any) -> Case:
    """Ops of graphs older than version 10."""
    how, image, kernel = CONV_3D[name]

    def build(x: Any, f: Any, dy: Any) -> Any:
        tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": 9}))
        return getattr(raw, op)(input=x, filter=f, out_backprop=dy, **how)

    shapes = (image, kernel, _output(raw.Conv3D, how, image, kernel))
    return Case(
        op,
        f"{name}_{np.dtype(dtype).name}",
        build,
        [normal(*shape, dtype=dtype) for shape in shapes],
        **NUMERIC,
        **({} if dtype == np.float64 else SINGLE),
        **more,
    )


@tf.RegisterGradient("Conv2DBackpropInputOfTensors")
def _input_of_tensors(op: tf.Operation, upstream: tf.Tensor) -> Any:
    return gradient_registry.lookup("Conv2DBackpropInput")(op, upstream)


@tf.RegisterGradient("Conv2DBackpropFilterOfTensors")
def _filter_of_tensors(op: tf.Operation, upstream: tf.Tensor) -> Any:
    by_input, _, by_dy = gradient_registry.lookup("Conv2DBackpropFilter")(op, upstream)
    return by_input, None, by_dy


def _of_tensors(op: str, name: str, dtype: Any, **more: Any) -> Case:
    """Ops without kernels: outputs are fed. Python's gradients are those of the ops
    that take shapes."""
    how, image, kernel = CONV_2D[name]
    override = {op: f"{op.removesuffix('V2')}OfTensors"}

    def build(x: Any, f: Any, dy: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        with graph.gradient_override_map(override), outputs_are_fed(op):
            return getattr(raw, op)(input=x, filter=f, out_backprop=dy, name="fed", **how)

    shapes = (image, kernel, _output(raw.Conv2D, how, image, kernel))
    result = image if op == "Conv2DBackpropInputV2" else kernel
    return Case(
        op,
        f"{name}_{np.dtype(dtype).name}",
        build,
        [normal(*shape, dtype=dtype) for shape in shapes],
        also_fed={"fed:0": normal(*result, dtype=dtype)},
        **more,
    )


def _each(make: Callable[..., Case], op: str) -> list[Case]:
    return [
        make(op, "valid", np.float64),
        make(op, "same_strided", np.float32, known_shapes=True),
        make(op, "valid", np.float32, known_shapes="rank"),
    ]


PADDINGS = np.array([[0, 0], [1, 2], [2, 0], [0, 0]], np.int32)


def _fused(name: str, dtype: Any = np.float64, size: Any = None, **how: Any) -> Case:
    """Of an image that is padded, and resized first if there is a size. Of a batch
    of two the kernel convolves the first image twice."""
    known_shapes = how.pop("known_shapes", False)
    how = {"strides": [1, 2, 1, 1], "padding": "VALID", **how}

    def build(x: Any, f: Any) -> Any:
        if size is None:
            return raw.FusedPadConv2D(input=x, paddings=PADDINGS, filter=f, **how)
        return raw.FusedResizeAndPadConv2D(input=x, size=size, paddings=PADDINGS, filter=f, **how)

    return Case(
        "FusedPadConv2D" if size is None else "FusedResizeAndPadConv2D",
        name,
        build,
        [normal(*shape, dtype=dtype) for shape in ((1, *IMAGE[1:]), KERNEL)],
        known_shapes=known_shapes,
        **NUMERIC,
        # Images are resized in single precision.
        **({} if dtype == np.float64 and size is None else SINGLE),
    )


FUSED = [
    _fused("reflect", mode="REFLECT"),
    _fused("symmetric", mode="SYMMETRIC", padding="SAME", known_shapes=True),
    _fused("float", np.float32, mode="REFLECT", known_shapes="rank"),
    _fused("reflect", size=[6, 3], mode="REFLECT"),
    _fused("align_corners", size=[4, 7], mode="SYMMETRIC", resize_align_corners=True),
    _fused("float", np.float32, [3, 5], mode="REFLECT", padding="SAME"),
]

CASES = [
    *FUSED,
    *GENERAL,
    *CHANNELS_FIRST,
    *_each(_old_3d, "Conv3DBackpropInput"),
    *_each(_old_3d, "Conv3DBackpropFilter"),
    *_each(_of_tensors, "Conv2DBackpropInputV2"),
    *_each(_of_tensors, "Conv2DBackpropFilterV2"),
    _of_tensors("Conv2DBackpropInputV2", "explicit", np.float64),
    _of_tensors("Conv2DBackpropFilterV2", "explicit", np.float64),
]
