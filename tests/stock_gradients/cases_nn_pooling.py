"""Gradients of pooling and grayscale dilation and of their gradients."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from old_ops import fed
from parity import Case
from random_values import distinct, normal
from rows import call, case, each, ints, numeric

# Windows of different kinds: overlapping, with gaps, padded, uneven.
WINDOWS_2D: dict[str, dict[str, Any]] = {
    "valid": {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"},
    "same_overlapping": {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    "uneven": {"ksize": [1, 2, 3, 1], "strides": [1, 3, 1, 1], "padding": "VALID"},
}
WINDOWS_3D: dict[str, dict[str, Any]] = {
    "valid": {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"},
    "same_overlapping": {"ksize": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 2, 1], "padding": "SAME"},
    "uneven": {"ksize": [1, 1, 2, 3, 1], "strides": [1, 2, 1, 2, 1], "padding": "VALID"},
}
IMAGES = (2, 5, 6, 3)
VOLUMES = (2, 4, 5, 4, 2)
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}


def evaluate(op: str, x: np.ndarray, **how: Any) -> Any:
    """The op's results in a separate graph."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(call(op, tf.constant(x), **how))


def tables(op: str) -> tuple[tuple[int, ...], dict[str, dict[str, Any]], str]:
    """A shape and windows for the op, and the part of its name for 3-D."""
    return (VOLUMES, WINDOWS_3D, "3D") if "3D" in op else (IMAGES, WINDOWS_2D, "")


# ---- Averages and maxima


def avg_pool_grad(op: str) -> Iterator[Case]:
    shape, windows, suffix = tables(op)
    for name, window in windows.items():
        for dtype in (np.float32, ml_dtypes.bfloat16 if suffix else np.float64):
            pooled = evaluate(f"AvgPool{suffix}", normal(*shape, dtype=dtype), **window)
            dy = normal(*pooled.shape, dtype=dtype, seed=1)
            how = {"orig_input_shape": shape, **window}
            yield case(op, f"{name}_{np.dtype(dtype).name}", dy, **how)

    def swapped(dy: Any, shape: Any, **how: Any) -> Any:
        return call(op, shape, dy, **how)

    yield case(op, "shape_is_an_input", dy, ints(*shape), build=swapped, **window)
    if not suffix:  # AvgPool3D has no double
        yield numeric(op, "numeric", dy, static="all", **how)


def max_pool_grad(op: str, dtypes: list[Any]) -> Iterator[Case]:
    """By all inputs."""
    shape, windows, suffix = tables(op)

    def inputs(x: np.ndarray, seed: int, **window: Any) -> tuple[np.ndarray, ...]:
        y = evaluate(f"MaxPool{suffix}", x, **window)
        gradient_of = x if op.endswith("GradGrad") else y
        return x, y, normal(*gradient_of.shape, seed=seed).astype(x.dtype)

    for name, window in windows.items():
        for dtype in dtypes:
            arrays = inputs(distinct(*shape, dtype=dtype), 1, **window)
            yield case(op, f"{name}_{np.dtype(dtype).name}", *arrays, **window)
    ties = np.floor(normal(*shape)).astype(np.float32)
    yield case(op, "ties", *inputs(ties, 0, **window), static="all", **window)


def max_pool_grad_v2(op: str) -> Iterator[Case]:
    x = distinct(*IMAGES)
    for name, window in WINDOWS_2D.items():
        y = evaluate("MaxPool", x, **window)
        d = normal(*(x if op == "MaxPoolGradGradV2" else y).shape, seed=1)
        sizes = ints(*window["ksize"]), ints(*window["strides"])
        row = functools.partial(numeric, wrt=[2], padding=window["padding"])
        # Python has no gradient of MaxPoolGradGradV2, so none of second order.
        reference = "numeric" if op == "MaxPoolGradGradV2" else "python"
        yield row(op, name, x, y, d, *sizes, reference=reference)
        yield row(op, f"{name}_numeric", x, y, d, *sizes)


def explicit(name: str, paddings: list[int], ksize: list[int]) -> Case:
    """Python refuses explicit paddings; negative images show the padding value."""
    window = {"ksize": ksize, "strides": [1, 2, 1, 1], "padding": "EXPLICIT"}
    window["explicit_paddings"] = paddings
    x = distinct(*IMAGES) - 20
    y = evaluate("MaxPool", x, **window)
    return numeric("MaxPoolGrad", name, x, y, normal(*y.shape), wrt=[2], **window)


