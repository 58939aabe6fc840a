# SPDX-License-Identifier: Apache-2.0
"""Types, attributes and shapes; see cases_stock.py.

Most of these ops keep TensorFlow's client gradient: this library differentiates them
in the function runtime.
"""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
from cases_stock import case, listed, numeric, numeric_second, single
from parity import Case
from random_values import complex_normal, distinct, normal

Z = complex_normal(2, 3, 4)


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def half(*shape: int) -> np.ndarray:
    return normal(*shape, dtype=np.float16)


def every_shape(one: Case) -> list[Case]:
    """The case with ranks known, shapes known, and neither."""
    return [
        one,
        dataclasses.replace(one, name=f"{one.name}_static", known_shapes=True),
        dataclasses.replace(one, name=f"{one.name}_rank", known_shapes="rank"),
    ]


def elementwise() -> list[Case]:
    x, low, high = normal(2, 3), np.array(-0.5), np.array(0.6)
    scalar = np.array(True)
    return [
        *(case(op, "half", half(5)) for op in ("Elu", "Erf", "LeakyRelu", "Selu", "Softplus")),
        # Python's second order fails.
        dataclasses.replace(case("Lgamma", "half", np.abs(half(3)) + 1), second_order=None),
        case("LeakyReluGrad", "alpha", normal(4), normal(4, seed=1), alpha=0.7),
        case("LeakyReluGrad", "float", single(4), single(4, seed=1)),
        *every_shape(case("ClipByValue", "matrix", x, low, high)),
        case("ClipByValue", "at_the_bounds", np.array([-0.5, 0.6]), low, high),
        case("ClipByValue", "half", half(3), np.float16(-0.5), np.float16(0.6)),
        *every_shape(case("SelectV2", "scalar", scalar, x, normal(3))),
        case("SelectV2", "complex", scalar, complex_normal(3), complex_normal(2, 1)),
        case("SelectV2", "half", np.array([[True], [False]]), half(3), half(2, 3)),
        case("SelectV2", "empty", np.zeros([0, 1], bool), normal(3), normal(1, 3)),
        listed("AddN", "complex", Z, 2 * Z),
        listed("AddN", "one", Z),
        case("L2Loss", "scalar", normal()),
        case("CheckNumerics", "half", half(3), message="x"),
        case("QuantizeAndDequantizeV3", "axis", x, *_limits(2), axis=0),
        case("QuantizeAndDequantizeV3", "narrow", x, *_limits(), narrow_range=True),
    ]


