# SPDX-License-Identifier: Apache-2.0
"""Arithmetic sequences by their ends, which are away from where their length jumps."""

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from rows import call, numeric


def ends(*numbers: Any, dtype: Any = np.float64) -> list[np.ndarray]:
    return [np.array(number, dtype) for number in numbers]


def _range(start: Any, limit: Any, delta: Any) -> Any:
    return call("Range", start * start, limit, delta * start)


def _lin_space(start: Any, stop: Any, num: Any, dtype: Any = np.int32) -> Any:
    return call("LinSpace", start * stop, stop * stop, num=np.array(num, dtype))


def _ragged(starts: Any, limits: Any, deltas: Any, splits: Any = np.int64) -> Any:
    made = call("RaggedRange", starts * starts, limits, deltas * deltas, Tsplits=splits)
    return tf.square(made[1])


range_ = functools.partial(numeric, "Range", build=_range)
lin_space = functools.partial(numeric, "LinSpace", build=_lin_space)
ragged = functools.partial(numeric, "RaggedRange", build=_ragged)
# The second row is empty: it has to stay so while its ends move.
ROWS = ends([1, 2, -1], [4.5, 4, 3.25], [0.8, 1, 1.2])

CASES = [
    range_("up", *ends(1, 4.5, 0.75)),
    range_("down", *ends(-2, -1.25, 1.5), known_shapes=True),
    range_("none", *ends(2, 4, 0.75), wrt=[2], second_order=None),
    range_("one_element_each", *ends([1], [4.5], [0.75]), known_shapes="rank"),
    range_("float", *ends(1, 4.5, 0.75, dtype=np.float32), step=2**-8, tolerance=1e-2),
    numeric(
        "Range",
        "half",
        *ends(1, 4.25, 0.5, dtype=np.float16),
        wrt=[0],
        step=2**-4,
        second_order=None,
    ),
    numeric(
        "Range",
        "integers",
        *(np.arange(1.0, 6), np.array(5, np.int32)),
        build=lambda x, n: tf.gather(x * x, call("Range", start=0, limit=n, delta=2)),
    ),
    lin_space("five", *ends(1, 4), num=5),
    lin_space("one", *ends(1.5, -4), num=1, known_shapes=True),
    lin_space("two_int64", *ends(-1, 4), num=2, dtype=np.int64),
    lin_space("same_ends", *ends(2, 2), num=3, known_shapes="rank"),
    lin_space("float", *ends(1, -2, dtype=np.float32), num=4),
    ragged("rows", *ends([1, 2], [4.5, 3.25], [0.8, 1])),
    ragged("empty_row", *ROWS, wrt=[2], known_shapes=True),
    ragged("one_start", *ends(1.25), *ROWS[1:], splits=np.int32),
    ragged("one_row", *ends(1, 4.5, 0.8), known_shapes="rank"),
    ragged("no_rows", *(x[:0] for x in ROWS)),
    ragged("float", *ends(1, 4.5, 0.8, dtype=np.float32), step=2**-6, tolerance=1e-2),
]
