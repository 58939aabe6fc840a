"""Ragged tensors.

If Python cannot differentiate a gradient again, the second order is compared with central
differences.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, distinct, normal, single
from rows import call, case, each, ints, longs, numeric, numeric_second

# [[a, b, c], [], [d, e]] and, with one more level, [[[a, b, c], []], [[d, e]], []].
SPLITS, OUTER = longs(0, 3, 3, 5), longs(0, 2, 3, 3)

# ---- RaggedFillEmptyRows

fill = functools.partial(numeric_second, "RaggedFillEmptyRows", then=lambda *made: made[1])
FILL = [
    fill("some", longs(0, 0, 2, 4), normal(4), np.array(6), normal()),
    fill("none", longs(0, 1, 1), normal(3), np.array(2), normal()),
    fill("all", longs(), normal(0), np.array(3), normal()),
    fill("complex", longs(1, 1, 3), complex_normal(3), np.array(4), complex_normal()),
    fill("float", longs(0, 2), single(2), np.array(3), single(), second_order=None),
]

# ---- RaggedGather


def _gather(values: Any, indices: Any, *splits: Any) -> Any:
    rank = len(splits) + (indices.shape.rank or 0) - 1
    *_, gathered = call("RaggedGather", splits, values, indices, OUTPUT_RAGGED_RANK=rank)
    return gathered


gather = functools.partial(case, "RaggedGather", build=_gather)
GATHER = [
    gather("rows", normal(5), longs(2, 0, 2, 1), SPLITS),
    gather("two_levels", normal(5), longs(1, 0, 0), OUTER, SPLITS),
    gather("matrix_of_indices", normal(5), longs([0, 2], [2, 1]), SPLITS),
    gather("inner_axis", normal(5, 2), longs(0, 2), SPLITS.astype(np.int32)),
    gather("complex", complex_normal(5), longs(2, 0, 2), SPLITS),
    gather("float", single(5), longs(2, 2), SPLITS, second_order=None),
    gather("only_empty_rows", normal(5), longs(1, 1), SPLITS),
]

# ---- RaggedTensorToSparse


def _to_sparse(values: Any, *splits: Any) -> Any:
    return call("RaggedTensorToSparse", splits, values)[1]


to_sparse = functools.partial(case, "RaggedTensorToSparse", build=_to_sparse)
TO_SPARSE = [
    to_sparse("rows", normal(5), SPLITS),
    to_sparse("inner_axes", normal(5, 2, 2), SPLITS),
    to_sparse("two_levels", complex_normal(5), OUTER, SPLITS),
    to_sparse("float", single(5), SPLITS.astype(np.int32)),
    to_sparse("empty", normal(0), SPLITS * 0),
]

# ---- RaggedTensorToTensor

OP = "RaggedTensorToTensor"
FREE, INNER_AXES = longs(-1, -1), longs(-1, -1, 3, 2)
ROWIDS = np.array(3), longs(0, 0, 0, 2, 2)


def to_tensor(
    name: str,
    shape: np.ndarray,
    values: np.ndarray,
    default: np.ndarray,
    *partitions: np.ndarray,
    row: Callable[..., Case] = case,
    types: str = "",
    **more: Any,
) -> Case:
    kinds = types.split() or ["ROW_SPLITS"] * len(partitions)
    how = {"row_partition_types": kinds, **more}
    return row(OP, name, shape, values, default, list(partitions), **how)


TO_TENSOR = [
    to_tensor("rows", FREE, normal(5), normal(), SPLITS),
    to_tensor("row_ids", FREE, normal(5), normal(), *ROWIDS, types="FIRST_DIM_SIZE VALUE_ROWIDS"),
    to_tensor("unknown_rank", FREE, normal(5), normal(), SPLITS, static="none"),
    to_tensor("cropped", longs(2, 2), normal(5), normal(), SPLITS),
    to_tensor("padded", longs(4, 6), normal(5), normal(), SPLITS),
    to_tensor("two_levels_int32", ints(-1, 3, -1), normal(5), normal(), OUTER, SPLITS),
    to_tensor("default_with_inner_axes", INNER_AXES, normal(5, 3, 2), normal(3, 2), SPLITS),
    to_tensor("default_broadcast", longs(-1, 4, 2), normal(5, 2), normal(), SPLITS),
    # Python sums over the last axes here, instead of those of size 1.
    to_tensor(
        "default_broadcast_inside", INNER_AXES, normal(5, 3, 2), normal(3, 1), SPLITS, row=numeric
    ),
    to_tensor("complex", FREE, complex_normal(5), complex_normal(), SPLITS),
    to_tensor("float", FREE, single(5), single(), SPLITS),
    to_tensor("empty", longs(2, 2), normal(0), normal(), SPLITS * 0),
]

# ---- RaggedTensorToVariant, RaggedTensorFromVariant: there and back, with work on
# the variants between.


def encode(values: Any, *splits: Any, batched: bool = True) -> Any:
    return call("RaggedTensorToVariant", splits, values, batched_input=batched)


def decode(encoded: Any, values: Any, output_rank: int, input_rank: int = -1) -> Any:
    """The square of the values, so the second order is not 0."""
    *_, decoded = call(
        "RaggedTensorFromVariant",
        encoded,
        input_ragged_rank=input_rank,
        output_ragged_rank=output_rank,
        Tvalues=values.dtype,
        Tsplits=tf.int64,
    )
    return decoded * decoded


def whole(values: Any, *splits: Any, rank: int) -> Any:
    return decode(encode(values, *splits, batched=False), values, len(splits), rank)


def rows(values: Any, *splits: Any, rank: int) -> Any:
    return decode(encode(values, *splits), values, len(splits), rank)


def row(values: Any, *splits: Any, number: int) -> Any:
    rank = len(splits) - 1
    return decode(encode(values, *splits)[number], values, rank, rank)


def some_rows(values: Any, *splits: Any) -> Any:
    return decode(encode(values, *splits)[:2], values, len(splits), len(splits) - 1)


def grid(values: Any, *splits: Any, rank: int) -> Any:
    """Four variants, in a matrix."""
    encoded = tf.reshape(encode(values, *splits), [2, 2])
    return decode(encoded, values, len(splits) + 1, rank)


def twice(values: Any, *splits: Any) -> Any:
    encoded, rank = encode(values, *splits, batched=False), len(splits)
    return [decode(encoded, values, rank, rank), decode(encoded, values, rank, rank)]


FOUR, TWO_LEVELS, SINGLE = longs(0, 2, 2, 3, 5), (normal(5), OUTER, SPLITS), (single(5, 2), SPLITS)


def variants(op: str) -> list[Case]:
    there = functools.partial(numeric_second, op)
    # Python refuses variants in a matrix. If there are two levels, it counts the missing ones' rows
    # instead of their values.
    by_differences = functools.partial(numeric, op)
    return [
        there("whole", normal(5), SPLITS, build=whole, rank=1),
        there("whole_inferred", normal(5), SPLITS, build=whole, rank=-1),
        there("whole_two_levels", *TWO_LEVELS, build=whole, rank=2),
        there("whole_two_levels_inferred", *TWO_LEVELS, build=whole, rank=-1),
        there("dense", normal(3, 2), build=whole, rank=0),
        there("rows", normal(5), SPLITS, build=rows, rank=0),
        there("rows_inferred", normal(5), SPLITS, build=rows, rank=-1),
        there("rows_complex", complex_normal(5), SPLITS, build=rows, rank=0),
        there("rows_two_levels", *TWO_LEVELS, build=rows, rank=1),
        there("rows_two_levels_inferred", *TWO_LEVELS, build=rows, rank=-1),
        there("one_row", normal(5, 2), SPLITS, build=row, number=2),
        there("some_rows", normal(5), SPLITS, build=some_rows),
        there("twice", normal(5), SPLITS, build=twice),
        there("float", *SINGLE, build=rows, rank=0, second_order=None, static="all"),
        by_differences("one_row_two_levels", *TWO_LEVELS, build=row, number=1),
        by_differences("grid", normal(5), FOUR, build=grid, rank=0),
        by_differences("grid_inferred", distinct(5), FOUR, build=grid, rank=-1),
    ]


CASES = [
    *FILL,
    *GATHER,
    *TO_SPARSE,
    *TO_TENSOR,
    *each("RaggedTensorToVariant RaggedTensorFromVariant", variants),
]
