"""Gradients of batch normalization and of its gradients."""

import functools
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from old_ops import of_version
from parity import Case
from random_values import normal, single
from rows import call, case, each, numeric, output

LAYOUTS = {
    "NHWC": (3, 4, 2, 5),
    "NCHW": (3, 5, 4, 2),
    "NDHWC": (2, 3, 2, 3, 4),
    "NCDHW": (2, 4, 3, 2, 3),
}
NONE = np.zeros([0], np.float32)
HALF: dict[str, Any] = {"dtype": np.float16, "tolerance": 5e-2}
COARSE: dict[str, Any] = {"step": 1e-2, "tolerance": 2e-3}


def channels(layout: str) -> int:
    return LAYOUTS[layout][layout.index("C")]


def statistics(count: int) -> list[np.ndarray]:
    """A mean and a variance of each channel."""
    return [single(count, seed=3), np.square(single(count, seed=4)) + 0.5]


# ---- Fused


def fused(
    op: str,
    name: str,
    layout: str = "NHWC",
    training: bool = True,
    dtype: Any = np.float32,
    **more: Any,
) -> Case:
    """By x, scale and offset; without training, the statistics are inputs."""
    count = channels(layout)
    x = (normal(*LAYOUTS[layout]) * 2 + 1).astype(dtype)
    inputs = [x, single(count, seed=1), single(count, seed=2)]
    how = {"is_training": training, "data_format": layout, "then": lambda y, *_: y, **more}
    if training:
        return case(op, name, *inputs, mean=NONE, variance=NONE, **how)
    return case(op, name, *inputs, *statistics(count), **how)


def fused_grad(
    op: str,
    name: str,
    layout: str = "NHWC",
    training: bool = True,
    dtype: Any = np.float32,
    outputs: tuple[int, ...] = (0, 1, 2),
    **more: Any,
) -> Case:
    """By the upstream gradient, x and scale; `outputs` of the three are used.

    In training, Python's own second order treats the mean that is subtracted in the variance as a
    constant, which is wrong by a constant in each channel.
    """
    shape, count = LAYOUTS[layout], channels(layout)
    dy, x = normal(*shape, seed=1).astype(dtype), normal(*shape).astype(dtype)
    mean, variance = statistics(count)
    if training:
        axes, wide = tuple(i for i, axis in enumerate(layout) if axis != "C"), x.astype(np.float64)
        mean, variance = (v.astype(np.float32) for v in (wide.mean(axes), wide.var(axes)))
    how: dict[str, Any] = {"reserve_space_3": NONE} if op.endswith("V3") else {}
    how |= {"is_training": training, "data_format": layout, "then": output(*outputs), **more}
    second = None if training else "python"
    inputs = dy, x, single(count, seed=2), mean, variance
    return case(op, name, *inputs, second_order=second, **how)


def fused_grad_numeric(op: str, name: str, outputs: tuple[int, ...], layout: str = "NHWC") -> Case:
    """As above, in training, with the statistics of x as x varies."""
    forward = op.replace("NormGrad", "Norm")

    def build(dy: Any, x: Any, scale: Any, **how: Any) -> Any:
        empty = tf.zeros([0])
        reserved = call(forward, x, scale, scale, empty, empty, **how)[3:]
        return call(op, dy, x, scale, *reserved, **how)

    shape, how = LAYOUTS[layout], {"data_format": layout, "is_training": True, "epsilon": 0.1}
    inputs = single(*shape, seed=1), single(*shape), single(channels(layout), seed=2)
    return numeric(op, name, *inputs, build=build, then=output(*outputs), **how, **COARSE)


first, second = (functools.partial(fused, f"FusedBatchNorm{version}") for version in ("", "V2"))
grad_v2 = functools.partial(fused_grad, "FusedBatchNormGradV2")
grad_v3 = functools.partial(fused_grad, "FusedBatchNormGradV3")
FUSED = [
    *each(
        "FusedBatchNorm FusedBatchNormV2",
        lambda op: [
            fused(op, "training"),
            fused(op, "training_epsilon", epsilon=0.1),
            fused(op, "frozen", training=False),
            fused(op, "channels_first", "NCHW"),
            fused(op, "channels_first_frozen", "NCHW", training=False),
        ],
    ),
    first("frozen_epsilon", training=False, epsilon=0.1),
    second("half", **HALF),
    second("bfloat16_frozen", training=False, dtype=ml_dtypes.bfloat16, tolerance=5e-2),
    *each(
        "FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3",
        lambda op: [
            fused_grad(op, "training"),
            fused_grad(op, "training_epsilon", epsilon=0.1),
            fused_grad(op, "training_by_x_only", outputs=(0,)),
            fused_grad(op, "training_by_scale_only", outputs=(1,)),
            fused_grad(op, "frozen", training=False, epsilon=0.01),
            fused_grad(op, "channels_first", "NCHW"),
            fused_grad_numeric(op, "numeric", (0, 1, 2)),
            fused_grad_numeric(op, "numeric_by_x_only", (0,)),
            fused_grad_numeric(op, "numeric_channels_first", (0, 1, 2), "NCHW"),
        ],
    ),
    grad_v2("half", **HALF),
    grad_v3("half", **HALF),
    grad_v3("volumes", "NDHWC"),
    grad_v3("volumes_frozen", "NDHWC", training=False),
    grad_v3("volumes_channels_first", "NCDHW"),
]

# ---- With global normalization: of graphs older than version 9

SCALED = {"variance_epsilon": 1e-3, "scale_after_normalization": True}
UNSCALED = {**SCALED, "scale_after_normalization": False}


def in_old_graph(op: str, *inputs: Any, **more: Any) -> functools.partial[Case]:
    build = of_version(8, functools.partial(call, op))
    return functools.partial(case, op, build=build, **more)


GLOBAL_INPUTS = [single(2, 3, 4, 5), *statistics(5), single(5, seed=1), single(5, seed=2)]
# Python cannot differentiate it twice.
in_global = in_old_graph("BatchNormWithGlobalNormalization", second_order=None)
DIFFERENCES: dict[str, Any] = {"second_order": "numeric", **COARSE}
GRAD_INPUTS = [normal(2, 3, 2, 4), *statistics(4), normal(4, seed=1), normal(2, 3, 2, 4, seed=2)]
DOUBLE, SINGLE = ([v.astype(dtype) for v in GRAD_INPUTS] for dtype in (np.float64, np.float32))
global_grad = in_old_graph(
    "BatchNormWithGlobalNormalizationGrad", reference="numeric", second_order="numeric"
)
GLOBAL = [
    in_global("scaled", *GLOBAL_INPUTS, **SCALED),
    in_global("unscaled", *GLOBAL_INPUTS, **UNSCALED),
    in_global("scaled_known_shapes", *GLOBAL_INPUTS, static="all", **SCALED),
    in_global("scaled_numeric", *GLOBAL_INPUTS, **SCALED, **DIFFERENCES),
    in_global("unscaled_numeric", *GLOBAL_INPUTS, **UNSCALED, **DIFFERENCES),
    global_grad("scaled", *DOUBLE, **SCALED),
    global_grad("unscaled", *DOUBLE, **UNSCALED),
    global_grad("known_shapes", *DOUBLE, static="all", **SCALED),
    global_grad("unknown_rank", *DOUBLE, static="none", **UNSCALED),
    global_grad("by_one", *DOUBLE, then=output(2), **SCALED),
    global_grad("float", *SINGLE, step=1e-2, tolerance=5e-3, **SCALED),
]

CASES = [*FUSED, *GLOBAL]
