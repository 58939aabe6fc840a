# SPDX-License-Identifier: Apache-2.0
"""Gradients of the gradients of fractional pooling, of which Python has none."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from parity import Case
from random_values import distinct, normal

raw = tf.raw_ops

# Where the cells of 7 rows and 6 columns begin, and where the last ones end.
ROWS = np.array([0, 2, 3, 5, 7])
COLUMNS = np.array([0, 1, 3, 6])
NUMERIC: dict[str, Any] = {"reference": "numeric", "second_order": "numeric"}


def _case(op: str, name: str, build: Callable[..., Any], *inputs: Any, **more: Any) -> Case:
    return Case(op, name, build, inputs, **{**NUMERIC, **more})


def _maxima(x: np.ndarray, overlapping: bool) -> np.ndarray:
    extra = 1 if overlapping else 0
    cells = [
        [
            x[:, top : bottom + extra, left : right + extra].max((1, 2))
            for left, right in itertools.pairwise(COLUMNS)
        ]
        for top, bottom in itertools.pairwise(ROWS)
    ]
    return np.moveaxis(np.array(cells), 2, 0)


def _max_grad(name: str, x: np.ndarray, overlapping: bool, **more: Any) -> Case:
    y = _maxima(x, overlapping)

    def build(x: Any, y: Any, dy: Any) -> Any:
        return raw.FractionalMaxPoolGrad(
            orig_input=x,
            orig_output=y,
            out_backprop=dy,
            row_pooling_sequence=ROWS,
            col_pooling_sequence=COLUMNS,
            overlapping=overlapping,
        )

    dy = normal(*y.shape, dtype=x.dtype, seed=1)
    # By x and y it is constant, but where x and y no longer fit each other.
    return _case("FractionalMaxPoolGrad", name, build, x, y, dy, **{"wrt": [2], **more})


def _avg_grad(name: str, overlapping: bool, dtype: Any, **more: Any) -> Case:
    def build(shape: Any, dy: Any, rows: Any, columns: Any) -> Any:
        return raw.FractionalAvgPoolGrad(
            orig_input_tensor_shape=shape,
            out_backprop=dy,
            row_pooling_sequence=rows,
            col_pooling_sequence=columns,
            overlapping=overlapping,
        )

    return _case(
        "FractionalAvgPoolGrad",
        name,
        build,
        np.array([2, 7, 6, 3]),
        normal(2, 4, 3, 3, dtype=dtype),
        ROWS,
        COLUMNS,
        **more,
    )


IMAGES = distinct(2, 7, 6, 3)
SINGLE: dict[str, Any] = {"step": 1.0}
TIES = np.floor(normal(2, 7, 6, 3))
CASES = [
    _max_grad("apart", IMAGES, False),
    _max_grad("overlapping", IMAGES, True),
    _max_grad("float", IMAGES.astype(np.float32), False, **SINGLE),
    _max_grad("overlapping_float", IMAGES.astype(np.float32), True, **SINGLE),
    _max_grad("ties", TIES, False, known_shapes=True),
    _max_grad("overlapping_ties", TIES, True, known_shapes=True),
    _max_grad("unknown_rank", IMAGES, True, known_shapes="rank"),
    _avg_grad("apart", False, np.float64),
    _avg_grad("overlapping", True, np.float64),
    _avg_grad("float", False, np.float32, **SINGLE),
    _avg_grad("overlapping_float", True, np.float32, known_shapes=True, **SINGLE),
    _avg_grad("unknown_rank", True, np.float64, known_shapes="rank"),
]