def same_size(op: str) -> Case:
    """As many maxima as pixels, for an image and for gradients that no client holds.

    The kernel of MaxPoolGradGrad overwrites such a gradient before it reads it, so Python is not a
    reference.
    """
    shape, _, suffix = tables(op)
    axes = len(shape) - 2

    def build(x: Any) -> Any:
        window = {"ksize": [1, *[2] * axes, 1], "strides": [1] * len(shape)}
        if op == "MaxPoolV2":
            window = {name: tf.constant(sizes) for name, sizes in window.items()}
        return tf.sin(call(op, 0.75 * x, padding="SAME", **window))

    # MaxPool3D has no double.
    coarse = {"step": 1e-2, "tolerance": 1e-3} if suffix else {}
    x = distinct(*shape, dtype=np.float32 if suffix else np.float64)
    return case(op, "same_size", x, build=build, second_order="numeric", **coarse)


MAXIMA = [
    *(same_size(op) for op in ("MaxPool", "MaxPoolV2", "MaxPool3D")),
    *each("AvgPoolGrad AvgPool3DGrad", avg_pool_grad),
    *max_pool_grad("MaxPoolGrad", [np.float64, np.float32]),
    *max_pool_grad("MaxPoolGradGrad", [np.float64, np.float32]),
    *max_pool_grad("MaxPool3DGrad", [np.float32, ml_dtypes.bfloat16]),
    *max_pool_grad("MaxPool3DGradGrad", [np.float32]),
    *each("MaxPoolGradV2 MaxPoolGradGradV2", max_pool_grad_v2),
    explicit("explicit", [0, 0, 1, 1, 1, 0, 0, 0], [1, 3, 2, 1]),
    explicit("explicit_one_side", [0, 0, 0, 2, 0, 1, 0, 0], [1, 3, 3, 1]),
]

# ---- With their positions


def with_argmax(name: str, window: str, x: Any = None, **more: Any) -> Case:
    how = {"then": lambda y, _: y, "second_order": "numeric", **WINDOWS_2D[window], **more}
    return case("MaxPoolWithArgmax", name, distinct(*IMAGES) if x is None else x, **how)


def grad_with_argmax(name: str, batch: bool) -> Case:
    """Its own gradient, which Python lacks, through the forward op's argmax."""
    how = {"include_batch_in_index": batch, **WINDOWS_2D[name]}

    def build(x: Any, dy: Any) -> Any:
        _, argmax = call("MaxPoolWithArgmax", x, **how)
        return call("MaxPoolGradWithArgmax", x, dy, argmax, **how)

    x = distinct(*IMAGES)
    dy = normal(*evaluate("MaxPoolWithArgmax", x, **how)[0].shape)
    return numeric("MaxPoolGradWithArgmax", name, x, dy, build=build, wrt=[1])


@tf.RegisterGradient("ScatterToArgmax")
def _scatter_to_argmax(op: tf.Operation, upstream: tf.Tensor) -> Any:
    image, grad, argmax = op.inputs
    dgrad = tf.scatter_nd(
        tf.reshape(argmax, [-1, 1]),
        tf.reshape(upstream, [-1]),
        tf.reshape(tf.size(grad, argmax.dtype), [1]),
    )
    return tf.zeros_like(image), tf.reshape(dgrad, tf.shape(grad)), None


def grad_grad_with_argmax(name: str, dtype: Any, **more: Any) -> Case:
    """It has kernels only for GPUs, so outputs are fed."""
    op, how = "MaxPoolGradGradWithArgmax", {"include_batch_in_index": True, **WINDOWS_2D[name]}
    x, grad = distinct(*IMAGES, dtype=dtype), normal(*IMAGES, dtype=dtype)
    argmax = evaluate("MaxPoolWithArgmax", x, **how)[1]
    how |= {"argmax": argmax, "build": fed(op, "ScatterToArgmax"), **more}
    return case(op, name, x, grad, also_fed={"fed:0": grad.ravel()[argmax]}, **how)


TIED = np.floor(normal(*IMAGES, dtype=np.float32))
PLACES = [
    *(
        with_argmax(f"{name}{suffix}", name, include_batch_in_index=batch)
        for name in WINDOWS_2D
        for suffix, batch in (("", False), ("_batch_in_index", True))
    ),
    with_argmax("ties", "uneven", TIED, second_order=None, include_batch_in_index=True),
    # Python's gradient needs a kernel that does not exist.
    with_argmax("int32_index", "valid", reference="numeric", static="all", Targmax=tf.int32),
    grad_with_argmax("valid", batch=False),
    grad_with_argmax("same_overlapping", batch=True),
    grad_with_argmax("uneven", batch=False),
    grad_grad_with_argmax("valid", np.float64),
    grad_grad_with_argmax("same_overlapping", np.float32, static="all"),
    grad_grad_with_argmax("uneven", np.float64, static="none"),
]

# ---- Gradients of the gradients of fractional pooling, which Python lacks

# Where the cells of 7 rows and 6 columns begin, and where the last ones end.
ROWS, COLUMNS = np.array([0, 2, 3, 5, 7]), np.array([0, 1, 3, 6])


