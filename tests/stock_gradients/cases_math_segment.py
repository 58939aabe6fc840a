# SPDX-License-Identifier: Apache-2.0
"""Reductions over segments."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, distinct, normal

raw = tf.raw_ops

# Sorted, with repeated segments and a single one, and the same with one missing:
# there Python's second order is NaN.
IDS = np.array([0, 0, 0, 1, 2, 2], np.int32)
GAP = np.array([0, 0, 0, 2, 3, 3], np.int32)
TIES = np.array([[1.0, 2], [1, 5], [0, 5], [4, 4], [3, 3], [3, 2]])


def _sorted(op: str) -> Callable[..., Any]:
    return lambda data, ids: getattr(raw, op)(data=data, segment_ids=ids)


def _sorted_cases(op: str) -> list[Case]:
    build = _sorted(op)
    return [
        Case(op, "matrix", build, [distinct(6, 3), IDS]),
        Case(op, "vector_int64", build, [distinct(6), IDS.astype(np.int64)]),
        Case(
            op,
            "float_known_shapes",
            build,
            [distinct(6, 2, 2, dtype=np.float32), IDS],
            known_shapes=True,
        ),
        Case(op, "unknown_rank", build, [distinct(6, 2, 2), IDS], known_shapes="rank"),
        Case(op, "missing_segment", build, [distinct(6, 2), GAP], second_order="numeric"),
        Case(
            op,
            "bfloat16",
            build,
            [distinct(6, 2, dtype=ml_dtypes.bfloat16), GAP],
            second_order=None,
        ),
        Case(op, "empty", build, [distinct(0, 2), IDS[:0]]),
        Case(
            op, "numeric", build, [distinct(6, 2), IDS], reference="numeric", second_order="numeric"
        ),
    ]


def _zeros(*places: int, count: int = 6) -> np.ndarray:
    data = normal(count, 2)
    data[list(places), 0] = 0
    return data


def _unsorted(data: Any, ids: Any) -> Any:
    return raw.UnsortedSegmentProd(data=data, segment_ids=ids, num_segments=4)


UNSORTED_IDS = np.array([3, 0, 3, -1, 0, 3], np.int32)
ID_MATRIX = np.array([[1, 0, 1], [0, -1, 3]], np.int64)

PROD = "SegmentProd"
UNSORTED = "UnsortedSegmentProd"

CASES = [
    *_sorted_cases("SegmentMean"),
    *_sorted_cases("SegmentMax"),
    *_sorted_cases("SegmentMin"),
    *_sorted_cases("SegmentProd"),
    Case("SegmentMean", "complex", _sorted("SegmentMean"), [complex_normal(6, 2), IDS]),
    Case("SegmentMax", "ties", _sorted("SegmentMax"), [TIES, IDS]),
    Case("SegmentMin", "ties", _sorted("SegmentMin"), [TIES, IDS]),
    Case(
        "SegmentMax",
        "half",
        _sorted("SegmentMax"),
        [TIES.astype(np.float16), IDS],
        second_order=None,
    ),
    # Python's gradient of a complex product is not conjugated.
    Case(
        PROD,
        "complex",
        _sorted(PROD),
        [complex_normal(6, 2), IDS],
        reference="numeric",
        second_order="numeric",
    ),
    Case(PROD, "one_zero", _sorted(PROD), [_zeros(1, 3), IDS], second_order="numeric"),
    Case(PROD, "two_zeros", _sorted(PROD), [_zeros(0, 2, 5), IDS], second_order=None),
    Case(
        PROD,
        "one_zero_numeric",
        _sorted(PROD),
        [_zeros(1, 3), IDS],
        reference="numeric",
        second_order="numeric",
    ),
    Case(UNSORTED, "matrix", _unsorted, [normal(6, 2), UNSORTED_IDS]),
    Case(
        UNSORTED,
        "float_known_shapes",
        _unsorted,
        [normal(6, 2, dtype=np.float32), UNSORTED_IDS],
        known_shapes=True,
    ),
    Case(UNSORTED, "ids_matrix", _unsorted, [normal(2, 3, 2), ID_MATRIX]),
    Case(
        UNSORTED,
        "ids_of_data_unknown_rank",
        _unsorted,
        [normal(2, 3), ID_MATRIX],
        known_shapes="rank",
    ),
    Case(UNSORTED, "one_zero", _unsorted, [_zeros(1, 2, 3), UNSORTED_IDS], second_order="numeric"),
    Case(UNSORTED, "two_zeros", _unsorted, [_zeros(0, 2, 4), UNSORTED_IDS], second_order=None),
    Case(
        UNSORTED,
        "complex",
        _unsorted,
        [complex_normal(6, 2), UNSORTED_IDS],
        reference="numeric",
        second_order="numeric",
    ),
    Case(UNSORTED, "empty", _unsorted, [normal(0, 2), UNSORTED_IDS[:0]]),
    Case(
        UNSORTED,
        "numeric",
        _unsorted,
        [_zeros(1, 2, 3), UNSORTED_IDS],
        reference="numeric",
        second_order="numeric",
    ),
]
