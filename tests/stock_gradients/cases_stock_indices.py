# SPDX-License-Identifier: Apache-2.0
"""Types of indices and axes, unknown ranks, empty arrays; see cases_stock.py."""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
from cases_stock import case, listed, numeric, with_static_shapes
from parity import Case
from random_values import complex_normal, distinct, normal

X = normal(2, 3, 4)
X32 = normal(2, 3, 4, dtype=np.float32)


def ints(*values: Any, kind: Any = np.int32) -> np.ndarray:
    return np.array(values, kind)


def longs(*values: Any) -> np.ndarray:
    return ints(*values, kind=np.int64)


def ranks_unknown(cases: list[Case]) -> list[Case]:
    return [
        dataclasses.replace(one, name=f"{one.name}_unknown_rank", known_shapes="rank")
        for one in cases
    ]


def shapes_known(cases: list[Case]) -> list[Case]:
    return [
        dataclasses.replace(one, name=f"{one.name}_known_shapes", known_shapes=True)
        for one in cases
    ]


def reductions() -> list[Case]:
    cases = []
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        x = distinct(2, 3, 2)
        cases += [
            numeric(case(op, "int64_axes", x, longs(0, -1))),
            numeric(case(op, "int64_kept", x, longs(-2), keep_dims=True)),
            numeric(case(op, "of_scalar", normal(), ints())),
            *ranks_unknown([numeric(case(op, "axes", x, ints(-1, 0)))]),
            numeric(case(op, "empty_axis", normal(2, 0, 3), ints(1))),
            *shapes_known([numeric(case(op, "axes", x, ints(1)))]),
        ]
    return cases


def moves() -> list[Case]:
    pads = [[1, 0], [0, 2], [1, 1]]
    slices = [
        case("Slice", "unknown_size", X, longs(1, 0, 2), longs(-1, 3, 0)),
        case("Slice", "complex", complex_normal(3, 4), ints(1, 1), ints(2, -1)),
        case("Slice", "of_scalar", normal(), ints(), ints()),
    ]
    strided = ([0, 2, 1], [2, 0, 4], [1, -1, 2])
    return [
        *slices,
        *ranks_unknown(slices[:1]),
        *shapes_known(slices[:1]),
        # Python fails.
        numeric(case("StridedSlice", "int16", X, *(ints(*v, kind=np.int16) for v in strided))),
        *ranks_unknown([case("StridedSlice", "int64", X, *(longs(*v) for v in strided))]),
        case("Pad", "empty", X[:0], ints(*pads)),
        case("Pad", "of_scalar", normal(), np.zeros([0, 2], np.int32)),
        *ranks_unknown([case("Pad", "int64", X, longs(*pads))]),
        numeric(case("PadV2", "int64", X, longs(*pads), normal())),
        *ranks_unknown([numeric(case("PadV2", "int32", X, ints(*pads), normal()))]),
        case("BroadcastTo", "of_scalar", normal(), longs(2, 3)),
        case("BroadcastTo", "to_empty", normal(3, 1), longs(0, 3, 2)),
        *ranks_unknown([case("BroadcastTo", "int64", normal(3, 1), longs(2, 3, 4))]),
        listed("ConcatV2", "empty_value", X, X[:, :0], last=ints(-2)[0]),
        *ranks_unknown([numeric(listed("ConcatV2", "int64", X, X[:1], last=np.int64(-3)))]),
        # TensorFlow's own, which take any type.
        case("Cumsum", "int64", X, longs(-2)[0]),
        case("ExpandDims", "int64", X, longs(-2)[0]),
        case("MirrorPad", "int64", X, longs(*pads), mode="SYMMETRIC"),
        case("ReverseV2", "int64", X, longs(0, -1)),
        case("ReverseSequence", "int64", X, longs(2, 3), seq_dim=1),
        case("Roll", "int64", X, longs(1, -2), longs(0, 2)),
        case("SplitV", "int64", normal(2, 4), longs(3, 1), ints(1)[0], num_split=2),
        case("SegmentSum", "int64", normal(4, 2), longs(0, 0, 2, 2)),
        *(
            case(op, "int64", distinct(4, 2), longs(1, 0, -1, 1), longs(2)[0])
            for op in ("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin")
        ),
        case("SpaceToDepth", "complex", complex_normal(1, 4, 2, 3), block_size=2),
        case("SpaceToDepth", "block_of_3", normal(2, 3, 6, 1), block_size=3),
        case("DepthToSpace", "complex", complex_normal(1, 2, 2, 8), block_size=2),
        case("DepthToSpace", "block_of_3", normal(2, 1, 2, 9), block_size=3),
    ]


