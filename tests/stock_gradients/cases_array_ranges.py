# SPDX-License-Identifier: Apache-2.0
"""Arithmetic sequences by their ends, which are away from where their length jumps."""

from typing import Any

import numpy as np
import tensorflow as tf
from differences import numeric
from parity import Case

raw = tf.raw_ops


def ends(*numbers: float, dtype: Any = np.float64) -> list[np.ndarray]:
    return [np.array(number, dtype) for number in numbers]


def range_(start: Any, limit: Any, delta: Any) -> Any:
    return raw.Range(start=start * start, limit=limit, delta=delta * start)


RANGE = [
    numeric("Range", "up", range_, ends(1, 4.5, 0.75)),
    numeric("Range", "down", range_, ends(-2, -1.25, 1.5), known_shapes=True),
    numeric("Range", "none", range_, ends(2, 4, 0.75), wrt=[2], second_order=None),
    numeric(
        "Range",
        "one_element_each",
        range_,
        [x[None] for x in ends(1, 4.5, 0.75)],
        known_shapes="rank",
    ),
    numeric(
        "Range", "float", range_, ends(1, 4.5, 0.75, dtype=np.float32), step=2**-8, tolerance=1e-2
    ),
    numeric(
        "Range",
        "half",
        lambda start, limit, delta: raw.Range(start=start, limit=limit, delta=delta),
        ends(1, 4.25, 0.5, dtype=np.float16),
        wrt=[0],
        step=2**-4,
        second_order=None,
    ),
    numeric(
        "Range",
        "integers",
        lambda x, n: tf.gather(x * x, raw.Range(start=0, limit=n, delta=2)),
        [np.arange(1.0, 6), np.array(5, np.int32)],
    ),
]


def lin_space(num: int, dtype: Any = np.int32) -> Any:
    return lambda start, stop: raw.LinSpace(
        start=start * stop, stop=stop * stop, num=np.array(num, dtype)
    )


LIN_SPACE = [
    numeric("LinSpace", "five", lin_space(5), ends(1, 4)),
    numeric("LinSpace", "one", lin_space(1), ends(1.5, -4), known_shapes=True),
    numeric("LinSpace", "two_int64", lin_space(2, np.int64), ends(-1, 4)),
    numeric("LinSpace", "same_ends", lin_space(3), ends(2, 2), known_shapes="rank"),
    numeric("LinSpace", "float", lin_space(4), ends(1, -2, dtype=np.float32)),
]


def ragged(splits: Any = np.int64) -> Any:
    def build(starts: Any, limits: Any, deltas: Any) -> Any:
        made = raw.RaggedRange(
            starts=starts * starts, limits=limits, deltas=deltas * deltas, Tsplits=splits
        )
        return tf.square(made.rt_dense_values)

    return build


def rows(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float64)


# The second row is empty: it has to stay so while its ends move.
STARTS, LIMITS, DELTAS = rows(1, 2, -1), rows(4.5, 4, 3.25), rows(0.8, 1, 1.2)
SINGLE = {"step": 2**-6, "tolerance": 1e-2}
RAGGED_RANGE = [
    numeric("RaggedRange", "rows", ragged(), [rows(1, 2), LIMITS[::2], rows(0.8, 1)]),
    numeric(
        "RaggedRange", "empty_row", ragged(), [STARTS, LIMITS, DELTAS], wrt=[2], known_shapes=True
    ),
    numeric("RaggedRange", "one_start", ragged(np.int32), [rows(1.25)[0], LIMITS, DELTAS]),
    numeric("RaggedRange", "one_row", ragged(), ends(1, 4.5, 0.8), known_shapes="rank"),
    numeric("RaggedRange", "no_rows", ragged(), [STARTS[:0], LIMITS[:0], DELTAS[:0]]),
    numeric("RaggedRange", "float", ragged(), ends(1, 4.5, 0.8, dtype=np.float32), **SINGLE),
]

CASES: list[Case] = [*RANGE, *LIN_SPACE, *RAGGED_RANGE]
