"""Gradients of convolutions, of their gradients and of biases."""

import functools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from old_ops import fed, of_version
from parity import Case
from random_values import normal
from rows import call, case, each, numeric
from tensorflow.python.framework.ops import gradient_registry

Shape = tuple[int, ...]
# The attributes of a convolution, and the shapes of image and filter.
Geometry = tuple[dict[str, Any], Shape, Shape]


def window(*strides: int, padding: str = "VALID", **more: Any) -> dict[str, Any]:
    return {"strides": list(strides), "padding": padding, **more}


def explicit(*strides: int, paddings: list[int]) -> dict[str, Any]:
    return window(*strides, padding="EXPLICIT", explicit_paddings=paddings)


VALID, VALID_3D = window(1, 1, 1, 1), window(1, 1, 1, 1, 1)
SAME_3D = window(1, 2, 1, 3, 1, padding="SAME")
UNEVEN = [0, 0, 1, 2, 0, 1, 0, 0]
CONVOLUTIONS: dict[str, dict[str, Geometry]] = {
    "Conv2D": {
        "valid": (VALID, (2, 5, 6, 3), (3, 2, 3, 4)),
        "same_strided": (window(1, 2, 3, 1, padding="SAME"), (2, 5, 7, 2), (3, 3, 2, 3)),
        "dilated": (window(1, 1, 1, 1, dilations=[1, 2, 1, 1]), (1, 6, 5, 2), (2, 3, 2, 2)),
        "explicit": (explicit(1, 2, 1, 1, paddings=UNEVEN), (2, 5, 4, 2), (3, 2, 2, 3)),
    },
    "Conv3D": {
        "valid": (VALID_3D, (2, 4, 5, 4, 2), (2, 3, 2, 2, 3)),
        "same_strided": (SAME_3D, (1, 4, 3, 5, 2), (2, 2, 3, 2, 2)),
        "pointwise": (window(1, 1, 1, 1, 1, padding="SAME"), (2, 3, 2, 3, 4), (1, 1, 1, 4, 2)),
    },
    # The kernels need equal strides.
    "DepthwiseConv2dNative": {
        "valid": (VALID, (2, 5, 6, 3), (3, 2, 3, 2)),
        "same_strided": (window(1, 2, 2, 1, padding="SAME"), (2, 5, 7, 2), (3, 3, 2, 1)),
        "explicit": (
            explicit(1, 2, 2, 1, paddings=[0, 0, 1, 0, 0, 1, 0, 0]),
            (2, 5, 4, 2),
            (2, 2, 2, 3),
        ),
    },
}


def randoms(dtype: Any, *shapes: Any) -> list[np.ndarray]:
    return [normal(*shape, dtype=dtype) for shape in shapes]


def output_shape(kind: str, geometry: Geometry) -> Shape:
    how, *shapes = geometry
    with tf.Graph().as_default():
        return tuple(call(kind, *map(tf.zeros, shapes), **how).shape.as_list())


def forward(kind: str) -> Iterator[Case]:
    for name, (how, *shapes) in CONVOLUTIONS[kind].items():
        for dtype in ("float64", "float32"):
            yield case(kind, f"{name}_{dtype}", *randoms(dtype, *shapes), **how)


def by_image(op: str, kind: str, sizes: Any = np.int32) -> Iterator[Case]:
    """`sizes`: the type of the image's sizes in single precision."""
    for name, geometry in CONVOLUTIONS[kind].items():
        how, image, kernel = geometry
        for dtype, index in (("float64", np.int32), ("float32", sizes)):
            suffix = "" if index == np.int32 else "_int64_sizes"
            inputs = randoms(dtype, kernel, output_shape(kind, geometry))
            how = {**how, "input_sizes": np.array(image, index)}
            yield case(op, f"{name}_{dtype}{suffix}", *inputs, **how)


def by_filter(op: str, kind: str) -> Iterator[Case]:
    for name, geometry in CONVOLUTIONS[kind].items():
        how, image, kernel = geometry
        is_dilated = name == "dilated"  # the CPU has no kernel in double precision
        for dtype in ("float32",) if is_dilated else ("float64", "float32"):
            inputs = randoms(dtype, image, output_shape(kind, geometry))
            how = {**how, "filter_sizes": kernel, "onednn": is_dilated}
            yield case(op, f"{name}_{dtype}", *inputs, **how)