def maxima(x: np.ndarray, extra: int) -> np.ndarray:
    cells = [
        [
            x[:, top : bottom + extra, left : right + extra].max((1, 2))
            for left, right in itertools.pairwise(COLUMNS)
        ]
        for top, bottom in itertools.pairwise(ROWS)
    ]
    return np.moveaxis(np.array(cells), 2, 0)


def fractional_max_grad(name: str, x: np.ndarray, overlapping: bool, **more: Any) -> Case:
    y = maxima(x, int(overlapping))
    cells = {"row_pooling_sequence": ROWS, "col_pooling_sequence": COLUMNS}
    inputs = x, y, normal(*y.shape, dtype=x.dtype, seed=1)
    # By x and y it is constant, except where these no longer match each other.
    how = {"wrt": [2], "overlapping": overlapping, **cells, **more}
    return numeric("FractionalMaxPoolGrad", name, *inputs, **how)


def fractional_avg_grad(name: str, overlapping: bool, dtype: Any = np.float64, **more: Any) -> Case:
    inputs = np.array([2, 7, 6, 3]), normal(2, 4, 3, 3, dtype=dtype), ROWS, COLUMNS
    return numeric("FractionalAvgPoolGrad", name, *inputs, overlapping=overlapping, **more)


SINGLE: dict[str, Any] = {"step": 1.0, "tolerance": None}
APART, TIES = distinct(2, 7, 6, 3), np.floor(normal(2, 7, 6, 3))
FRACTIONAL = [
    fractional_max_grad("apart", APART, False),
    fractional_max_grad("overlapping", APART, True),
    fractional_max_grad("float", APART.astype(np.float32), False, **SINGLE),
    fractional_max_grad("overlapping_float", APART.astype(np.float32), True, **SINGLE),
    fractional_max_grad("ties", TIES, False, static="all"),
    fractional_max_grad("overlapping_ties", TIES, True, static="all"),
    fractional_max_grad("unknown_rank", APART, True, static="none"),
    fractional_avg_grad("apart", False),
    fractional_avg_grad("overlapping", True),
    fractional_avg_grad("float", False, np.float32, **SINGLE),
    fractional_avg_grad("overlapping_float", True, np.float32, static="all", **SINGLE),
    fractional_avg_grad("unknown_rank", True, static="none"),
]

# ---- Grayscale dilation: a maximum of sums with a filter

DILATIONS: dict[str, dict[str, Any]] = {
    "valid": {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"},
    "same_strided": {"strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"},
    "dilated": {"strides": [1, 1, 2, 1], "rates": [1, 2, 1, 1], "padding": "VALID"},
    "same_dilated": {"strides": [1, 1, 2, 1], "rates": [1, 2, 3, 1], "padding": "SAME"},
}


def image_and_filter(dtype: Any) -> list[np.ndarray]:
    """Away from the multiples of 1/8, so no sums are equal."""
    # NumPy 2.0 makes a float of bfloat16 minus an integer.
    return [
        (distinct(2, 6, 5, 2, dtype=dtype) - 9).astype(dtype),
        (normal(3, 2, 2) / 3).astype(dtype),
    ]


def dilation(window: str, dtype: Any = np.float64, name: str = "", **more: Any) -> Case:
    # Python has no second order.
    how = {"second_order": "numeric", **DILATIONS[window], **more}
    name = name or f"{window}_{np.dtype(dtype).name}"
    return case("Dilation2D", name, *image_and_filter(dtype), **how)


def dilation_gradients(op: str) -> Iterator[Case]:
    def row(window: str, dtype: Any = np.float64, name: str = "", **more: Any) -> Case:
        x, f = image_and_filter(dtype)
        with tf.Graph().as_default():
            zeros = tf.zeros(x.shape), tf.zeros(f.shape)
            shape = call("Dilation2D", *zeros, **DILATIONS[window]).shape
        width = {} if dtype == np.float64 else SINGLE
        how = {"wrt": [2], **DILATIONS[window], **width, **more}
        name = name or f"{window}_{np.dtype(dtype).name}"
        return numeric(op, name, x, f, normal(*shape).astype(dtype), **how)

    yield from map(row, DILATIONS)
    yield row("valid", np.float32, static="all")
    yield row("same_strided", np.float32, static="none")
    yield row("valid", np.float16)
    yield row("dilated", ml_dtypes.bfloat16)
    # The positions of the winners do not change.
    yield row("valid", name="by_all", wrt=None)


DILATION = [
    dilation("valid"),
    dilation("same_strided"),
    dilation("dilated", np.float32, second_order=None),
    dilation("same_dilated"),
    dilation("valid", np.float32, step=1.0, second_order=None, static="all"),
    dilation("same_strided", name="numeric", reference="numeric", static="none"),
    *each("Dilation2DBackpropInput Dilation2DBackpropFilter", dilation_gradients),
]

CASES = [*MAXIMA, *PLACES, *FRACTIONAL, *DILATION]
