# SPDX-License-Identifier: Apache-2.0
"""Gradients of batch normalization and of its gradients."""

from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal

raw = tf.raw_ops

IMAGES = {"NHWC": (3, 4, 2, 5), "NCHW": (3, 5, 4, 2)}
VOLUMES = {"NDHWC": (2, 3, 2, 3, 4), "NCDHW": (2, 4, 3, 2, 3)}
LAYOUTS = {**IMAGES, **VOLUMES}


def _channels(layout: str) -> int:
    return LAYOUTS[layout][layout.index("C")]


def _statistics(channels: int) -> list[np.ndarray]:
    """A mean and a variance of each channel."""
    mean = normal(channels, dtype=np.float32, seed=3)
    return [mean, np.square(normal(channels, dtype=np.float32, seed=4)) + 0.5]


def _fused(
    op: str,
    name: str,
    layout: str = "NHWC",
    training: bool = True,
    dtype: Any = np.float32,
    **attributes: Any,
) -> Case:
    """By x, scale and offset; without training the statistics are inputs."""
    channels = _channels(layout)
    x = (normal(*LAYOUTS[layout]) * 2 + 1).astype(dtype)
    scale, offset = (normal(channels, dtype=np.float32, seed=s) for s in (1, 2))
    given = [] if training else _statistics(channels)
    empty = np.zeros([0], np.float32)

    def build(x: Any, scale: Any, offset: Any, *statistics: Any) -> Any:
        mean, variance = statistics or (empty, empty)
        return getattr(raw, op)(
            x=x,
            scale=scale,
            offset=offset,
            mean=mean,
            variance=variance,
            is_training=training,
            data_format=layout,
            **attributes,
        )[0]

    return Case(
        op,
        name,
        build,
        [x, scale, offset, *given],
        tolerance=None if x.dtype == np.float32 else 5e-2,
    )


def _fused_grad(
    op: str,
    name: str,
    layout: str = "NHWC",
    training: bool = True,
    dtype: Any = np.float32,
    outputs: tuple[int, ...] = (0, 1, 2),
    **attributes: Any,
) -> Case:
    """By the upstream gradient, x and scale; `outputs` of the three are used.

    Python's own second order in training takes the mean that is subtracted in
    the variance for a constant, which is wrong by a constant in each channel.
    """
    channels = _channels(layout)
    shape = LAYOUTS[layout]
    dy, x = normal(*shape, seed=1).astype(dtype), normal(*shape).astype(dtype)
    scale = normal(channels, dtype=np.float32, seed=2)
    mean, variance = _statistics(channels)
    if training:
        axes = tuple(i for i, axis in enumerate(layout) if axis != "C")
        wide = x.astype(np.float64)
        mean = wide.mean(axes).astype(np.float32)
        variance = wide.var(axes).astype(np.float32)

    def build(dy: Any, x: Any, scale: Any, mean: Any, variance: Any) -> Any:
        reserved = {"reserve_space_1": mean, "reserve_space_2": variance}
        if op.endswith("V3"):
            reserved["reserve_space_3"] = np.zeros([0], np.float32)
        results = getattr(raw, op)(
            y_backprop=dy,
            x=x,
            scale=scale,
            is_training=training,
            data_format=layout,
            **reserved,
            **attributes,
        )
        return [results[i] for i in outputs]

    more: dict[str, Any] = {"second_order": None if training else "python"}
    if x.dtype != np.float32:
        more["tolerance"] = 5e-2
    return Case(op, name, build, [dy, x, scale, mean, variance], **more)


def _fused_grad_numeric(op: str, name: str, outputs: tuple[int, ...], layout: str = "NHWC") -> Case:
    """As above in training, with the statistics of x as x varies."""
    version = op.removeprefix("FusedBatchNormGrad")
    attributes = {"data_format": layout, "is_training": True, "epsilon": 0.1}

    def build(dy: Any, x: Any, scale: Any) -> Any:
        empty = tf.zeros([0])
        forward = getattr(raw, f"FusedBatchNorm{version}")(
            x=x, scale=scale, offset=scale, mean=empty, variance=empty, **attributes
        )
        reserved = {f"reserve_space_{i + 1}": value for i, value in enumerate(forward[3:])}
        results = getattr(raw, op)(y_backprop=dy, x=x, scale=scale, **reserved, **attributes)
        return [results[i] for i in outputs]

    shape = LAYOUTS[layout]
    dy, x = normal(*shape, dtype=np.float32, seed=1), normal(*shape, dtype=np.float32)
    return Case(
        op,
        name,
        build,
        [dy, x, normal(_channels(layout), dtype=np.float32, seed=2)],
        reference="numeric",
        second_order="numeric",
        step=1e-2,
        tolerance=2e-3,
    )


