"""XLA's convolution; XLA's ops in functions that XLA compiles, and their gradients with them.

There are no complex convolutions, because XLA crashes on them on a CPU.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import cases_xla
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal
from rows import call, floats, numeric
from tensorflow.compiler.xla import xla_data_pb2

# ---- Convolution: strides, paddings, dilations, groups, axes in any order


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
    lhs: Any,
    rhs: Any,
    axes: tuple[str, str, str] = ("n0c", "0io", "n0c"),
    strides: Sequence[int] = (1,),
    padding: Sequence[Sequence[int]] = ((0, 0),),
    lhs_dilation: Sequence[int] = (1,),
    rhs_dilation: Sequence[int] = (1,),
    groups: int = 1,
    index: Any = tf.int32,
    **second_version: Any,
) -> Any:
    windows = (strides, padding, lhs_dilation, rhs_dilation, groups)
    constants = [tf.constant(value, index) for value in windows]
    how = {"dimension_numbers": _numbers(*axes), "precision_config": "", **second_version}
    return call("XlaConvV2" if second_version else "XlaConv", lhs, rhs, *constants, **how)


Shape = tuple[int, ...]
LINES = (2, 5, 2), (3, 2, 3)
PLANE: dict[str, Any] = {
    "axes": ("0nc1", "oi10", "c1n0"),
    "strides": (2, 1),
    "padding": ((1, 0), (-1, 2)),
    "lhs_dilation": (1, 2),
    "rhs_dilation": (2, 1),
}
DOUBLE: dict[str, Any] = {"preferred_element_type": tf.float64}
BATCHES: dict[str, Any] = {"batch_group_count": 2, "index": tf.int64, **DOUBLE}
IN_FLOAT = {"preferred_element_type": tf.float32, "step": 0.25, "tolerance": 1e-2}


def row(name: str, lhs: Shape, rhs: Shape, op: str = "XlaConv", **how: Any) -> Case:
    return numeric(op, name, normal(*lhs), normal(*rhs), build=_convolution, **how)


def second(name: str, lhs: Shape, rhs: Shape, **how: Any) -> Case:
    return row(name, lhs, rhs, "XlaConvV2", **how)


HALVES = [np.round(normal(*shape), 1).astype(np.float16) for shape in LINES]
CASES = [
    row("plain", *LINES),
    row("strides", *LINES, strides=(2,), padding=((1, 1),), static="all"),
    row("rest_of_the_strides", *LINES, strides=(3,)),
    row("cropped_and_padded", *LINES, padding=((-1, 4),)),
    row("lhs_dilation", *LINES, lhs_dilation=(3,), padding=((2, 1),)),
    row("rhs_dilation", *LINES, rhs_dilation=(2,), strides=(2,)),
    row("groups", (2, 5, 4), (3, 2, 6), groups=2, strides=(2,), static="all"),
    row("depthwise", (2, 4, 3), (2, 1, 3), groups=3),
    row("no_lines", (0, 5, 2), (3, 2, 3), padding=((1, 1),)),
    row("plane", (5, 2, 2, 4), (3, 2, 2, 2), static="all", **PLANE),
    row("plane_in_groups", (5, 2, 4, 4), (4, 2, 2, 2), groups=2, **PLANE),
    second("rhs_dilation", *LINES, rhs_dilation=(2,), strides=(2,), **DOUBLE),
    second("plane_in_groups", (5, 2, 4, 4), (4, 2, 2, 2), groups=2, **PLANE, **DOUBLE),
    second("batch_groups", (4, 5, 2), (3, 2, 4), strides=(2,), padding=((1, 0),), **BATCHES),
    second("plane_in_batch_groups", (5, 4, 2, 4), (4, 2, 2, 2), **PLANE, **BATCHES),
    numeric("XlaConvV2", "of_halves_in_float", *HALVES, build=_convolution, **IN_FLOAT),
]

# ---- Compiled. Other cases run these ops, and each op of their gradients, by themselves, except
# XlaWhile, which TensorFlow supports only when compiled.

_NAMES = {
    "XlaBroadcastHelper": "lhs",
    "XlaConcatND": "padded",
    "XlaConv": "groups",
    "XlaConvV2": "batch_groups",
    "XlaDot": "batch",
    "XlaDotV2": "two_of_each",
    "XlaDynamicSlice": "beyond_the_end_int32",
    "XlaDynamicUpdateSlice": "complex_int32",
    "XlaGather": "known_shapes",
    "XlaKeyValueSort": "rows",
    "XlaOptimizationBarrier": "of_all_kinds",
    "XlaPad": "cropped",
    "XlaReducePrecision": "float",
    "XlaSelfAdjointEig": "upper",
    "XlaSort": "rows",
    "XlaSplitND": "padded",
    "XlaSvd": "tall",
}


def _compiled(case: Case) -> Case:
    def build(*inputs: Any) -> Any:
        return tf.function(case.build, jit_compile=True)(*inputs)

    return dataclasses.replace(case, name=f"{case.name}_compiled", build=build, static="all")


# ---- XlaWhile


def concrete(function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]
    return tf.function(function).get_concrete_function(*specs)


@functools.partial(tf.function, jit_compile=True, autograph=False)
def loop(x: Any, y: Any, count: Any) -> Any:
    """x sin(y)^count, and y."""
    variables = [tf.constant(0), count, x, y]
    cond = concrete(lambda i, n, x, y: i < n, variables)
    body = concrete(lambda i, n, x, y: (i + 1, n, x * tf.sin(y), y), variables)
    return call("XlaWhile", variables, cond=cond, body=body)[2:]


def three_times(x: Any, y: Any) -> Any:
    return loop(x, y, tf.constant(3))


INPUTS = normal(2), normal(2, seed=1)
COMPLEX = complex_normal(2), complex_normal(2, seed=1)
times = functools.partial(numeric, "XlaWhile", build=three_times, second_order=None)
CASES += [
    *(_compiled(case) for case in [*cases_xla.CASES, *CASES] if case.name == _NAMES[case.op]),
    times("double", *INPUTS),
    times("known_shapes", *INPUTS, static="all"),
    times("complex", *COMPLEX),
    times("float", *floats(*INPUTS), step=2**-6, tolerance=1e-2),
]
