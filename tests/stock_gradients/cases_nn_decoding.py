# SPDX-License-Identifier: Apache-2.0
"""Ops that choose what fits best, by how well it does."""

from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case
from random_values import distinct, normal

raw = tf.raw_ops


def decode(inputs: Any, lengths: Any, **how: Any) -> Any:
    decoded = raw.CTCGreedyDecoder(inputs=inputs, sequence_length=lengths, **how)
    return tf.square(decoded.log_probability)


def decoded(name: str, *shape: int, dtype: Any = np.float64, **more: Any) -> Case:
    lengths = np.array([shape[0], 0, 2, 1][: shape[1]], np.int32)
    return numeric(
        "CTCGreedyDecoder", name, decode, [distinct(*shape, dtype=dtype), lengths], **more
    )


def nearest(k: int) -> Any:
    return lambda points, centers: (
        raw.NearestNeighbors(
            points=points, centers=centers, k=np.array(k, np.int64)
        ).nearest_center_distances
    )


# No point is about as far from one center as from another.
CENTERS = np.array([[0, 0], [2, 0], [0, 5], [-7, 1]], np.float32)


def neighbors(name: str, k: int, count: int, **more: Any) -> Case:
    points = 0.2 * normal(count, 2, dtype=np.float32)
    settings = {"step": 2**-5, "tolerance": 1e-3, **more}
    return numeric("NearestNeighbors", name, nearest(k), [points, CENTERS], **settings)


CASES = [
    decoded("batch", 3, 4, 3),
    decoded("known_shapes", 2, 1, 4, known_shapes=True),
    decoded("unknown_rank", 4, 3, 2, known_shapes="rank"),
    decoded("float", 3, 2, 3, dtype=np.float32, step=2**-5, tolerance=1e-3),
    neighbors("one", 1, 3),
    neighbors("two", 2, 4, known_shapes=True),
    neighbors("all", 9, 1, known_shapes="rank"),
]
