# SPDX-License-Identifier: Apache-2.0
"""XLA's convolution: strides, paddings, dilations, groups, axes in any order.

XLA crashes on complex ones on a CPU: there are no cases of those.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal
from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla
from tensorflow.compiler.xla import xla_data_pb2


def _numbers(lhs: str, rhs: str, out: str) -> bytes:
    """Orders of axes: n the batch, c features, 0, 1, ... the space, i and o features
    of the kernel.
    """
    space = [str(i) for i in range(len(lhs) - 2)]
    return xla_data_pb2.ConvolutionDimensionNumbers(
        input_batch_dimension=lhs.index("n"),
        input_feature_dimension=lhs.index("c"),
        input_spatial_dimensions=[lhs.index(axis) for axis in space],
        kernel_input_feature_dimension=rhs.index("i"),
        kernel_output_feature_dimension=rhs.index("o"),
        kernel_spatial_dimensions=[rhs.index(axis) for axis in space],
        output_batch_dimension=out.index("n"),
        output_feature_dimension=out.index("c"),
        output_spatial_dimensions=[out.index(axis) for axis in space],
    ).SerializeToString()


def _convolution(
    axes: tuple[str, str, str] = ("n0c", "0io", "n0c"),
    strides: Sequence[int] = (1,),
    padding: Sequence[Sequence[int]] = ((0, 0),),
    lhs_dilation: Sequence[int] = (1,),
    rhs_dilation: Sequence[int] = (1,),
    groups: int = 1,
    index: Any = tf.int32,
    **second_version: Any,
) -> Callable[..., Any]:
    def build(lhs: Any, rhs: Any) -> Any:
        how = {
            "lhs": lhs,
            "rhs": rhs,
            "window_strides": tf.constant(strides, index),
            "padding": tf.constant(padding, index),
            "lhs_dilation": tf.constant(lhs_dilation, index),
            "rhs_dilation": tf.constant(rhs_dilation, index),
            "feature_group_count": tf.constant(groups, index),
            "dimension_numbers": _numbers(*axes),
            "precision_config": "",
        }
        if second_version:
            return xla.xla_conv_v2(**how, **second_version)
        return xla.xla_conv(**how)

    return build


PLANE: Any = {
    "axes": ("0nc1", "oi10", "c1n0"),
    "strides": (2, 1),
    "padding": ((1, 0), (-1, 2)),
    "lhs_dilation": (1, 2),
    "rhs_dilation": (2, 1),
}
Shapes = tuple[tuple[int, ...], tuple[int, ...]]
LINES: Shapes = ((2, 5, 2), (3, 2, 3))
PLANES: Shapes = ((5, 2, 2, 4), (3, 2, 2, 2))
KINDS: dict[str, tuple[dict[str, Any], Shapes]] = {
    "plain": ({}, LINES),
    "strides": ({"strides": (2,), "padding": ((1, 1),)}, LINES),
    "rest_of_the_strides": ({"strides": (3,)}, LINES),
    "cropped_and_padded": ({"padding": ((-1, 4),)}, LINES),
    "lhs_dilation": ({"lhs_dilation": (3,), "padding": ((2, 1),)}, LINES),
    "rhs_dilation": ({"rhs_dilation": (2,), "strides": (2,)}, LINES),
    "groups": ({"groups": 2, "strides": (2,)}, ((2, 5, 4), (3, 2, 6))),
    "depthwise": ({"groups": 3}, ((2, 4, 3), (2, 1, 3))),
    "no_lines": ({"padding": ((1, 1),)}, ((0, 5, 2), (3, 2, 3))),
    "plane": (PLANE, PLANES),
    "plane_in_groups": ({**PLANE, "groups": 2}, ((5, 2, 4, 4), (4, 2, 2, 2))),
}


def _case(op: str, name: str, shapes: Shapes, how: dict[str, Any]) -> Case:
    return Case(
        op,
        name,
        _convolution(**how),
        [normal(*shape) for shape in shapes],
        reference="numeric",
        second_order="numeric",
        known_shapes=name in ("strides", "groups", "plane"),
    )


def _all() -> Iterator[Case]:
    for name, (how, shapes) in KINDS.items():
        yield _case("XlaConv", name, shapes, how)
    second: dict[str, Any] = {"preferred_element_type": tf.float64}
    for name in ("rhs_dilation", "plane_in_groups"):
        how, shapes = KINDS[name]
        yield _case("XlaConvV2", name, shapes, {**how, **second})
    second["batch_group_count"] = 2
    strided = {"strides": (2,), "padding": ((1, 0),), "index": tf.int64}
    yield _case("XlaConvV2", "batch_groups", ((4, 5, 2), (3, 2, 4)), {**strided, **second})
    yield _case(
        "XlaConvV2", "plane_in_batch_groups", ((5, 4, 2, 4), (4, 2, 2, 2)), {**PLANE, **second}
    )
    yield Case(
        "XlaConvV2",
        "of_halves_in_float",
        _convolution(preferred_element_type=tf.float32),
        [np.round(normal(*shape), 1).astype(np.float16) for shape in LINES],
        reference="numeric",
        second_order="numeric",
        step=0.25,
        tolerance=1e-2,
    )


CASES = [*_all()]
