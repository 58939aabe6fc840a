# SPDX-License-Identifier: Apache-2.0
"""Cases of TensorScatter*, of patches and of gathers from variables."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from cases_array import ints
from parity import Case
from random_values import sequence

raw = tf.raw_ops
values = sequence(3)


def _scatter(kind: str, policy: str = "") -> Callable[..., Any]:
    def build(x: Any, indices: Any, updates: Any) -> Any:
        return getattr(raw, f"TensorScatter{kind}")(
            tensor=x, indices=indices, updates=updates, bad_indices_policy=policy
        )

    return build


def _scatter_cases(kind: str) -> Iterator[Case]:
    op = f"TensorScatter{kind}"
    dtype = "float64" if kind in ("Max", "Min") else "complex128"
    # The order of repeated updates is not defined: Update gets distinct ones.
    rows = ints([2], [0]) if kind == "Update" else ints([2], [0], [2])
    yield Case(op, "rows", _scatter(kind), [values(4, 3), rows, values(len(rows), 3)])
    yield Case(
        op,
        "elements_float",
        _scatter(kind),
        [
            values(3, 2, dtype="float32"),
            ints([0, 1], [2, 0], dtype="int64"),
            values(2, dtype="float32"),
        ],
        known_shapes=True,
    )
    yield Case(
        op,
        "batch_of_indices",
        _scatter(kind),
        [values(5, dtype=dtype), ints([[4], [1]], [[0], [2]]), values(2, 2, dtype=dtype)],
        known_shapes="rank",
    )
    yield Case(
        op,
        "nonlinear",
        lambda x, i, u: tf.square(_scatter(kind)(x * x, i, u * u)),
        [values(4), ints([3], [1]), values(2)],
    )
    # Python's gradient drops the policy, for Max and Min until 2.20. Beyond the
    # first order the stock gradient of GatherNd drops it.
    yield Case(
        op,
        "bad_indices_ignored",
        _scatter(kind, "IGNORE"),
        [values(4), ints([3], [9], [1]), values(3)],
        reference="numeric",
        second_order=None,
    )
    yield Case(
        op,
        "no_updates",
        _scatter(kind),
        [values(3, 2), np.zeros([0, 1], "int32"), np.zeros([0, 2])],
    )


TIES = [
    Case(
        f"TensorScatter{kind}",
        "ties",
        _scatter(kind),
        [
            np.array([1.0, 2.0, 3.0, 2.0]),
            ints([0], [0], [1], [2], [3], [3]),
            np.array([1.0, 1.0, 2.0, 5.0, 2.0, 1.0]),
        ],
    )
    for kind in ("Max", "Min")
]


def _images(
    ksizes: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    rates: tuple[int, int] = (1, 1),
    padding: str = "VALID",
) -> Callable[..., Any]:
    return lambda x: raw.ExtractImagePatches(
        images=x,
        ksizes=[1, *ksizes, 1],
        strides=[1, *strides, 1],
        rates=[1, *rates, 1],
        padding=padding,
    )


def _volumes(
    ksizes: tuple[int, int, int], strides: tuple[int, int, int] = (1, 1, 1), padding: str = "VALID"
) -> Callable[..., Any]:
    return lambda x: raw.ExtractVolumePatches(
        input=x, ksizes=[1, *ksizes, 1], strides=[1, *strides, 1], padding=padding
    )


PATCHES = [
    Case("ExtractImagePatches", "overlap", _images((2, 3)), [values(2, 4, 5, 3)]),
    Case(
        "ExtractImagePatches",
        "same_padding_strides_float",
        _images((3, 2), (2, 3), padding="SAME"),
        [values(1, 5, 7, 2, dtype="float32")],
        known_shapes=True,
    ),
    Case(
        "ExtractImagePatches",
        "rates",
        _images((2, 2), (1, 2), (3, 2), "SAME"),
        [values(2, 6, 5, 1)],
    ),
    Case(
        "ExtractImagePatches",
        "nonlinear",
        lambda x: tf.square(_images((2, 2))(x * x)),
        [values(1, 3, 3, 2)],
    ),
    Case(
        "ExtractImagePatches",
        "complex",
        _images((2, 2), padding="SAME"),
        [values(1, 3, 3, 2, dtype="complex128")],
    ),
    # Python's gradient fails here.
    Case(
        "ExtractImagePatches",
        "no_images_of_unknown_rank",
        _images((2, 2)),
        [values(0, 3, 3, 2)],
        reference="numeric",
        second_order="numeric",
        known_shapes="rank",
    ),
    # Python's gradient wants the static shape of the volume.
    Case(
        "ExtractVolumePatches",
        "overlap",
        _volumes((2, 1, 2)),
        [values(2, 3, 2, 4, 2)],
        known_shapes=True,
    ),
    Case(
        "ExtractVolumePatches",
        "same_padding_strides_float",
        _volumes((2, 3, 2), (2, 1, 3), "SAME"),
        [values(1, 3, 4, 5, 2, dtype="float32")],
        known_shapes=True,
    ),
    Case(
        "ExtractVolumePatches",
        "unknown_shape",
        lambda x: tf.square(_volumes((2, 2, 1), padding="SAME")(x)),
        [values(2, 2, 3, 2, 1)],
        reference="numeric",
        second_order="numeric",
    ),
]


def _resource_gather(dtype: Any, batch_dims: int = 0) -> Callable[..., Any]:
    return lambda handle, indices: tf.square(
        raw.ResourceGather(resource=handle, indices=indices, dtype=dtype, batch_dims=batch_dims)
    )


def _resource_gather_nd(dtype: Any) -> Callable[..., Any]:
    return lambda handle, indices: tf.square(
        raw.ResourceGatherNd(resource=handle, indices=indices, dtype=dtype)
    )


VARIABLES = [
    Case(op, name, build, [params, indices], variables=[0], wrt=[0])
    for op, name, build, params, indices in (
        (
            "ResourceGather",
            "repeated",
            _resource_gather(tf.float64),
            values(4, 3),
            ints(1, 3, 1, 1),
        ),
        (
            "ResourceGather",
            "matrix_of_indices_float",
            _resource_gather(tf.float32),
            values(4, 2, dtype="float32"),
            ints([0, 3], [3, 3], dtype="int64"),
        ),
        (
            "ResourceGather",
            "scalar_index_complex",
            _resource_gather(tf.complex128),
            values(4, 2, dtype="complex128"),
            ints(2)[0],
        ),
        (
            "ResourceGatherNd",
            "rows",
            _resource_gather_nd(tf.float64),
            values(4, 3),
            ints([1], [3], [1]),
        ),
        (
            "ResourceGatherNd",
            "elements_float",
            _resource_gather_nd(tf.float32),
            values(4, 2, dtype="float32"),
            ints([0, 1], [3, 0], [0, 1], dtype="int64"),
        ),
        (
            "ResourceGatherNd",
            "batch_of_indices_complex",
            _resource_gather_nd(tf.complex128),
            values(2, 2, 2, dtype="complex128"),
            ints([[0, 1], [1, 0]], [[0, 1], [1, 1]]),
        ),
    )
]
# Python's gradient takes every gather for one of no batch.
VARIABLES += [
    Case(
        "ResourceGather",
        name,
        _resource_gather(tf.float64, batch_dims),
        [params, indices],
        variables=[0],
        wrt=[0],
        reference="numeric",
        second_order=None,
    )
    for name, batch_dims, params, indices in (
        ("batch", 1, values(2, 4, 3), ints([1, 3, 1], [0, 0, 2], dtype="int64")),
        ("two_batch_axes", 2, values(2, 2, 3), ints([[0, 2], [1, 1]], [[2, 2], [0, 1]])),
        ("batch_of_single_indices", 1, values(3, 4), ints(1, 3, 0)),
    )
]

CASES = [
    *(case for kind in ("Add", "Sub", "Update", "Max", "Min") for case in _scatter_cases(kind)),
    *TIES,
    *PATCHES,
    *VARIABLES,
]
