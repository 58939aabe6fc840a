# SPDX-License-Identifier: Apache-2.0
"""Sums of weights by the bin that each stands beside, by their weights."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case
from random_values import normal

# Arguments of every op by name; bin 1 is empty, bin 7 lies behind the last one.
BINS = np.array([3, 0, 3, 7, 4, 2], np.int32)
TABLE = np.array([[3, 0, 3], [7, 4, 4]], np.int32)
# A row of the matrix has no values; of the ragged ones the first, second and last.
MATRIX = {
    "indices": np.array([[0, 0], [0, 5], [2, 1], [2, 2], [3, 0]]),
    "dense_shape": np.array([4, 6]),
    "values": BINS[[4, 1, 5, 5, 1]],
}
VECTOR = {
    "indices": np.array([[1], [3], [4], [5], [8]]),
    "dense_shape": np.array([9]),
    "values": BINS[:5],
}
RAGGED = {"splits": np.array([0, 0, 0, 2, 3, 6, 6]), "values": BINS}
Arguments = Mapping[str, np.ndarray]


def case(
    op: str,
    name: str,
    arguments: Arguments,
    weights: np.ndarray | None = None,
    how: Mapping[str, Any] | None = None,
    **more: Any,
) -> Case:
    """One whose last argument has a weight for each of its elements."""
    settings: dict[str, Any] = {} if op == "Bincount" else {"binary_output": False}
    settings |= how or {}
    *_, values = arguments.values()
    if "Count" not in op:
        # In the type of the values.
        settings["size"] = np.asarray(settings.get("size", 5), values.dtype)

    def build(*inputs: Any) -> Any:
        fed = dict(zip(arguments, inputs[:-1], strict=True))
        made = getattr(tf.raw_ops, op)(**fed, weights=tf.square(inputs[-1]), **settings)
        return made.output_values if "Count" in op else made

    if weights is None:
        weights = normal(*values.shape)
    return numeric(op, name, build, [*arguments.values(), weights], **more)


def wide(arguments: Arguments) -> Arguments:
    return {name: value.astype(np.int64) for name, value in arguments.items()}


def nothing(arguments: Arguments) -> Arguments:
    """The same without values."""
    few = {name: value[:0] for name, value in arguments.items()}
    if "dense_shape" in arguments:
        few["dense_shape"] = arguments["dense_shape"]
    if "splits" in arguments:
        few["splits"] = arguments["splits"][:2]
    return few


def kinds(op: str, arguments: Arguments) -> list[Case]:
    """What is tried of every op."""
    *_, values = arguments.values()
    single = normal(*values.shape, dtype=np.float32)
    few = {"maxlength": 4} if "Count" in op else {"size": 4}
    return [
        case(op, "double", arguments),
        case(op, "float", arguments, single, known_shapes=True),
        case(op, "unknown_rank", arguments, known_shapes="rank"),
        case(op, "no_values", nothing(arguments)),
        case(op, "no_weights", arguments, np.zeros(0)),
        case(op, "fewer_bins", arguments, how=few),
        *(
            []
            if op == "Bincount"
            else [
                case(op, "int64", wide(arguments)),
                case(op, "binary", arguments, how={"binary_output": True}, no_gradient=True),
            ]
        ),
    ]


DENSE = [
    *kinds("Bincount", {"arr": BINS}),
    case("Bincount", "matrix", {"arr": TABLE}),
    case("Bincount", "scalar", {"arr": np.array(2, np.int32)}),
    *kinds("DenseBincount", {"input": TABLE}),
    case("DenseBincount", "vector", {"input": BINS}),
    case("DenseBincount", "scalar", {"input": np.array(2, np.int32)}),
    case("DenseBincount", "no_columns", {"input": TABLE[:, :0]}),
    case("DenseBincount", "no_bins", {"input": TABLE}, how={"size": 0}),
    *kinds("SparseBincount", MATRIX),
    case("SparseBincount", "vector", VECTOR),
    *kinds("RaggedBincount", RAGGED),
]

SPARSE = [
    *kinds("DenseCountSparseOutput", {"values": BINS}),
    case("DenseCountSparseOutput", "matrix", {"values": TABLE}),
    case(
        "DenseCountSparseOutput",
        "large",
        {"values": np.array([0, 2**30, 5, 0, 5])},
        how={"minlength": 3},
    ),
    *kinds("SparseCountSparseOutput", MATRIX),
    case("SparseCountSparseOutput", "vector", VECTOR),
    *kinds("RaggedCountSparseOutput", RAGGED),
]

CASES = [*DENSE, *SPARSE]