def of_nothing(kind: str) -> list[Case]:
    """An empty image or filter, or an empty result: Python returns uninitialized memory."""
    depth, how = ((2,), VALID_3D) if kind == "Conv3D" else ((), VALID)

    def row(name: str, image: Shape, kernel: Shape) -> Case:
        inputs = randoms("float64", (image[0], *depth, *image[1:]), (*depth, *kernel))
        return numeric(kind, name, *inputs, **how)

    rows = [
        row("no_batch", (0, 4, 4, 2), (2, 2, 2, 3)),
        row("no_pixels", (2, 2, 2, 2), (3, 3, 2, 3)),
        row("no_filters", (2, 4, 4, 2), (2, 2, 2, 0)),
    ]
    return rows[:2] if kind == "Conv3D" else rows  # Conv3D refuses to run without filters


bias_grad = functools.partial(case, "BiasAddGrad")


def bias(name: str, *shape: int, dtype: Any = np.float64) -> Case:
    return case("BiasAddV1", name, *randoms(dtype, shape, shape[-1:]))


CASES = [
    *forward("Conv3D"),
    *by_filter("Conv2DBackpropFilter", "Conv2D"),
    *by_image("Conv3DBackpropInputV2", "Conv3D", np.int64),
    *by_filter("Conv3DBackpropFilterV2", "Conv3D"),
    *by_image("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNative"),
    *by_filter("DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNative"),
    *each("Conv3D DepthwiseConv2dNative", of_nothing),
    bias_grad("images", normal(2, 3, 4, 5)),
    bias_grad("matrix_float", normal(3, 4, dtype=np.float32)),
    bias_grad("channels_first", normal(2, 3, 4, 5), data_format="NCHW"),
    bias_grad("channels_first_volumes", normal(2, 3, 2, 4, 2), data_format="NCHW"),
    bias_grad("empty", normal(0, 3)),
    bias_grad("complex", normal(2, 3, dtype=np.complex128)),
    bias_grad("bfloat16", normal(2, 3, dtype=ml_dtypes.bfloat16)),
    bias("images", 2, 3, 4, 5),
    bias("matrix_float", 3, 4, dtype=np.float32),
    bias("complex", 3, 4, dtype=np.complex128),
    bias("empty", 0, 3),
]

# ---- The general convolution and rare forms of convolutions' gradients. Python has no
# gradient of them.

# A convolution is linear in each input.
SINGLE = {"step": 0.5, "tolerance": 1e-3}
HALF = {"step": 1.0, "tolerance": 5e-2}
WIDTHS: dict[Any, dict[str, Any]] = {
    float: {},
    np.float64: {},
    np.float32: SINGLE,
    np.float16: HALF,
}


def general(
    name: str,
    image: Shape,
    kernel: Shape,
    how: dict[str, Any],
    dtype: Any = np.float64,
    **more: Any,
) -> Case:
    return numeric("Conv", name, *randoms(dtype, image, kernel), **how, **WIDTHS[dtype], **more)


