# SPDX-License-Identifier: Apache-2.0
"""Cases of the ops that move or select elements."""

from collections.abc import Callable
from typing import Any

import _compatibility
import numpy as np
import tensorflow as tf
from fed_kernels import outputs_are_fed
from parity import Case
from random_values import sequence

raw = tf.raw_ops
values = sequence(1)


def ints(*numbers: Any, dtype: str = "int32") -> np.ndarray:
    return np.array(numbers, dtype)


def _concat(axis: int) -> Callable[..., Any]:
    return lambda *xs: raw.Concat(concat_dim=axis, values=list(xs))


CONCAT = [
    Case("Concat", "axis0", _concat(0), [values(2, 3), values(1, 3)]),
    Case("Concat", "last_axis", _concat(-1), [values(2, 3), values(2, 1)]),
    Case(
        "Concat",
        "three_float",
        _concat(1),
        [values(2, n, 2, dtype="float32") for n in (1, 3, 2)],
        known_shapes="rank",
    ),
    Case(
        "Concat",
        "empty_value_complex",
        _concat(0),
        [values(0, 2, dtype="complex128"), values(3, 2, dtype="complex128")],
        known_shapes=True,
    ),
    Case(
        "Concat",
        "axis_is_fed",
        lambda axis, x, y: raw.Concat(concat_dim=axis, values=[x, y]),
        [ints(1)[0], values(2, 3), values(2, 2)],
    ),
    Case(
        "Concat",
        "nonlinear",
        lambda x, y: tf.square(raw.Concat(concat_dim=0, values=[x * y, x])),
        [values(2, 3), values(2, 3)],
    ),
    Case("Concat", "half", _concat(0), [values(2, dtype="float16") for _ in "ab"]),
]


def _conjugate_transpose(x: Any, perm: Any) -> Any:
    return raw.ConjugateTranspose(x=x, perm=perm)


CONJUGATE_TRANSPOSE = [
    Case(
        "ConjugateTranspose",
        "complex",
        _conjugate_transpose,
        [values(2, 3, 4, dtype="complex128"), ints(2, 0, 1)],
    ),
    Case(
        "ConjugateTranspose",
        "complex64_int64_perm",
        _conjugate_transpose,
        [values(2, 3, dtype="complex64"), ints(1, 0, dtype="int64")],
        known_shapes=True,
    ),
    Case(
        "ConjugateTranspose",
        "real",
        _conjugate_transpose,
        [values(2, 3, 1), ints(1, 2, 0)],
        known_shapes="rank",
    ),
    Case(
        "ConjugateTranspose",
        "product_with_itself",
        lambda x, perm: tf.matmul(x, _conjugate_transpose(x, perm)),
        [values(2, 3, dtype="complex128"), ints(1, 0)],
    ),
]
if _compatibility.TRANSPOSES_NEGATIVE_AXES:
    CONJUGATE_TRANSPOSE.append(
        Case(
            "ConjugateTranspose",
            "negative_axes",
            _conjugate_transpose,
            [values(2, 3, 4, dtype="complex128"), ints(-1, 0, -2)],
            reference="numeric",
            second_order="numeric",
        )
    )


def _reverse(x: Any, dims: Any) -> Any:
    return raw.Reverse(tensor=x, dims=dims)


REVERSE = [
    Case("Reverse", "one_axis", _reverse, [values(2, 3), np.array([False, True])]),
    Case(
        "Reverse",
        "all_axes_float",
        _reverse,
        [values(2, 3, 2, dtype="float32"), np.array([True, True, True])],
        known_shapes=True,
    ),
    Case(
        "Reverse",
        "complex_product",
        lambda x, dims: x * _reverse(x, dims),
        [values(3, 2, dtype="complex128"), np.array([True, False])],
        known_shapes="rank",
    ),
    Case("Reverse", "empty", _reverse, [values(3, 0), np.array([True, False])]),
]


def _slice_grad(**masks: int) -> Callable[..., Any]:
    def build(shape: Any, begin: Any, end: Any, strides: Any, dy: Any) -> Any:
        return raw.StridedSliceGrad(
            shape=shape, begin=begin, end=end, strides=strides, dy=dy, **masks
        )

    return build


def _slice_update(**masks: int) -> Callable[..., Any]:
    def build(x: Any, begin: Any, end: Any, strides: Any, value: Any) -> Any:
        return raw.TensorStridedSliceUpdate(
            input=x, begin=begin, end=end, strides=strides, value=value, **masks
        )

    return build


