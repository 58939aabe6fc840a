# SPDX-License-Identifier: Apache-2.0
"""Ops that move values; see cases_stock.py."""

from typing import Any

import numpy as np
import tensorflow as tf
from cases_stock import call, case, listed, numeric, with_static_shapes
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


X = normal(2, 3, 4)


def stitch(op: str) -> list[Case]:
    def build(i: Any, j: Any, x: Any, y: Any) -> Any:
        return call(op, [[i, j], [x, y]], {})

    first, second = normal(2, 2), normal(3, 2)
    cubes = complex_normal(2, 1, 2), complex_normal(2, seed=1)
    repeated = Case(op, "repeated", build, [ints(3, 0), ints(1, 0, 2), first, second])
    return [
        Case(op, "distinct", build, [ints(3, 0), ints(1, 4, 2), first, second]),
        Case(op, "of_ranks", build, [ints([2], [0]), ints(1)[0], *cubes]),
        # Python gives the gradient to all rows with the same index, of which the
        # last one is in the result.
        numeric(repeated) if op == "DynamicStitch" else repeated,
    ]


def space_to_batch() -> list[Case]:
    pads, image = ints([1, 0], [0, 1]), normal(1, 3, 3, 2)
    block, batches = ints(2, 2), normal(4, 2, 2, 2)
    return [
        case("SpaceToBatch", "double", image, pads, block_size=2),
        case("BatchToSpace", "double", batches, pads, block_size=2),
        case("SpaceToBatchND", "double", image, block_shape=block, paddings=pads),
        case("BatchToSpaceND", "double", batches, block_shape=block, crops=pads),
        case("SpaceToDepth", "NHWC", normal(1, 4, 2, 3), block_size=2),
        case("DepthToSpace", "NHWC", normal(1, 2, 2, 8), block_size=2),
    ]


def strided_slice(name: str, kind: Any, **masks: int) -> Case:
    begin, end, strides = ([0, 2, 1], [2, 0, 4], [1, -1, 2])
    return case(
        "StridedSlice", name, X, *(np.array(v, kind) for v in (begin, end, strides)), **masks
    )


MOVES = [
    case("BroadcastTo", "int32", normal(3, 1), ints(2, 3, 4)),
    case("BroadcastTo", "int64", normal(3, 1), np.array([2, 3, 4])),
    case("BroadcastTo", "complex", complex_normal(3), ints(2, 3)),
    listed("ConcatV2", "axis", X, X[:, :1], last=ints(1)[0]),
    listed("ConcatV2", "negative_axis", X, X[..., :1], X, last=ints(-1)[0]),
    # Python fails.
    numeric(listed("ConcatV2", "int64", X, X[:1], last=np.int64(0))),
    listed("Pack", "axis", X, X + 1, axis=1),
    listed("Pack", "negative_axis", X, X + 1, axis=-1),
    case("Unpack", "axis", X, num=3, axis=1),
    case("Unpack", "negative_axis", X, num=3, axis=-2),
    listed("AddN", "double", X, 2 * X, X),
    case("ExpandDims", "double", X, ints(-2)[0]),
    case("Squeeze", "all", X[:, :1]),
    case("Squeeze", "axis", X[:1, :1], axis=[0]),
    case("Reshape", "int32", X, ints(3, -1)),
    case("Reshape", "int64", X, np.array([3, 8])),
    case("Fill", "int32", ints(2, 3), normal()),
    case("Fill", "int64", np.array([2, 3]), normal()),
    case("Tile", "int32", X, ints(1, 2, 3)),
    case("Tile", "int64", X, np.array([1, 2, 3])),
    case("Transpose", "double", X, ints(2, 0, 1)),
    case("Transpose", "int64", X, np.array([2, 0, 1])),
    case("ReverseV2", "double", X, ints(0, -1)),
    case("ReverseSequence", "double", X, ints(2, 3), seq_dim=1),
    case("ReverseSequence", "batch_dim", X, ints(1, 2, 0), seq_dim=0, batch_dim=1),
    case("Roll", "double", X, ints(1, -2), ints(0, 2)),
    case("Slice", "double", X, ints(0, 1, 1), ints(1, 2, -1)),
    case("Slice", "int64", X, np.array([0, 1, 1]), np.array([1, 2, 2])),
    strided_slice("int32", np.int32),
    strided_slice("masks", np.int32, begin_mask=1, end_mask=2, shrink_axis_mask=1),
    strided_slice("new_axis", np.int32, new_axis_mask=2, ellipsis_mask=4),
    strided_slice("int64", np.int64),
    case("Split", "axis", ints(1)[0], normal(2, 4), num_split=2),
    case("SplitV", "axis", normal(2, 4), ints(3, 1), ints(1)[0], num_split=2),
    case("SplitV", "negative_axis", normal(4, 2), ints(3, 1), ints(-2)[0], num_split=2),
    case("DynamicPartition", "vector", normal(4, 2), ints(1, 0, 1, 1), num_partitions=3),
    case("DynamicPartition", "matrix", normal(2, 2), ints([1, 0], [0, 1]), num_partitions=2),
    *stitch("DynamicStitch"),
    *stitch("ParallelDynamicStitch"),
    *space_to_batch(),
    case("Pad", "int32", X, ints([1, 0], [0, 2], [0, 0])),
    case("Pad", "int64", X, np.array([[1, 0], [0, 2], [0, 0]])),
    # Python has none by the value that pads.
    numeric(case("PadV2", "double", X, ints([1, 0], [0, 2], [0, 0]), normal())),
    numeric(case("PadV2", "complex", complex_normal(2, 3), ints([1, 0], [0, 2]), complex_normal())),
    *(
        case("MirrorPad", mode, X, ints([1, 0], [0, 2], [1, 1]), mode=mode)
        for mode in ("REFLECT", "SYMMETRIC")
    ),
    *(
        case("MirrorPadGrad", mode, normal(3, 5, 6), ints([1, 0], [0, 2], [1, 1]), mode=mode)
        for mode in ("REFLECT", "SYMMETRIC")
    ),
    case("Diag", "matrix", normal(2, 3)),
    case("DiagPart", "matrix", normal(3, 3)),
    case("DiagPart", "of_rank_4", normal(2, 3, 2, 3)),
    case("DiagPart", "complex", complex_normal(3, 3)),
    case("MatrixDiag", "batch", normal(2, 3)),
    case("MatrixBandPart", "double", normal(2, 3, 3), ints(1)[0], ints(0)[0]),
    case("MatrixBandPart", "int64", normal(3, 4), np.array(-1), np.array(1)),
]

