# SPDX-License-Identifier: Apache-2.0
"""Ragged tensors.

Where Python differentiates a gradient not once more, the second order is
compared with central differences.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from cases_sparse import first, numeric
from parity import Case
from random_values import complex_normal, distinct, normal

raw = tf.raw_ops

# [[a, b, c], [], [d, e]] and, with a level more, [[[a, b, c], []], [[d, e]], []].
SPLITS = np.array([0, 3, 3, 5])
OUTER = np.array([0, 2, 3, 3])

# ---- RaggedFillEmptyRows


def fill(rows: Any, values: Any, count: Any, default: Any) -> Any:
    return raw.RaggedFillEmptyRows(
        value_rowids=rows, values=values, nrows=count, default_value=default
    )[1]


def fill_case(name: str, rows: list[int], count: int, kind: Any = normal) -> Case:
    inputs = [np.array(rows, np.int64), kind(len(rows)), np.array(count), kind()]
    return numeric("RaggedFillEmptyRows", name, fill, inputs)


FILL = [
    fill_case("some", [0, 0, 2, 4], 6),
    fill_case("none", [0, 1, 1], 2),
    fill_case("all", [], 3),
    fill_case("complex", [1, 1, 3], 4, complex_normal),
    first(
        "RaggedFillEmptyRows",
        "float",
        fill,
        [np.array([0, 2]), normal(2, dtype=np.float32), np.array(3), normal(dtype=np.float32)],
    ),
]

# ---- RaggedGather


def gather(values: Any, indices: Any, *splits: Any) -> Any:
    return raw.RaggedGather(
        params_nested_splits=splits,
        params_dense_values=values,
        indices=indices,
        OUTPUT_RAGGED_RANK=len(splits) + (indices.shape.rank or 0) - 1,
    ).output_dense_values


def gather_case(
    name: str, values: np.ndarray, indices: Any, *splits: np.ndarray, **more: Any
) -> Case:
    inputs = [values, np.array(indices), *splits]
    return Case("RaggedGather", name, gather, inputs, **more)


GATHER = [
    gather_case("rows", normal(5), [2, 0, 2, 1], SPLITS),
    gather_case("two_levels", normal(5), [1, 0, 0], OUTER, SPLITS),
    gather_case("matrix_of_indices", normal(5), [[0, 2], [2, 1]], SPLITS),
    gather_case("inner_axis", normal(5, 2), [0, 2], SPLITS.astype(np.int32)),
    gather_case("complex", complex_normal(5), [2, 0, 2], SPLITS),
    gather_case("float", normal(5, dtype=np.float32), [2, 2], SPLITS, second_order=None),
    gather_case("only_empty_rows", normal(5), [1, 1], SPLITS),
]

# ---- RaggedTensorToSparse


def to_sparse(values: Any, *splits: Any) -> Any:
    return raw.RaggedTensorToSparse(rt_nested_splits=splits, rt_dense_values=values)[1]


def to_sparse_case(name: str, values: np.ndarray, *splits: np.ndarray) -> Case:
    return Case("RaggedTensorToSparse", name, to_sparse, [values, *splits])


TO_SPARSE = [
    to_sparse_case("rows", normal(5), SPLITS),
    to_sparse_case("inner_axes", normal(5, 2, 2), SPLITS),
    to_sparse_case("two_levels", complex_normal(5), OUTER, SPLITS),
    to_sparse_case("float", normal(5, dtype=np.float32), SPLITS.astype(np.int32)),
    to_sparse_case("empty", normal(0), SPLITS * 0),
]

# ---- RaggedTensorToTensor


def to_tensor(*types: str) -> Any:
    def build(shape: Any, values: Any, default: Any, *partitions: Any) -> Any:
        return raw.RaggedTensorToTensor(
            shape=shape,
            values=values,
            default_value=default,
            row_partition_tensors=partitions,
            row_partition_types=types,
        )

    return build


def to_tensor_case(
    name: str, inputs: Sequence[Any], types: str = "ROW_SPLITS", **more: Any
) -> Case:
    build = to_tensor(*types.split())
    arrays = [np.asarray(value) for value in inputs]
    return Case("RaggedTensorToTensor", name, build, arrays, **more)


ROWIDS = [np.array(3), np.array([0, 0, 0, 2, 2])]
FREE = np.array([-1, -1])
TO_TENSOR = [
    to_tensor_case("rows", [FREE, normal(5), normal(), SPLITS]),
    to_tensor_case("row_ids", [FREE, normal(5), normal(), *ROWIDS], "FIRST_DIM_SIZE VALUE_ROWIDS"),
    to_tensor_case("unknown_rank", [FREE, normal(5), normal(), SPLITS], known_shapes="rank"),
    to_tensor_case("cropped", [np.array([2, 2]), normal(5), normal(), SPLITS]),
    to_tensor_case("padded", [np.array([4, 6]), normal(5), normal(), SPLITS]),
    to_tensor_case(
        "two_levels_int32",
        [np.array([-1, 3, -1], np.int32), normal(5), normal(), OUTER, SPLITS],
        "ROW_SPLITS ROW_SPLITS",
    ),
    to_tensor_case(
        "default_with_inner_axes", [np.array([-1, -1, 3, 2]), normal(5, 3, 2), normal(3, 2), SPLITS]
    ),
    to_tensor_case("default_broadcast", [np.array([-1, 4, 2]), normal(5, 2), normal(), SPLITS]),
    # Python sums over the last axes here, not over those of size 1.
    to_tensor_case(
        "default_broadcast_inside",
        [np.array([-1, -1, 3, 2]), normal(5, 3, 2), normal(3, 1), SPLITS],
        reference="numeric",
        second_order="numeric",
    ),
    to_tensor_case("complex", [FREE, complex_normal(5), complex_normal(), SPLITS]),
    to_tensor_case("float", [FREE, normal(5, dtype=np.float32), normal(dtype=np.float32), SPLITS]),
    to_tensor_case("empty", [np.array([2, 2]), normal(0), normal(), SPLITS * 0]),
]

# ---- RaggedTensorToVariant, RaggedTensorFromVariant: there and back, with work on
# the variants between.


def encode(values: Any, *splits: Any, batched: bool = True) -> Any:
    return raw.RaggedTensorToVariant(
        rt_nested_splits=splits, rt_dense_values=values, batched_input=batched
    )


def decode(encoded: Any, values: Any, output_rank: int, input_rank: int = -1) -> Any:
    """The square of the values: the second order is not 0."""
    decoded = raw.RaggedTensorFromVariant(
        encoded_ragged=encoded,
        input_ragged_rank=input_rank,
        output_ragged_rank=output_rank,
        Tvalues=values.dtype,
        Tsplits=tf.int64,
    ).output_dense_values
    return decoded * decoded


def whole(input_rank: int) -> Any:
    def build(values: Any, *splits: Any) -> Any:
        encoded = encode(values, *splits, batched=False)
        return decode(encoded, values, len(splits), input_rank)

    return build


def rows(input_rank: int) -> Any:
    def build(values: Any, *splits: Any) -> Any:
        encoded = encode(values, *splits)
        return decode(encoded, values, len(splits), input_rank)

    return build


def row(number: int) -> Any:
    def build(values: Any, *splits: Any) -> Any:
        rank = len(splits) - 1
        return decode(encode(values, *splits)[number], values, rank, rank)

    return build


def some_rows(values: Any, *splits: Any) -> Any:
    return decode(encode(values, *splits)[:2], values, len(splits), len(splits) - 1)


def grid(input_rank: int) -> Any:
    """Four variants, in a matrix."""

    def build(values: Any, *splits: Any) -> Any:
        encoded = tf.reshape(encode(values, *splits), [2, 2])
        return decode(encoded, values, len(splits) + 1, input_rank)

    return build


def twice(values: Any, *splits: Any) -> Any:
    encoded = encode(values, *splits, batched=False)
    rank = len(splits)
    return [decode(encoded, values, rank, rank), decode(encoded, values, rank, rank)]


# Python refuses variants in a matrix, and counts the missing ones' rows, not their
# values, where there are two levels.
_differences: dict[str, Any] = {"reference": "numeric"}
FOUR = np.array([0, 2, 2, 3, 5])
TWO_LEVELS = [normal(5), OUTER, SPLITS]
SINGLE = [normal(5, 2, dtype=np.float32), SPLITS]
VARIANTS = [
    (op, name, build, inputs, more)
    for op in ("RaggedTensorToVariant", "RaggedTensorFromVariant")
    for name, build, inputs, more in [
        ("whole", whole(1), [normal(5), SPLITS], {}),
        ("whole_inferred", whole(-1), [normal(5), SPLITS], {}),
        ("whole_two_levels", whole(2), TWO_LEVELS, {}),
        ("whole_two_levels_inferred", whole(-1), TWO_LEVELS, {}),
        ("dense", whole(0), [normal(3, 2)], {}),
        ("rows", rows(0), [normal(5), SPLITS], {}),
        ("rows_inferred", rows(-1), [normal(5), SPLITS], {}),
        ("rows_complex", rows(0), [complex_normal(5), SPLITS], {}),
        ("rows_two_levels", rows(1), TWO_LEVELS, {}),
        ("rows_two_levels_inferred", rows(-1), TWO_LEVELS, {}),
        ("one_row", row(2), [normal(5, 2), SPLITS], {}),
        ("one_row_two_levels", row(1), TWO_LEVELS, _differences),
        ("some_rows", some_rows, [normal(5), SPLITS], {}),
        ("grid", grid(0), [normal(5), FOUR], _differences),
        ("grid_inferred", grid(-1), [distinct(5), FOUR], _differences),
        ("twice", twice, [normal(5), SPLITS], {}),
        ("float", rows(0), SINGLE, {"second_order": None, "known_shapes": True}),
    ]
]

CASES = [
    *FILL,
    *GATHER,
    *TO_SPARSE,
    *TO_TENSOR,
    *(numeric(op, name, b, inputs, **more) for op, name, b, inputs, more in VARIANTS),
]
