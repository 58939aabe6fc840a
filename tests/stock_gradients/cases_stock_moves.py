"""Ops that move values; see cases_stock.py."""

import functools
from typing import Any

import numpy as np
from parity import Case
from random_values import complex_normal, normal
from rows import call, case, each, ints, longs, numeric, with_every_shape, with_static_shapes

X, Z = normal(2, 3, 4), complex_normal(2, 3, 4)
shorts = functools.partial(ints, dtype=np.int16)


def scalar(number: int, dtype: Any = np.int32) -> np.ndarray:
    return np.array(number, dtype)


def long(number: int) -> np.ndarray:
    return scalar(number, np.int64)


# ---- Shapes


def ends(dtype: Any) -> list[np.ndarray]:
    """Where slices begin and end, and their strides."""
    return [np.array(numbers, dtype) for numbers in ([0, 2, 1], [2, 0, 4], [1, -1, 2])]


PADS = [[1, 0], [0, 2], [1, 1]]
END_PADS = [[1, 0], [0, 2], [0, 0]]
IMAGE, BATCHES, BLOCK = normal(1, 3, 3, 2), normal(4, 2, 2, 2), ints(2, 2)
EDGES = ints([1, 0], [0, 1])
broadcast = functools.partial(case, "BroadcastTo")
slice_ = functools.partial(case, "Slice")
strided = functools.partial(case, "StridedSlice")
SHAPES = [
    broadcast("int32", normal(3, 1), ints(2, 3, 4)),
    broadcast("int64", normal(3, 1), longs(2, 3, 4)),
    broadcast("int64_unknown_rank", normal(3, 1), longs(2, 3, 4), static="none"),
    broadcast("complex", complex_normal(3), ints(2, 3)),
    broadcast("of_scalar", normal(), longs(2, 3)),
    broadcast("to_empty", normal(3, 1), longs(0, 3, 2)),
    case("ConcatV2", "axis", [X, X[:, :1]], axis=scalar(1)),
    case("ConcatV2", "negative_axis", [X, X[..., :1], X], axis=scalar(-1)),
    case("ConcatV2", "empty_value", [X, X[:, :0]], axis=scalar(-2)),
    # Python fails.
    numeric("ConcatV2", "int64", [X, X[:1]], axis=np.int64(0)),
    numeric("ConcatV2", "int64_unknown_rank", [X, X[:1]], axis=np.int64(-3), static="none"),
    case("Pack", "axis", [X, X + 1], axis=1),
    case("Pack", "negative_axis", [X, X + 1], axis=-1),
    case("Unpack", "axis", X, num=3, axis=1),
    case("Unpack", "negative_axis", X, num=3, axis=-2),
    case("AddN", "double", [X, 2 * X, X]),
    case("AddN", "complex", [Z, 2 * Z]),
    case("AddN", "one", [Z]),
    case("ExpandDims", "double", X, scalar(-2)),
    case("ExpandDims", "int64", X, long(-2)),
    case("Squeeze", "all", X[:, :1]),
    case("Squeeze", "axis", X[:1, :1], axis=[0]),
    case("Reshape", "int32", X, ints(3, -1)),
    case("Reshape", "int64", X, longs(3, 8)),
    case("Fill", "int32", ints(2, 3), normal()),
    case("Fill", "int64", longs(2, 3), normal()),
    case("Tile", "int32", X, ints(1, 2, 3)),
    case("Tile", "int64", X, longs(1, 2, 3)),
    case("Transpose", "double", X, ints(2, 0, 1)),
    case("Transpose", "int64", X, longs(2, 0, 1)),
    case("ReverseV2", "double", X, ints(0, -1)),
    case("ReverseV2", "int64", X, longs(0, -1)),
    case("ReverseSequence", "double", X, ints(2, 3), seq_dim=1),
    case("ReverseSequence", "int64", X, longs(2, 3), seq_dim=1),
    case("ReverseSequence", "batch_dim", X, ints(1, 2, 0), seq_dim=0, batch_dim=1),
    case("Roll", "double", X, ints(1, -2), ints(0, 2)),
    case("Roll", "int64", X, longs(1, -2), longs(0, 2)),
    slice_("double", X, ints(0, 1, 1), ints(1, 2, -1)),
    slice_("int64", X, longs(0, 1, 1), longs(1, 2, 2)),
    slice_("complex", complex_normal(3, 4), ints(1, 1), ints(2, -1)),
    slice_("of_scalar", normal(), ints(), ints()),
    *(
        slice_(f"unknown_size{name}", X, longs(1, 0, 2), longs(-1, 3, 0), static=static)
        for name, static in (("", "rank"), ("_unknown_rank", "none"), ("_known_shapes", "all"))
    ),
    strided("int32", X, *ends(np.int32)),
    strided("masks", X, *ends(np.int32), begin_mask=1, end_mask=2, shrink_axis_mask=1),
    strided("new_axis", X, *ends(np.int32), new_axis_mask=2, ellipsis_mask=4),
    strided("int64", X, *ends(np.int64)),
    strided("int64_unknown_rank", X, *ends(np.int64), static="none"),
    # Python fails.
    numeric("StridedSlice", "int16", X, *ends(np.int16)),
    case("Split", "axis", scalar(1), normal(2, 4), num_split=2),
    case("SplitV", "axis", normal(2, 4), ints(3, 1), scalar(1), num_split=2),
    case("SplitV", "negative_axis", normal(4, 2), ints(3, 1), scalar(-2), num_split=2),
    case("SplitV", "int64", normal(2, 4), longs(3, 1), scalar(1), num_split=2),
    case("SpaceToBatch", "double", IMAGE, EDGES, block_size=2),
    case("BatchToSpace", "double", BATCHES, EDGES, block_size=2),
    case("SpaceToBatchND", "double", IMAGE, block_shape=BLOCK, paddings=EDGES),
    case("BatchToSpaceND", "double", BATCHES, block_shape=BLOCK, crops=EDGES),
    case("SpaceToDepth", "NHWC", normal(1, 4, 2, 3), block_size=2),
    case("SpaceToDepth", "complex", complex_normal(1, 4, 2, 3), block_size=2),
    case("SpaceToDepth", "block_of_3", normal(2, 3, 6, 1), block_size=3),
    case("DepthToSpace", "NHWC", normal(1, 2, 2, 8), block_size=2),
    case("DepthToSpace", "complex", complex_normal(1, 2, 2, 8), block_size=2),
    case("DepthToSpace", "block_of_3", normal(2, 1, 2, 9), block_size=3),
    case("Pad", "int32", X, ints(*END_PADS)),
    case("Pad", "int64", X, longs(*END_PADS)),
    case("Pad", "int64_unknown_rank", X, longs(*PADS), static="none"),
    case("Pad", "empty", X[:0], ints(*PADS)),
    case("Pad", "of_scalar", normal(), np.zeros([0, 2], np.int32)),
    # Python has none by the padding value.
    numeric("PadV2", "double", X, ints(*END_PADS), normal()),
    numeric("PadV2", "complex", complex_normal(2, 3), ints(*END_PADS[:2]), complex_normal()),
    numeric("PadV2", "int64", X, longs(*PADS), normal()),
    numeric("PadV2", "int32_unknown_rank", X, ints(*PADS), normal(), static="none"),
    *each(
        "REFLECT SYMMETRIC",
        lambda mode: [
            case("MirrorPad", mode, X, ints(*PADS), mode=mode),
            case("MirrorPadGrad", mode, normal(3, 5, 6), ints(*PADS), mode=mode),
        ],
    ),
    case("MirrorPad", "int64", X, longs(*PADS), mode="SYMMETRIC"),
    case("Diag", "matrix", normal(2, 3)),
    case("DiagPart", "matrix", normal(3, 3)),
    case("DiagPart", "of_rank_4", normal(2, 3, 2, 3)),
    case("DiagPart", "complex", complex_normal(3, 3)),
    case("MatrixDiag", "batch", normal(2, 3)),
    case("MatrixBandPart", "double", normal(2, 3, 3), scalar(1), scalar(0)),
    case("MatrixBandPart", "int64", normal(3, 4), long(-1), long(1)),
]
TYPES = [
    case("Roll", "complex", Z, scalar(1), scalar(-1)),
    *with_every_shape(case("Roll", "same_axis_twice", Z, ints(1, 3), ints(2, 2))),
    case("ReverseSequence", "complex", Z, ints(1, 3), seq_dim=1),
    *with_every_shape(case("Tile", "complex", Z, ints(2, 1, 3))),
    case("Tile", "to_nothing", normal(2, 3), ints(2, 0)),
    case("Tile", "empty", normal(0, 3), ints(2, 2)),
    case("Tile", "of_scalar", normal(), ints()),
    case("MirrorPad", "complex", Z, ints(*PADS), mode="REFLECT"),
    case("MirrorPadGrad", "complex", Z, ints([0, 0], [1, 0], [0, 1]), mode="REFLECT"),
    case("SpaceToBatch", "int64", IMAGE, EDGES.astype(np.int64), block_size=2),
    case("BatchToSpace", "int64", BATCHES, EDGES.astype(np.int64), block_size=2),
    case("SpaceToBatchND", "int64", IMAGE, block_shape=longs(2, 2), paddings=longs(*EDGES)),
    case("BatchToSpaceND", "int64", BATCHES, block_shape=longs(2, 2), crops=longs(*EDGES)),
    case("SpaceToBatchND", "row", normal(2, 3), block_shape=[2], paddings=[[1, 0]]),
    case("BatchToSpaceND", "row", normal(4, 2), block_shape=[2], crops=[[1, 0]]),
    *with_every_shape(case("Diag", "cube", complex_normal(2, 3))),
    *with_every_shape(case("DiagPart", "cube", complex_normal(2, 3, 2, 3))),
    *with_every_shape(case("MatrixDiag", "complex_batch", complex_normal(2, 3))),
    case("MatrixBandPart", "complex", Z, scalar(-1), scalar(0)),
]

