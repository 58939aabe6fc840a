# SPDX-License-Identifier: Apache-2.0
"""Ops that wrap operations of XLA, which compiles each when it runs."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, distinct, normal
from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla
from tensorflow.compiler.xla import xla_data_pb2

# XlaConcatND and XlaSplitND have kernels for XLA's own devices only. Read when the
# first session begins, here and in the client's process.
os.environ["TF_XLA_FLAGS"] = os.environ.get("TF_XLA_FLAGS", "") + " --tf_xla_enable_xla_devices"


def _case(op: str, name: str, build: Any, *inputs: np.ndarray, **more: Any) -> Case:
    how = {"reference": "numeric", "second_order": "numeric", **more}
    return Case(op, name, build, inputs, **how)


def _dots() -> Iterator[Case]:
    def product(
        batch: tuple[Sequence[int], Sequence[int]],
        contracting: tuple[Sequence[int], Sequence[int]],
        result: Any = None,
    ) -> Callable[..., Any]:
        numbers = xla_data_pb2.DotDimensionNumbers(
            lhs_batch_dimensions=batch[0],
            rhs_batch_dimensions=batch[1],
            lhs_contracting_dimensions=contracting[0],
            rhs_contracting_dimensions=contracting[1],
        )
        how = {"dimension_numbers": numbers.SerializeToString(), "precision_config": ""}

        def build(lhs: Any, rhs: Any) -> Any:
            if result is None:
                return xla.xla_dot(lhs=lhs, rhs=rhs, **how)
            return xla.xla_dot_v2(lhs=lhs, rhs=rhs, preferred_element_type=result, **how)

        return build

    none: tuple[Sequence[int], Sequence[int]] = ([], [])
    for op, double, complex128 in (("XlaDot", None, None), ("XlaDotV2", tf.float64, tf.complex128)):
        yield _case(op, "matrices", product(none, ([1], [0]), double), normal(2, 3), normal(3, 4))
        yield _case(
            op,
            "batch",
            product(([2], [0]), ([0], [2]), double),
            normal(3, 4, 2),
            normal(2, 5, 3),
            known_shapes=True,
        )
        yield _case(
            op,
            "two_of_each",
            product(([0, 3], [1, 0]), ([2, 1], [2, 3]), double),
            normal(2, 3, 4, 2, 1),
            normal(2, 2, 4, 3),
        )
        yield _case(
            op,
            "all_contracted",
            product(none, ([1, 0], [0, 1]), double),
            normal(2, 3),
            normal(3, 2),
            known_shapes="rank",
        )
        yield _case(op, "outer", product(none, none, double), normal(2), normal(3))
        yield _case(
            op,
            "complex",
            product(none, ([1], [0]), complex128),
            complex_normal(2, 3),
            complex_normal(3, 2),
        )
        yield _case(op, "empty", product(none, ([1], [0]), double), normal(0, 3), normal(3, 2))
    yield _case(
        op,
        "of_halves_in_float",
        product(none, ([1], [0]), tf.float32),
        np.round(normal(2, 3), 1).astype(np.float16),
        np.round(normal(3, 2), 1).astype(np.float16),
        step=0.25,
        tolerance=1e-2,
    )
    yield _case(
        op,
        "of_integers",
        product(none, ([1], [0]), tf.float32),
        np.array([[1, -2, 3]], np.int32),
        normal(3, 2, dtype=np.float32),
        step=1.0,
    )


def _paddings() -> Iterator[Case]:
    op = "XlaPad"

    def padded(low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Any:
        def build(x: Any, value: Any, index: Any = tf.int32) -> Any:
            return xla.xla_pad(x, value, *(tf.constant(v, index) for v in (low, high, interior)))

        return build

    value = np.array(0.7)
    matrix = normal(3, 2)
    yield _case(op, "edges", padded([1, 0], [2, 3], [0, 0]), matrix, value)
    yield _case(op, "interior", padded([0, 1], [0, 0], [2, 1]), matrix, value)
    yield _case(op, "cropped", padded([-1, 1], [1, -2], [1, 3]), matrix, value, known_shapes=True)
    yield _case(
        op,
        "complex",
        padded([-1, 1], [-1, 0], [1, 2]),
        complex_normal(3, 2),
        np.array(0.7 - 0.2j),
        known_shapes="rank",
    )
    yield _case(op, "empty", padded([1], [0], [2]), normal(0), value)

    def wide_indices(x: Any, value: Any) -> Any:
        return padded([0], [1], [1])(x, value, tf.int64)

    yield _case(
        op,
        "float_int64",
        wide_indices,
        normal(3, dtype=np.float32),
        value.astype(np.float32),
        step=1.0,
    )


def _slices() -> Iterator[Case]:
    def taken(x: Any, start: Any) -> Any:
        return xla.xla_dynamic_slice(x, start, tf.constant([2, 2], start.dtype))

    def updated(x: Any, update: Any, start: Any) -> Any:
        return xla.xla_dynamic_update_slice(x, update, start)

    for name, x, start, more in (
        ("double", normal(4, 3), [1, 0], {}),
        ("beyond_the_end", normal(4, 3), [3, 9], {"known_shapes": True}),
        ("complex", complex_normal(4, 3), [2, 1], {"known_shapes": "rank"}),
        ("float", normal(4, 3, dtype=np.float32), [0, 1], {"step": 1.0}),
    ):
        for dtype in (np.int32, np.int64):
            full = f"{name}_{np.dtype(dtype).name}"
            indices = np.array(start, dtype)
            yield _case("XlaDynamicSlice", full, taken, x, indices, **more)
            update = x[1:, :2] ** 2
            yield _case("XlaDynamicUpdateSlice", full, updated, x, update, indices, **more)


def _grids() -> Iterator[Case]:
    def concatenated(counts: Sequence[int], paddings: Sequence[int]) -> Any:
        def build(*blocks: Any) -> Any:
            with tf.device("/device:XLA_CPU:0"):
                return tf.raw_ops.XlaConcatND(
                    inputs=list(blocks), num_concats=counts, paddings=paddings
                )

        return build

    def split(counts: Sequence[int], paddings: Sequence[int]) -> Any:
        def build(x: Any) -> Any:
            with tf.device("/device:XLA_CPU:0"):
                return tf.raw_ops.XlaSplitND(
                    input=x, N=int(np.prod(counts)), num_splits=counts, paddings=paddings
                )

        return build

    for name, shape, counts, paddings, dtype in (
        ("vector", (3,), [2], [], np.float64),
        ("padded", (2, 2), [2, 2], [1, 0], np.float64),
        ("all_padded", (2, 3), [1, 2], [1, 2], np.float64),
        ("one", (2, 3), [1, 1], [], np.float64),
        ("complex64", (2, 1), [1, 3], [1, 0], np.complex64),
    ):
        single = dtype == np.complex64
        more: dict[str, Any] = {"known_shapes": True, "step": 1.0}
        kind = complex_normal if single else normal
        blocks = [kind(*shape, dtype=dtype, seed=i) for i in range(np.prod(counts))]
        build = concatenated(counts, paddings)
        yield _case("XlaConcatND", name, build, *blocks, **more)
        cut = paddings or [0] * len(shape)
        size = [s * n - p for s, n, p in zip(shape, counts, cut, strict=True)]
        x = kind(*size, dtype=dtype)
        yield _case("XlaSplitND", name, split(counts, paddings), x, **more)


def _gathers() -> Iterator[Case]:
    op = "XlaGather"

    def gathered(sizes: Sequence[int], **numbers: Any) -> Any:
        dimensions = xla_data_pb2.GatherDimensionNumbers(**numbers)

        def build(x: Any, start: Any) -> Any:
            return xla.xla_gather(
                x,
                start,
                tf.constant(sizes, start.dtype),
                dimension_numbers=dimensions.SerializeToString(),
                indices_are_sorted=False,
            )

        return build

    rows = gathered(
        [1, 3], offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1
    )
    twice = np.array([[2], [0], [2], [7]], np.int32)  # 7 is moved to the last row
    yield _case(op, "rows", rows, normal(4, 3), twice)
    yield _case(op, "known_shapes", rows, normal(4, 3), twice, known_shapes=True)
    yield _case(op, "complex", rows, complex_normal(4, 3), twice.astype(np.int64))
    windows = gathered([2, 2], offset_dims=[0, 1], start_index_map=[1, 0], index_vector_dim=0)
    places = np.array([[0, 1, 1], [1, 0, 1]], np.int32)
    yield _case(op, "windows", windows, normal(3, 3), places, known_shapes="rank")
    yield _case(op, "float", windows, normal(3, 3, dtype=np.float32), places, step=1.0)


def _broadcasts() -> Iterator[Case]:
    op = "XlaBroadcastHelper"

    def helped(axes: Sequence[int]) -> Any:
        return lambda lhs, rhs: list(
            xla.xla_broadcast_helper(lhs, rhs, tf.constant(axes, tf.int32))
        )

    yield _case(op, "vector", helped([1]), normal(2, 3), normal(3))
    yield _case(op, "lhs", helped([0, 2]), normal(2, 4), normal(2, 3, 4))
    yield _case(op, "same_rank", helped([]), normal(2, 3), normal(2, 3), known_shapes=True)
    yield _case(
        op, "complex", helped([0]), complex_normal(3, 2), complex_normal(3), known_shapes="rank"
    )


def _sorts() -> Iterator[Case]:
    single = {"step": 1e-2, "tolerance": 1e-3}
    for name, keys, more in (
        ("vector", distinct(5), {}),
        ("rows", distinct(3, 4), {"known_shapes": True}),
        ("two_batch_axes", distinct(2, 2, 3), {"known_shapes": "rank"}),
        ("float", distinct(6, dtype=np.float32), single),
        ("empty", distinct(0), {}),
    ):
        yield _case("XlaSort", name, xla.xla_sort, keys, **more)
        op = "XlaKeyValueSort"
        values = normal(*keys.shape, dtype=keys.dtype)

        def both(keys: Any, values: Any) -> list[Any]:
            return list(xla.xla_key_value_sort(keys, values))

        yield _case(op, name, both, keys, values, **more)
    yield _case(op, "complex_values", both, distinct(4), complex_normal(4))
    yield _case(op, "integer_keys", both, np.array([3, 1, 2], np.int32), normal(3))


def _same_values() -> Iterator[Case]:
    op = "XlaReducePrecision"

    def rounded(exponent: int, mantissa: int) -> Any:
        return lambda x: xla.xla_reduce_precision(x, exponent, mantissa)

    # Differences of numbers that the rounding keeps are exact, and the gradient is
    # rounded to the precision of the values.
    for name, exponent, mantissa, dtype, more in (
        ("double", 11, 20, np.float64, {"tolerance": 1e-6}),
        ("float", 8, 12, np.float32, {"tolerance": 3e-4, "known_shapes": True}),
        ("half", 5, 8, np.float16, {"tolerance": 4e-3, "known_shapes": "rank"}),
    ):
        x = distinct(2, 3, dtype=dtype)
        yield _case(op, name, rounded(exponent, mantissa), x, step=1.0, **more)
    op = "XlaOptimizationBarrier"

    def barrier(*inputs: Any) -> list[Any]:
        return list(xla.xla_optimization_barrier(list(inputs)))

    yield _case(op, "one", barrier, normal(2, 3))
    yield _case(
        op,
        "of_all_kinds",
        barrier,
        normal(2),
        np.array([1, 2], np.int32),
        complex_normal(3),
        known_shapes=True,
    )
    yield _case(
        op, "some", lambda x, y: barrier(x, y)[1], normal(2), normal(3), known_shapes="rank"
    )


def _decompositions() -> Iterator[Case]:
    op = "XlaSelfAdjointEig"
    spread = np.diag([-1.0, 0.5, 2.0])
    exact = {"max_iter": 100, "epsilon": 1e-15}

    def eigen(lower: bool) -> Any:
        def build(a: Any) -> list[Any]:
            w, v = xla.xla_self_adjoint_eig(a, lower=lower, **exact)
            return [w, tf.square(v)]  # without their signs

        return build

    symmetric = normal(3, 3)
    symmetric = spread + 0.2 * (symmetric + symmetric.T)
    yield _case(op, "lower", eigen(True), symmetric)
    yield _case(op, "upper", eigen(False), symmetric, known_shapes=True)
    yield _case(op, "one_triangle", eigen(True), np.tril(symmetric))
    yield _case(op, "batch", eigen(True), np.stack([symmetric, symmetric.T + spread]))
    # The op itself gives wrong eigenvalues of complex matrices.
    yield _case(
        op,
        "complex",
        lambda a: tf.math.real(eigen(True)(a)[0]),
        symmetric.astype(np.complex64),
        error="complex matrices are not supported",
    )
    op = "XlaSvd"

    def singular(a: Any) -> list[Any]:
        s, u, v = xla.xla_svd(a, precision_config="", **exact)
        best = tf.matmul(u[..., :1] * s[..., None, :1], v[..., :1], adjoint_b=True)
        return [s, best]

    tall = np.array([[2.0, 0.3], [-0.4, 1.0], [0.2, 0.5]])
    yield _case(op, "tall", singular, tall)
    yield _case(op, "wide", singular, tall.T, known_shapes=True)
    yield _case(op, "batch", singular, np.stack([tall, tall[::-1] + 0.1]))


CASES = [
    *_dots(),
    *_paddings(),
    *_slices(),
    *_grids(),
    *_gathers(),
    *_broadcasts(),
    *_sorts(),
    *_same_values(),
    *_decompositions(),
]