SLICES = [
    Case(
        "StridedSliceGrad",
        "strides",
        _slice_grad(),
        [ints(5, 4), ints(0, 3), ints(5, 0), ints(2, -2), values(3, 2)],
    ),
    Case(
        "StridedSliceGrad",
        "begin_and_end_masks_float",
        _slice_grad(begin_mask=1, end_mask=2),
        [ints(5, 4), ints(9, 1), ints(4, 9), ints(1, 1), values(4, 3, dtype="float32")],
        known_shapes=True,
    ),
    Case(
        "StridedSliceGrad",
        "ellipsis_new_and_shrunk_axes",
        _slice_grad(ellipsis_mask=1, new_axis_mask=2, shrink_axis_mask=4),
        [
            ints(2, 3, 4),
            *(ints(0, 0, n) for n in (1, 2)),
            ints(1, 1, 1),
            values(2, 3, 1, dtype="complex128"),
        ],
    ),
    Case(
        "StridedSliceGrad",
        "int64",
        _slice_grad(),
        [*(ints(n, dtype="int64") for n in (5, 1, 5, 2)), values(2)],
    ),
    Case(
        "StridedSliceGrad",
        "second_gradient_of_a_slice",
        lambda x: tf.gradients(tf.square(x[1:, ::2] * x[:1, :2]), x)[0],
        [values(3, 4)],
    ),
    Case(
        "TensorStridedSliceUpdate",
        "same_shape",
        _slice_update(),
        [values(5, 4), ints(0, 3), ints(5, 0), ints(2, -2), values(3, 2)],
    ),
    Case(
        "TensorStridedSliceUpdate",
        "value_is_a_row",
        _slice_update(begin_mask=1),
        [
            values(4, 3, dtype="float32"),
            *(ints(*n, dtype="int64") for n in ((0, 1), (3, 3), (1, 1))),
            values(2, dtype="float32"),
        ],
    ),
    Case(
        "TensorStridedSliceUpdate",
        "value_is_a_scalar",
        _slice_update(shrink_axis_mask=2),
        [values(4, 3), ints(0, 1), ints(3, 2), ints(2, 1), values()],
        known_shapes=True,
    ),
    Case(
        "TensorStridedSliceUpdate",
        "ellipsis_and_new_axis",
        _slice_update(ellipsis_mask=1, new_axis_mask=4),
        [
            values(2, 3, 4, dtype="complex128"),
            ints(0, 1, 0),
            ints(0, 3, 1),
            ints(1, 1, 1),
            values(2, 1, 2, 1, dtype="complex128"),
        ],
    ),
    Case(
        "TensorStridedSliceUpdate",
        "nonlinear",
        lambda x, value: tf.square(_slice_update()(x, [0, 1], [2, 3], [1, 1], value * value)),
        [values(3, 3), values(2, 2)],
    ),
]


def _gather(params: Any, indices: Any) -> Any:
    return raw.Gather(params=params, indices=indices)


GATHER = [
    Case("Gather", "repeated", _gather, [values(4, 3), ints(1, 3, 1, 1)]),
    Case(
        "Gather",
        "matrix_of_indices_float",
        _gather,
        [values(4, 2, dtype="float32"), ints([0, 3], [3, 3], dtype="int64")],
        known_shapes=True,
    ),
    Case("Gather", "scalar_index_complex", _gather, [values(4, 2, dtype="complex128"), ints(2)[0]]),
    Case(
        "Gather", "no_indices", _gather, [values(4, 2), np.zeros([0], "int32")], known_shapes="rank"
    ),
    Case(
        "Gather",
        "nonlinear",
        lambda params, indices: tf.square(_gather(params, indices)),
        [values(4), ints(0, 2, 2)],
    ),
]


@tf.RegisterGradient("TileOfTileGrad")
def _tile_of_tile_grad(op: tf.Operation, upstream: tf.Tensor) -> Any:
    return tf.tile(upstream, op.inputs[1]), None


def _tile_grad(
    name: str, shape: tuple[int, ...], multiples: list[int], dtype: str = "float64", **more: Any
) -> Case:
    """An op of graphs older than version 3. Its kernel asks for an attribute that it
    has not: outputs are fed."""
    x = values(*shape, dtype=dtype)
    parts = [(n, length // n) for n, length in zip(multiples, shape, strict=True)]
    apart = x.reshape([length for part in parts for length in part])
    result = apart.sum(tuple(range(0, 2 * len(parts), 2)))

    def build(x: Any, multiples: Any) -> Any:
        tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": 2}))
        graph = tf.compat.v1.get_default_graph()
        override = graph.gradient_override_map({"TileGrad": "TileOfTileGrad"})
        with override, outputs_are_fed("TileGrad"):
            return raw.TileGrad(input=x, multiples=multiples, name="fed")

    inputs = [x, np.array(multiples, np.int32)]
    return Case("TileGrad", name, build, inputs, also_fed={"fed:0": result}, **more)


TILES = [
    _tile_grad("matrix", (4, 6), [2, 3]),
    _tile_grad("volume_float", (2, 3, 4), [2, 1, 4], "float32", known_shapes=True),
    _tile_grad("complex", (4, 6), [1, 2], "complex128", known_shapes="rank"),
    _tile_grad("empty", (0, 6), [1, 2]),
]

CASES = [*TILES, *CONCAT, *CONJUGATE_TRANSPOSE, *REVERSE, *SLICES, *GATHER]
