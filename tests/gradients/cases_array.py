# SPDX-License-Identifier: Apache-2.0
"""Cases of the ops that move, guard or select elements."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import sequence
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

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

PASS_THROUGH = [
    Case(
        "EnsureShape",
        "full",
        lambda x: tf.square(raw.EnsureShape(input=x, shape=[2, 3])),
        [values(2, 3)],
    ),
    Case(
        "EnsureShape",
        "partial_float",
        lambda x: raw.EnsureShape(input=x, shape=[None, 3]),
        [values(2, 3, dtype="float32")],
        known_shapes="rank",
    ),
    Case(
        "EnsureShape",
        "known_rank_complex",
        lambda x: raw.EnsureShape(input=x, shape=[None, None]) * x,
        [values(2, 2, dtype="complex128")],
    ),
    Case(
        "IdentityN",
        "one",
        lambda x: raw.IdentityN(input=[tf.square(x)]),
        [values(2, 3)],
    ),
    Case(
        "IdentityN",
        "mixed_types",
        lambda x, i, y: [
            t * t for t in raw.IdentityN(input=[x, i, y]) if t.dtype != tf.int32
        ],
        [values(2, 3), ints(1, 2), values(2, dtype="complex64")],
    ),
    Case(
        "IdentityN",
        "one_output_unused",
        lambda x, y: tf.square(raw.IdentityN(input=[x, y])[0]),
        [values(2, 3), values(2)],
        known_shapes=True,
    ),
    Case(
        "PlaceholderWithDefault",
        "known_shape",
        lambda x: tf.exp(raw.PlaceholderWithDefault(input=x, shape=[2, 3])),
        [values(2, 3)],
    ),
    Case(
        "PlaceholderWithDefault",
        "unknown_shape",
        lambda x: raw.PlaceholderWithDefault(input=x, shape=None),
        [values(2, 3, dtype="float32")],
    ),
    Case(
        "PlaceholderWithDefault",
        "complex",
        lambda x: raw.PlaceholderWithDefault(input=x, shape=[None]) * x,
        [values(3, dtype="complex128")],
    ),
    Case(
        "Print",
        "no_data",
        lambda x: tf.square(raw.Print(input=x, data=[], first_n=0)),
        [values(2, 3)],
    ),
    Case(
        "Print",
        "with_data",
        lambda x, y, i: raw.Print(input=x * y, data=[y, i], first_n=0),
        [values(2, 3), values(2, 3), ints(4)],
    ),
    Case(
        "Print",
        "float_message",
        lambda x: raw.Print(input=x, data=[x], message="x", first_n=0),
        [values(2, dtype="float32")],
        known_shapes=True,
    ),
    Case(
        "CheckNumericsV2",
        "double",
        lambda x: raw.CheckNumericsV2(tensor=tf.square(x), message="x"),
        [values(2, 3)],
    ),
    Case(
        "CheckNumericsV2",
        "float_of_a_product",
        lambda x: raw.CheckNumericsV2(tensor=x, message="") * x,
        [values(3, dtype="float32")],
    ),
    Case(
        "CheckNumericsV2",
        "half_empty",
        lambda x: raw.CheckNumericsV2(tensor=x, message="m"),
        [values(0, 2, dtype="float16")],
    ),
    Case(
        "CheckNumericsV2",
        "the_gradient_is_infinite",
        lambda x: tf.sqrt(raw.CheckNumericsV2(tensor=x, message="at zero")),
        [np.zeros(2)],
        error="The gradient is not finite. at zero",
    ),
    *(
        Case(
            "PreventGradient",
            name,
            lambda x, message=message: raw.PreventGradient(input=x, message=message),
            [values(2, dtype=dtype)],
            error=f"forbids to differentiate here: {message}",
        )
        for name, message, dtype in (
            ("message", "no way", "float64"),
            ("no_message", "", "float32"),
            ("complex", "not here", "complex128"),
        )
    ),
]


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
    # The stock gradient of StridedSlice fails with indices of int64.
    Case(
        "StridedSliceGrad",
        "int64",
        _slice_grad(),
        [*(ints(n, dtype="int64") for n in (5, 1, 5, 2)), values(2)],
        second_order=None,
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
        second_order=None,  # As StridedSliceGrad with int64.
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
        lambda x, value: tf.square(
            _slice_update()(x, [0, 1], [2, 3], [1, 1], value * value)
        ),
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
    Case(
        "Gather",
        "scalar_index_complex",
        _gather,
        [values(4, 2, dtype="complex128"), ints(2)[0]],
    ),
    Case(
        "Gather",
        "no_indices",
        _gather,
        [values(4, 2), np.zeros([0], "int32")],
        known_shapes="rank",
    ),
    Case(
        "Gather",
        "nonlinear",
        lambda params, indices: tf.square(_gather(params, indices)),
        [values(4), ints(0, 2, 2)],
    ),
]

# Identities with a side effect.
_WATCHED = {
    "DebugGradientIdentity": lambda x: raw.DebugGradientIdentity(input=x),
    "DebugIdentityV2": lambda x: raw.DebugIdentityV2(input=x),
    "XlaSharding": lambda x: gen_xla_ops.xla_sharding(input=x, sharding=""),
}


def _watched(op: str, kind: str) -> Case:
    watch = _WATCHED[op]
    # Python's gradient of DebugGradientIdentity serves a debugger only.
    reference = "numeric" if op == "DebugGradientIdentity" else "python"
    return Case(
        op,
        kind,
        lambda x: watch(x * x),
        [values(3, 2, dtype=kind)],
        reference=reference,
        second_order=reference,
        step=1e-2 if kind == "float32" else 1e-5,
        tolerance=1e-3 if kind == "float32" else None,
    )


WATCHED = [
    _watched(op, kind)
    for op in _WATCHED
    for kind in ("float64", "float32", "complex128")
]

CASES = [
    *WATCHED,
    *CONCAT,
    *CONJUGATE_TRANSPOSE,
    *PASS_THROUGH,
    *REVERSE,
    *SLICES,
    *GATHER,
]