# ---- Indices


def stitch(op: str) -> list[Case]:
    def build(i: Any, j: Any, x: Any, y: Any) -> Any:
        return call(op, [i, j], [x, y])

    first, second = normal(2, 2), normal(3, 2)
    cubes = complex_normal(2, 1, 2), complex_normal(2, seed=1)
    # Python gives the gradient to all rows with the same index, but only the last one is in the
    # result.
    repeated = numeric if op == "DynamicStitch" else case
    return [
        case(op, "distinct", ints(3, 0), ints(1, 4, 2), first, second, build=build),
        case(op, "of_ranks", ints([2], [0]), scalar(1), *cubes, build=build),
        repeated(op, "repeated", ints(3, 0), ints(1, 0, 2), first, second, build=build),
    ]


MATRIX, COMPLEX_ROWS = ints([2, 0], [2, 2]), complex_normal(2, 3, 2)
BAD, UPDATES = ints([1], [9], [1]), normal(3, 2)
partition = functools.partial(case, "DynamicPartition")
gather = functools.partial(case, "GatherV2")
gather_nd = functools.partial(case, "GatherNd")
add = functools.partial(case, "ScatterNdNonAliasingAdd")
# Python drops it in the gradient of ScatterNd, and in that of GatherNd in 2.18.
IGNORE = {"bad_indices_policy": "IGNORE"}


