# SPDX-License-Identifier: Apache-2.0
"""Cases of TensorScatter*, of patches and of gathers from variables."""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import sequences
from rows import call, case, each, ints, longs

values, singles, complexes = sequences(3)


def _scatter(op: str) -> list[Case]:
    extreme = op.endswith(("Max", "Min"))
    kind = values if extreme else complexes
    # The order of repeated updates is not defined: Update gets distinct ones.
    rows = ints([2], [0]) if op.endswith("Update") else ints([2], [0], [2])
    scatter = functools.partial(case, op, bad_indices_policy="")
    return [
        scatter("rows", values(4, 3), rows, values(len(rows), 3)),
        scatter(
            "elements_float", singles(3, 2), longs([0, 1], [2, 0]), singles(2), known_shapes=True
        ),
        scatter(
            "batch_of_indices",
            *(kind(5), ints([[4], [1]], [[0], [2]]), kind(2, 2)),
            known_shapes="rank",
        ),
        scatter(
            "nonlinear",
            *(values(4), ints([3], [1]), values(2)),
            build=lambda x, i, u, **how: tf.square(call(op, x * x, i, u * u, **how)),
        ),
        # Python's gradient drops the policy, for Max and Min until 2.20. Beyond the
        # first order the stock gradient of GatherNd drops it.
        case(
            op,
            "bad_indices_ignored",
            *(values(4), ints([3], [9], [1]), values(3)),
            bad_indices_policy="IGNORE",
            reference="numeric",
            second_order=None,
        ),
        scatter("no_updates", values(3, 2), np.zeros([0, 1], "int32"), np.zeros([0, 2])),
    ]


def _ties(op: str) -> list[Case]:
    x, updates = np.array([1.0, 2, 3, 2]), np.array([1.0, 1, 2, 5, 2, 1])
    at = ints([0], [0], [1], [2], [3], [3])
    return [case(op, "ties", x, at, updates, bad_indices_policy="")]


def _patches(op: str, name: str, x: np.ndarray, ksizes: Any, **more: Any) -> Case:
    """`ksizes`, `strides` and `rates` are those of the axes in space."""
    ones = [1] * len(ksizes)
    sizes = {"strides": ones} if op == "ExtractVolumePatches" else {"strides": ones, "rates": ones}
    sizes = {key: [1, *more.pop(key, size), 1] for key, size in sizes.items()}
    how = {"padding": "VALID", "ksizes": [1, *ksizes, 1], **sizes, **more}
    return case(op, name, x, **how)


def _of_square(x: Any, **how: Any) -> Any:
    return tf.square(call("ExtractImagePatches", x * x, **how))


images = functools.partial(_patches, "ExtractImagePatches")
volumes = functools.partial(_patches, "ExtractVolumePatches")
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}
PATCHES = [
    images("overlap", values(2, 4, 5, 3), (2, 3)),
    images(
        "same_padding_strides_float",
        *(singles(1, 5, 7, 2), (3, 2)),
        strides=(2, 3),
        padding="SAME",
        known_shapes=True,
    ),
    images("rates", values(2, 6, 5, 1), (2, 2), strides=(1, 2), rates=(3, 2), padding="SAME"),
    images("nonlinear", values(1, 3, 3, 2), (2, 2), build=_of_square),
    images("complex", complexes(1, 3, 3, 2), (2, 2), padding="SAME"),
    # Python's gradient fails here.
    images("no_images_of_unknown_rank", values(0, 3, 3, 2), (2, 2), known_shapes="rank", **NUMERIC),
    # Python's gradient wants the static shape of the volume.
    volumes("overlap", values(2, 3, 2, 4, 2), (2, 1, 2), known_shapes=True),
    volumes(
        "same_padding_strides_float",
        *(singles(1, 3, 4, 5, 2), (2, 3, 2)),
        strides=(2, 1, 3),
        padding="SAME",
        known_shapes=True,
    ),
    volumes(
        "unknown_shape",
        *(values(2, 2, 3, 2, 1), (2, 2, 1)),
        padding="SAME",
        then=tf.square,
        **NUMERIC,
    ),
]

gather = functools.partial(case, "ResourceGather", variables=[0], wrt=[0], then=tf.square)
gather_nd = functools.partial(case, "ResourceGatherNd", variables=[0], wrt=[0], then=tf.square)
# Python's gradient takes every gather for one of no batch.
batch = functools.partial(gather, dtype=tf.float64, reference="numeric", second_order=None)

CASES = [
    *each("TensorScatterMax TensorScatterMin", _ties),
    *PATCHES,
    gather("repeated", values(4, 3), ints(1, 3, 1, 1), dtype=tf.float64),
    gather("matrix_of_indices_float", singles(4, 2), longs([0, 3], [3, 3]), dtype=tf.float32),
    gather("scalar_index_complex", complexes(4, 2), ints(2)[0], dtype=tf.complex128),
    gather_nd("rows", values(4, 3), ints([1], [3], [1]), dtype=tf.float64),
    gather_nd("elements_float", singles(4, 2), longs([0, 1], [3, 0], [0, 1]), dtype=tf.float32),
    gather_nd(
        "batch_of_indices_complex",
        *(complexes(2, 2, 2), ints([[0, 1], [1, 0]], [[0, 1], [1, 1]])),
        dtype=tf.complex128,
    ),
    batch("batch", values(2, 4, 3), longs([1, 3, 1], [0, 0, 2]), batch_dims=1),
    batch(
        "two_batch_axes", values(2, 2, 3), ints([[0, 2], [1, 1]], [[2, 2], [0, 1]]), batch_dims=2
    ),
    batch("batch_of_single_indices", values(3, 4), ints(1, 3, 0), batch_dims=1),
    *each(
        "TensorScatterAdd TensorScatterSub TensorScatterUpdate TensorScatterMax TensorScatterMin",
        _scatter,
    ),
]