SAME = window(1, 2, 1, 1, padding="SAME")
EXPLICIT = explicit(1, 1, 2, 1, paddings=UNEVEN)
IMAGE, KERNEL = (2, 5, 4, 2), (3, 2, 2, 3)
VOLUME, KERNEL_3D = (1, 4, 3, 4, 2), (2, 3, 2, 2, 3)
single = functools.partial(general, dtype=np.float32)
CASES += [
    general("valid", IMAGE, KERNEL, VALID),
    general("same_strided", IMAGE, KERNEL, SAME),
    general("explicit", IMAGE, KERNEL, EXPLICIT),
    single("float_explicit", IMAGE, KERNEL, EXPLICIT, static="all"),
    single("dilated", IMAGE, (2, 2, 2, 3), VALID, dilations=[1, 2, 1, 1], onednn=True),
    single("float", IMAGE, KERNEL, SAME, static="none"),
    general("half", (1, 3, 3, 2), (2, 2, 2, 2), VALID, np.float16),
    general("two_batch_axes", (2, 1, 5, 4, 2), KERNEL, SAME, batch_dims=2),
    general("two_batch_axes_explicit", (1, 2, 5, 4, 2), KERNEL, EXPLICIT, batch_dims=2),
    general("volumes", VOLUME, KERNEL_3D, VALID_3D),
    general("volumes_same_strided", VOLUME, KERNEL_3D, SAME_3D, static="all"),
    single("volumes_float", VOLUME, KERNEL_3D, VALID_3D),
    general("volumes_two_batch_axes", (2, *VOLUME), KERNEL_3D, VALID_3D, batch_dims=2),
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


def channels_first(name: str, image: Shape, kernel: Shape, how: dict[str, Any]) -> Case:
    """The CPU has only kernels of the gradients, and only for float, so outputs are fed."""
    size = len(image) - 2
    shape = [image[0], kernel[-1]] + [
        -(-(n - (k - 1) * (how["padding"] == "VALID")) // s)
        for n, k, s in zip(image[2:], kernel[:size], how["strides"][2:], strict=True)
    ]
    return case(
        "Conv",
        f"channels_first_{name}",
        *randoms(np.float32, image, kernel),
        build=fed("Conv", "ConvOfChannelsLast"),
        also_fed={"fed:0": normal(*shape, dtype=np.float32)},
        onednn=True,
        data_format="CHANNELS_FIRST",
        **how,
    )


CASES += [
    channels_first("images", (2, 3, 5, 4), (3, 2, 3, 2), VALID),
    channels_first("strided", (2, 3, 5, 4), (3, 2, 3, 2), window(1, 1, 2, 1, padding="SAME")),
    channels_first("volumes", (1, 2, 4, 3, 4), KERNEL_3D, VALID_3D),
]


@tf.RegisterGradient("Conv2DBackpropInputOfTensors")
def _input_of_tensors(op: tf.Operation, upstream: tf.Tensor) -> Any:
    return gradient_registry.lookup("Conv2DBackpropInput")(op, upstream)


@tf.RegisterGradient("Conv2DBackpropFilterOfTensors")
def _filter_of_tensors(op: tf.Operation, upstream: tf.Tensor) -> Any:
    by_input, _, by_dy = gradient_registry.lookup("Conv2DBackpropFilter")(op, upstream)
    return by_input, None, by_dy


def of_old_graphs(op: str) -> Iterator[Case]:
    for name, dtype, more in THREE:
        how, image, kernel = geometry = CONVOLUTIONS["Conv3D"][name]
        inputs = randoms(dtype, image, kernel, output_shape("Conv3D", geometry))
        how = {**how, **WIDTHS[dtype], "build": of_version(9, functools.partial(call, op)), **more}
        yield numeric(op, f"{name}_{dtype.__name__}", *inputs, **how)


def of_tensors(op: str) -> Iterator[Case]:
    """Ops without kernels, so outputs are fed. Python's gradients are those of the ops
    that take shapes."""
    for name, dtype, more in (*THREE, ("explicit", np.float64, {})):
        how, image, kernel = geometry = CONVOLUTIONS["Conv2D"][name]
        result = image if op == "Conv2DBackpropInputV2" else kernel
        yield case(
            op,
            f"{name}_{dtype.__name__}",
            *randoms(dtype, image, kernel, output_shape("Conv2D", geometry)),
            build=fed(op, f"{op.removesuffix('V2')}OfTensors"),
            also_fed={"fed:0": normal(*result, dtype=dtype)},
            **how,
            **more,
        )


THREE: list[tuple[str, Any, dict[str, Any]]] = [
    ("valid", np.float64, {}),
    ("same_strided", np.float32, {"static": "all"}),
    ("valid", np.float32, {"static": "none"}),
]
CASES += [
    *each("Conv3DBackpropInput Conv3DBackpropFilter", of_old_graphs),
    *each("Conv2DBackpropInputV2 Conv2DBackpropFilterV2", of_tensors),
]


def fused(op: str, name: str, dtype: Any = np.float64, **how: Any) -> Case:
    """One image, because the kernel convolves the first image of a batch of two twice."""
    paddings = np.array([[0, 0], [1, 2], [2, 0], [0, 0]], np.int32)
    # Images are resized in single precision.
    width = {} if dtype == np.float64 and op == "FusedPadConv2D" else SINGLE
    how = {**window(1, 2, 1, 1), "paddings": paddings, **width, **how}
    return numeric(op, name, *randoms(dtype, (1, *IMAGE[1:]), KERNEL), **how)


pad, resize = (functools.partial(fused, f"Fused{op}Conv2D") for op in ("Pad", "ResizeAndPad"))
CASES += [
    pad("reflect", mode="REFLECT"),
    pad("symmetric", mode="SYMMETRIC", padding="SAME", static="all"),
    pad("float", np.float32, mode="REFLECT", static="none"),
    resize("reflect", size=[6, 3], mode="REFLECT"),
    resize("align_corners", size=[4, 7], mode="SYMMETRIC", resize_align_corners=True),
    resize("float", np.float32, size=[3, 5], mode="REFLECT", padding="SAME"),
]