INDICES = ints([[2, 0], [2, 1]], [[0, 0], [1, 1]])
GATHERS = [
    case("GatherV2", "axis_0", X, ints(1, 0, 1), ints(0)[0]),
    case("GatherV2", "axis_1", X, ints([2, 0], [2, 1]), ints(1)[0]),
    case("GatherV2", "negative_axis", X, ints(2, 0, 2), ints(-1)[0]),
    case("GatherV2", "int64", X, np.array([1, 1]), np.array(1)),
    case("GatherV2", "scalar", X, ints(1)[0], ints(1)[0]),
    case("GatherV2", "batch_dims", X, ints([2, 0], [2, 2]), ints(1)[0], batch_dims=1),
    case("GatherV2", "batch_dims_axis", X, ints([2, 0], [2, 2]), ints(2)[0], batch_dims=1),
    case("GatherNd", "elements", X[0], INDICES),
    case("GatherNd", "rows", X, ints([1, 2], [0, 0], [1, 2])),
    case("GatherNd", "int64", X, np.array([[1, 2], [1, 2]])),
    # Python's gradient of ScatterNd drops the policy; that of GatherNd in 2.18.
    numeric(
        case(
            "GatherNd", "bad_indices_ignored", X, ints([1, 2], [7, 0]), bad_indices_policy="IGNORE"
        )
    ),
    case("ScatterNd", "int32", ints([1], [3], [1]), normal(3, 2), ints(4, 2)),
    case("ScatterNd", "int64", np.array([[1], [3]]), normal(2, 2), np.array([4, 2])),
    case("ScatterNdNonAliasingAdd", "double", normal(4, 2), ints([1], [3], [1]), normal(3, 2)),
]


def read(name: str, value: np.ndarray) -> Case:
    return Case(
        "ReadVariableOp",
        name,
        lambda handle: raw.ReadVariableOp(resource=handle, dtype=value.dtype) ** 2,
        [value],
        variables=[0],
    )


READS = [
    read("double", normal(3)),
    read("float", normal(3, dtype=np.float32)),
    read("complex", complex_normal(3)),
]

CASES = with_static_shapes([*MOVES, *GATHERS, *READS])