def _global(name: str, scaled: bool, **more: Any) -> Case:
    def build(x: Any, mean: Any, variance: Any, beta: Any, gamma: Any) -> Any:
        # The op is of graphs older than version 9.
        tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": 8}))
        return raw.BatchNormWithGlobalNormalization(
            t=x,
            m=mean,
            v=variance,
            beta=beta,
            gamma=gamma,
            variance_epsilon=1e-3,
            scale_after_normalization=scaled,
        )

    return Case(
        "BatchNormWithGlobalNormalization",
        name,
        build,
        [
            normal(2, 3, 4, 5, dtype=np.float32),
            *_statistics(5),
            *(normal(5, dtype=np.float32, seed=s) for s in (1, 2)),
        ],
        **more,
    )


def _global_grad(
    name: str,
    scaled: bool,
    dtype: Any = np.float64,
    outputs: tuple[int, ...] = (0, 1, 2, 3, 4),
    **more: Any,
) -> Case:
    op = "BatchNormWithGlobalNormalizationGrad"

    def build(x: Any, mean: Any, variance: Any, gamma: Any, dy: Any) -> Any:
        tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": 8}))
        results = getattr(raw, op)(
            t=x,
            m=mean,
            v=variance,
            gamma=gamma,
            backprop=dy,
            variance_epsilon=1e-3,
            scale_after_normalization=scaled,
        )
        return [results[i] for i in outputs]

    images = normal(2, 3, 2, 4)
    inputs = [images, *_statistics(4), normal(4, seed=1), normal(2, 3, 2, 4, seed=2)]
    return Case(
        op,
        name,
        build,
        [value.astype(dtype) for value in inputs],
        reference="numeric",
        second_order="numeric",
        **more,
    )


CASES = [
    _fused("FusedBatchNorm", "training"),
    _fused("FusedBatchNorm", "training_epsilon", epsilon=0.1),
    _fused("FusedBatchNorm", "frozen", training=False),
    _fused("FusedBatchNorm", "frozen_epsilon", training=False, epsilon=0.1),
    _fused("FusedBatchNorm", "channels_first", layout="NCHW"),
    _fused("FusedBatchNorm", "channels_first_frozen", layout="NCHW", training=False),
    _fused("FusedBatchNormV2", "training"),
    _fused("FusedBatchNormV2", "training_epsilon", epsilon=0.1),
    _fused("FusedBatchNormV2", "frozen", training=False),
    _fused("FusedBatchNormV2", "channels_first", layout="NCHW"),
    _fused("FusedBatchNormV2", "channels_first_frozen", layout="NCHW", training=False),
    _fused("FusedBatchNormV2", "half", dtype=np.float16),
    _fused("FusedBatchNormV2", "bfloat16_frozen", training=False, dtype=ml_dtypes.bfloat16),
    *(
        case
        for op in ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
        for case in (
            _fused_grad(op, "training"),
            _fused_grad(op, "training_epsilon", epsilon=0.1),
            _fused_grad(op, "training_by_x_only", outputs=(0,)),
            _fused_grad(op, "training_by_scale_only", outputs=(1,)),
            _fused_grad(op, "frozen", training=False, epsilon=0.01),
            _fused_grad(op, "channels_first", layout="NCHW"),
            _fused_grad_numeric(op, "numeric", (0, 1, 2)),
            _fused_grad_numeric(op, "numeric_by_x_only", (0,)),
            _fused_grad_numeric(op, "numeric_channels_first", (0, 1, 2), "NCHW"),
        )
    ),
    _fused_grad("FusedBatchNormGradV2", "half", dtype=np.float16),
    _fused_grad("FusedBatchNormGradV3", "half", dtype=np.float16),
    _fused_grad("FusedBatchNormGradV3", "volumes", layout="NDHWC"),
    _fused_grad("FusedBatchNormGradV3", "volumes_frozen", layout="NDHWC", training=False),
    _fused_grad("FusedBatchNormGradV3", "volumes_channels_first", layout="NCDHW"),
    # Python cannot differentiate these twice.
    _global("scaled", True, second_order=None),
    _global("unscaled", False, second_order=None),
    _global("scaled_known_shapes", True, second_order=None, known_shapes=True),
    _global("scaled_numeric", True, second_order="numeric", step=1e-2, tolerance=2e-3),
    _global("unscaled_numeric", False, second_order="numeric", step=1e-2, tolerance=2e-3),
    _global_grad("scaled", True),
    _global_grad("unscaled", False),
    _global_grad("known_shapes", True, known_shapes=True),
    _global_grad("unknown_rank", False, known_shapes="rank"),
    _global_grad("by_one", True, outputs=(2,)),
    _global_grad("float", True, np.float32, step=1e-2, tolerance=5e-3),
]
