# SPDX-License-Identifier: Apache-2.0
"""Sums of weights by the bin that each stands beside, by their weights."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import normal
from rows import call, ints, longs, numeric

# Arguments of every op by name; bin 1 is empty, bin 7 lies behind the last one.
Arguments = Mapping[str, np.ndarray]
BINS, TABLE = ints(3, 0, 3, 7, 4, 2), ints([3, 0, 3], [7, 4, 4])
# A row of the matrix has no values; of the ragged ones the first, second and last.
MATRIX = {
    "indices": longs([0, 0], [0, 5], [2, 1], [2, 2], [3, 0]),
    "dense_shape": longs(4, 6),
    "values": BINS[[4, 1, 5, 5, 1]],
}
VECTOR = {"indices": longs([1], [3], [4], [5], [8]), "dense_shape": longs(9), "values": BINS[:5]}
RAGGED = {"splits": longs(0, 0, 0, 2, 3, 6, 6), "values": BINS}


def row(op: str, name: str, arguments: Arguments, weights: Any = None, **more: Any) -> Case:
    """One whose last argument has a weight for each of its elements."""
    *_, values = arguments.values()
    how: dict[str, Any] = {} if op == "Bincount" else {"binary_output": False}
    how |= more
    if "Count" not in op:
        # In the type of the values.
        how["size"] = np.asarray(how.get("size", 5), values.dtype)

    def build(*inputs: Any, **attributes: Any) -> Any:
        fed = dict(zip(arguments, inputs, strict=False))
        made = call(op, **fed, weights=tf.square(inputs[-1]), **attributes)
        return made[1] if "Count" in op else made

    weights = normal(*values.shape) if weights is None else weights
    return numeric(op, name, *arguments.values(), weights, build=build, **how)


def nothing(arguments: Arguments) -> Arguments:
    """The same without values."""
    left = {"dense_shape": 2, "splits": 2}
    return {name: value[: left.get(name, 0)] for name, value in arguments.items()}


def kinds(op: str, arguments: Arguments) -> list[Case]:
    """What is tried of every op."""
    *_, values = arguments.values()
    wide = {name: value.astype(np.int64) for name, value in arguments.items()}
    cases = [
        row(op, "double", arguments),
        row(op, "float", arguments, normal(*values.shape, dtype=np.float32), known_shapes=True),
        row(op, "unknown_rank", arguments, known_shapes="rank"),
        row(op, "no_values", nothing(arguments)),
        row(op, "no_weights", arguments, np.zeros(0)),
        row(op, "fewer_bins", arguments, **{"maxlength" if "Count" in op else "size": 4}),
    ]
    if op != "Bincount":
        cases += [
            row(op, "int64", wide),
            row(op, "binary", arguments, binary_output=True, no_gradient=True),
        ]
    return cases


dense, count = functools.partial(row, "DenseBincount"), "DenseCountSparseOutput"
CASES = [
    *kinds("Bincount", {"arr": BINS}),
    row("Bincount", "matrix", {"arr": TABLE}),
    row("Bincount", "scalar", {"arr": np.array(2, np.int32)}),
    *kinds("DenseBincount", {"input": TABLE}),
    dense("vector", {"input": BINS}),
    dense("scalar", {"input": np.array(2, np.int32)}),
    dense("no_columns", {"input": TABLE[:, :0]}),
    dense("no_bins", {"input": TABLE}, size=0),
    *kinds("SparseBincount", MATRIX),
    row("SparseBincount", "vector", VECTOR),
    *kinds("RaggedBincount", RAGGED),
    *kinds(count, {"values": BINS}),
    row(count, "matrix", {"values": TABLE}),
    row(count, "large", {"values": longs(0, 2**30, 5, 0, 5)}, minlength=3),
    *kinds("SparseCountSparseOutput", MATRIX),
    row("SparseCountSparseOutput", "vector", VECTOR),
    *kinds("RaggedCountSparseOutput", RAGGED),
]