def _limits(*shape: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.full(shape, -1.0), np.full(shape, 1.5), np.array(8, np.int32)


def sums() -> list[Case]:
    ids = ints(1, 0, -1, 1)
    return [
        *every_shape(case("Cumsum", "complex", Z, ints(1)[0], reverse=True)),
        case("Cumsum", "half", half(2, 3), ints(-1)[0], exclusive=True),
        *every_shape(case("SegmentSum", "cube", normal(4, 2, 3), ints(0, 0, 1, 3))),
        case("SegmentSum", "empty", normal(0, 2), ints()),
        *every_shape(case("UnsortedSegmentSum", "complex", complex_normal(4, 2), ids, ints(2)[0])),
        case("UnsortedSegmentSum", "int16", normal(4), ids.astype(np.int16), 2),
        *(
            dataclasses.replace(
                numeric_second(case(op, "float", distinct(4, 3, dtype=np.float32), ids, 2)),
                step=1e-2,
            )
            for op in ("UnsortedSegmentMax", "UnsortedSegmentMin")
        ),
    ]


def products() -> list[Case]:
    x, y = single(2, 2, 3), single(3, 4)
    op, tout = "BatchMatMulV3", {"Tout": tf.float32}
    return [
        *every_shape(case(op, "float", x, y, **tout)),
        case(op, "adjoint_float", x, single(4, 3), adj_y=True, **tout),
        case(op, "empty", x[:0], y, **tout),
        case(op, "matrices", x[0], y, **tout),
    ]


def moves() -> list[Case]:
    pads = ints([1, 0], [0, 2], [1, 1])
    batches = normal(4, 2, 2, 2)
    block = np.array([2, 2])
    crops, image = np.array([[1, 0], [0, 1]]), normal(1, 3, 3, 2)
    return [
        case("Roll", "complex", Z, ints(1)[0], ints(-1)[0]),
        *every_shape(case("Roll", "same_axis_twice", Z, ints(1, 3), ints(2, 2))),
        case("ReverseSequence", "complex", Z, ints(1, 3), seq_dim=1),
        *every_shape(case("Tile", "complex", Z, ints(2, 1, 3))),
        case("Tile", "to_nothing", normal(2, 3), ints(2, 0)),
        case("Tile", "empty", normal(0, 3), ints(2, 2)),
        case("Tile", "of_scalar", normal(), np.zeros(0, np.int32)),
        case("MirrorPad", "complex", Z, pads, mode="REFLECT"),
        case("MirrorPadGrad", "complex", Z, ints([0, 0], [1, 0], [0, 1]), mode="REFLECT"),
        case("SpaceToBatch", "int64", image, crops, block_size=2),
        case("BatchToSpace", "int64", batches, crops, block_size=2),
        case("SpaceToBatchND", "int64", image, block_shape=block, paddings=crops),
        case("BatchToSpaceND", "int64", batches, block_shape=block, crops=crops),
        case("SpaceToBatchND", "row", normal(2, 3), block_shape=[2], paddings=[[1, 0]]),
        case("BatchToSpaceND", "row", normal(4, 2), block_shape=[2], crops=[[1, 0]]),
        *every_shape(case("Diag", "cube", complex_normal(2, 3))),
        *every_shape(case("DiagPart", "cube", complex_normal(2, 3, 2, 3))),
        *every_shape(case("MatrixDiag", "complex_batch", complex_normal(2, 3))),
        case("MatrixBandPart", "complex", Z, ints(-1)[0], ints(0)[0]),
        *every_shape(
            case(
                "DynamicPartition",
                "complex",
                complex_normal(2, 3, 2),
                ints([1, 0, 1], [3, 1, 1]),
                num_partitions=4,
            )
        ),
        case("DynamicPartition", "scalar", normal(2), ints(1)[0], num_partitions=2),
        case("DynamicPartition", "no_rows", normal(0, 2), ints(), num_partitions=2),
    ]


def windows() -> list[Case]:
    volume = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 2, 1, 1], "padding": "SAME"}
    window = ints(1, 2, 2, 1), ints(1, 1, 2, 1)
    x = single(1, 5, 4, 2)
    depthwise = single(2, 2, 2, 2)
    ratio = {"pooling_ratio": [1.0, 1.4, 1.3, 1.0], "deterministic": True, "seed": 5}
    return [
        case("MaxPoolV2", "float", distinct(1, 4, 4, 2, dtype=np.float32), *window, padding="SAME"),
        case("AvgPool3D", "strides", single(1, 2, 4, 3, 2), **volume),
        case("MaxPool3D", "strides", distinct(1, 2, 4, 3, 2, dtype=np.float32), **volume),
        case(
            "DepthwiseConv2dNative", "strides", x, depthwise, strides=[1, 2, 2, 1], padding="SAME"
        ),
        *(
            Case(
                op,
                kind.__name__,
                lambda x, op=op: getattr(tf.raw_ops, op)(value=x, **ratio).output,
                [distinct(1, 6, 5, 2, dtype=kind)],
                known_shapes=True,
                second_order="numeric",
                step=1e-2,
            )
            for op in ("FractionalAvgPool", "FractionalMaxPool")
            for kind in (np.float32, np.float64)
        ),
    ]


def images() -> list[Case]:
    """Linear in the image, whose gradient Python leaves out for some types."""
    size, image = ints(5, 3), normal(1, 3, 4, 2)
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0.05, 0.1, 0.9, 0.95]], np.float32)
    rest = boxes, ints(0, 0), ints(3, 2)
    scale, move = np.array([1.5, 0.8], np.float32), np.array([0.3, -0.2], np.float32)

    def one(op: str, kind: Any, *more: np.ndarray, **attributes: Any) -> Case:
        name = "_".join([np.dtype(kind).name, *attributes])
        made = numeric_second(case(op, name, image.astype(kind), *more, **attributes))
        tolerance = 2e-2 if kind == np.float16 else 1e-4
        return dataclasses.replace(made, wrt=[0], step=1.0, tolerance=tolerance, known_shapes=True)

    of_bytes = (10 * np.abs(image)).astype(np.uint8)
    return [
        *(
            one(op, kind, size)
            for op in ("ResizeBilinear", "ResizeNearestNeighbor")
            for kind in (np.float64, np.float16)
        ),
        one("ResizeBicubic", np.float64, size),
        numeric(one("ResizeBicubic", np.float16, size)),
        *(one("CropAndResize", kind, *rest) for kind in (np.float64, np.float16)),
        dataclasses.replace(
            numeric_second(case("CropAndResize", "boxes_of_bytes", of_bytes, *rest)),
            step=4e-3,
            tolerance=1e-2,
        ),
        *(
            numeric(one("ScaleAndTranslate", kind, size, scale, move))
            for kind in (np.float64, np.float16)
        ),
        one("ScaleAndTranslate", np.float32, size, scale, move, antialias=False),
    ]


CASES = [*elementwise(), *sums(), *products(), *moves(), *windows(), *images()]