def gathers(name: str, *inputs: Any, **more: Any) -> list[Case]:
    return [
        gather(name, *inputs, **more),
        numeric("GatherV2", f"{name}_unknown_rank", *inputs, static="none", **more),
        gather(f"{name}_known_shapes", *inputs, static="all", **more),
    ]


INDICES = [
    partition("vector", normal(4, 2), ints(1, 0, 1, 1), num_partitions=3),
    partition("matrix", normal(2, 2), ints([1, 0], [0, 1]), num_partitions=2),
    *each("DynamicStitch ParallelDynamicStitch", stitch),
    gather("axis_0", X, ints(1, 0, 1), scalar(0)),
    gather("axis_1", X, ints([2, 0], [2, 1]), scalar(1)),
    gather("negative_axis", X, ints(2, 0, 2), scalar(-1)),
    gather("int64", X, longs(1, 1), long(1)),
    gather("scalar", X, scalar(1), scalar(1)),
    gather("batch_dims", X, MATRIX, scalar(1), batch_dims=1),
    gather("batch_dims_axis", X, MATRIX, scalar(2), batch_dims=1),
    *gathers("int64_negative", X, longs(1, 1), long(-2)),
    *gathers(
        "batch_of_2",
        normal(2, 3, 4, 2),
        ints([[3, 0], [1, 1], [0, 2]], [[1, 0], [3, 3], [2, 2]]),
        scalar(2),
        batch_dims=2,
    ),
    *gathers("batch_negative", normal(2, 3, 4, 2), MATRIX, scalar(-2), batch_dims=1),
    gather("complex", complex_normal(3, 2), ints(2, 0, 2), scalar(0)),
    gather("no_indices", X, ints(), scalar(1)),
    gather("no_rows", X[:, :, :0], ints(1, 0), scalar(1)),
    # Python fails if it does not know the shape.
    numeric("GatherV2", "batch_dims_-1", X, MATRIX, scalar(2), batch_dims=-1),
    numeric("GatherV2", "batch_dims_-2", X, MATRIX, scalar(1), batch_dims=-2),
    numeric("GatherV2", "int16", X, shorts(1, 1), long(0)),
    gather_nd("elements", X[0], ints([[2, 0], [2, 1]], [[0, 0], [1, 1]])),
    gather_nd("rows", X, ints([1, 2], [0, 0], [1, 2])),
    gather_nd("int64", X, longs([1, 2], [1, 2])),
    gather_nd("int64_unknown_rank", X, longs([1, 2], [0, 1]), static="none"),
    gather_nd("no_indices", X, np.zeros([0, 2], np.int64)),
    numeric("GatherNd", "int16", X, shorts([1, 2], [1, 2])),
    numeric("GatherNd", "bad_indices_ignored", X, ints([1, 2], [7, 0]), **IGNORE),
    case("ScatterNd", "int32", ints([1], [3], [1]), UPDATES, ints(4, 2)),
    case("ScatterNd", "int64", longs([1], [3]), normal(2, 2), longs(4, 2)),
    case("ScatterNd", "int64_unknown_rank", longs([1]), UPDATES[:1], longs(4, 2), static="none"),
    numeric("ScatterNd", "bad_ignored", BAD, UPDATES, ints(4, 2), **IGNORE),
    add("double", normal(4, 2), ints([1], [3], [1]), UPDATES),
    add("int64", normal(4, 2), longs([1], [3], [1]), UPDATES),
    numeric("ScatterNdNonAliasingAdd", "bad_ignored", normal(4, 2), BAD, UPDATES, **IGNORE),
]
INDEX_TYPES = [
    *with_every_shape(
        partition("complex", COMPLEX_ROWS, ints([1, 0, 1], [3, 1, 1]), num_partitions=4)
    ),
    partition("scalar", normal(2), scalar(1), num_partitions=2),
    partition("no_rows", normal(0, 2), ints(), num_partitions=2),
]

# ---- Variables


def read(name: str, value: np.ndarray) -> Case:
    return case(
        "ReadVariableOp", name, value, dtype=value.dtype, then=lambda x: x**2, variables=[0]
    )


READS = [
    read("double", normal(3)),
    read("float", normal(3, dtype=np.float32)),
    read("complex", complex_normal(3)),
]

CASES = [*with_static_shapes([*SHAPES, *INDICES, *READS]), *TYPES, *INDEX_TYPES]