def gathers() -> list[Case]:
    matrix = ints([2, 0], [2, 2])
    deep = normal(2, 3, 4, 2)
    wide = ints([[3, 0], [1, 1], [0, 2]], [[1, 0], [3, 3], [2, 2]])
    general = [
        case("GatherV2", "int64_negative", X, longs(1, 1), longs(-2)[0]),
        case("GatherV2", "batch_of_2", deep, wide, ints(2)[0], batch_dims=2),
        case("GatherV2", "batch_negative", deep, matrix, ints(-2)[0], batch_dims=1),
        case("GatherV2", "complex", complex_normal(3, 2), ints(2, 0, 2), ints(0)[0]),
        case("GatherV2", "no_indices", X, ints(), ints(1)[0]),
        case("GatherV2", "no_rows", X[:, :, :0], ints(1, 0), ints(1)[0]),
    ]
    return [
        *general,
        *ranks_unknown([numeric(one) for one in general[:3]]),
        *shapes_known(general[:3]),
        # Python fails where it does not know the shape.
        *(
            numeric(case("GatherV2", f"batch_dims_{dims}", X, matrix, axis, batch_dims=dims))
            for dims, axis in ((-1, ints(2)[0]), (-2, ints(1)[0]))
        ),
        numeric(case("GatherV2", "int16", X, ints(1, 1, kind=np.int16), longs(0)[0])),
        numeric(case("GatherNd", "int16", X, ints([1, 2], [1, 2], kind=np.int16))),
        case("GatherNd", "no_indices", X, np.zeros([0, 2], np.int64)),
        *ranks_unknown([case("GatherNd", "int64", X, longs([1, 2], [0, 1]))]),
        *scatters(),
    ]


def scatters() -> list[Case]:
    """Python drops bad_indices_policy of ScatterNd."""
    indices = ints([1], [9], [1])
    updates = normal(3, 2)
    policy = {"bad_indices_policy": "IGNORE"}
    add = "ScatterNdNonAliasingAdd"
    return [
        numeric(case("ScatterNd", "bad_ignored", indices, updates, ints(4, 2), **policy)),
        *ranks_unknown([case("ScatterNd", "int64", longs([1]), updates[:1], longs(4, 2))]),
        numeric(case(add, "bad_ignored", normal(4, 2), indices, updates, **policy)),
        case(add, "int64", normal(4, 2), longs([1], [3], [1]), updates),
    ]


def complex_parts() -> list[Case]:
    z = complex_normal(2, 3)
    return [
        *ranks_unknown(
            [
                case("Real", "complex128", z, Tout=tf.float64),
                case("Imag", "complex128", z, Tout=tf.float64),
                case("Angle", "complex128", z, Tout=tf.float64),
                case("Complex", "scalar", normal(3), normal(), Tout=tf.complex128),
            ]
        ),
        *(numeric(case(op, "numeric", z, Tout=tf.float64)) for op in ("Real", "Imag", "Angle")),
        numeric(case("Complex", "numeric", normal(2), normal(3, 1), Tout=tf.complex128)),
    ]


def elementwise() -> list[Case]:
    """By differences, and the same for unknown ranks."""
    z = complex_normal(2, 3), complex_normal(3, seed=1)
    x, y = np.abs(normal(2, 3)) + 0.5, normal(3, seed=1)
    cases = [
        case("Acos", "numeric", np.array([-0.9, -0.2, 0.1, 0.8])),
        case("Acos", "numeric_complex", z[0]),
        case("Atan", "numeric", normal(5)),
        case("Atan", "numeric_complex", z[0]),
        case("Atan2", "numeric", x, y),
        case("Pow", "numeric", x, y),
        case("Pow", "numeric_complex", *z),
        case("SquaredDifference", "numeric", x, y),
        case("SquaredDifference", "numeric_complex", *z),
        case("LogSoftmax", "numeric", normal(2, 2, 3)),
    ]
    return [
        *(numeric(one) for one in cases),
        *ranks_unknown([case("LogSoftmax", "double", normal(2, 2, 3))]),
        case("LogSoftmax", "vector", normal(4)),
        case("LogSoftmax", "float", X32),
        numeric(case("Pow", "negative", np.array([-1.5, -2.0]), np.array([2.0, 3.0])), wrt=[0]),
    ]


CASES = with_static_shapes([*reductions(), *moves(), *gathers(), *complex_parts(), *elementwise()])
