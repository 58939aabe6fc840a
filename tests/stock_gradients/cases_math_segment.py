# SPDX-License-Identifier: Apache-2.0
"""Reductions over segments."""

import functools

import ml_dtypes
import numpy as np
from parity import Case
from random_values import complex_normal, distinct, normal, single
from rows import case, each, ints, numeric

# Sorted, with repeated segments and a single one, and the same with one missing:
# there Python's second order is NaN.
IDS = ints(0, 0, 0, 1, 2, 2)
GAP = ints(0, 0, 0, 2, 3, 3)
TIES = np.array([[1.0, 2], [1, 5], [0, 5], [4, 4], [3, 3], [3, 2]])


def _sorted(op: str) -> list[Case]:
    rough = distinct(6, 2, dtype=ml_dtypes.bfloat16)
    return [
        case(op, "matrix", distinct(6, 3), IDS),
        case(op, "vector_int64", distinct(6), IDS.astype(np.int64)),
        case(op, "float_known_shapes", distinct(6, 2, 2, dtype=np.float32), IDS, known_shapes=True),
        case(op, "unknown_rank", distinct(6, 2, 2), IDS, known_shapes="rank"),
        case(op, "missing_segment", distinct(6, 2), GAP, second_order="numeric"),
        case(op, "bfloat16", rough, GAP, second_order=None),
        case(op, "empty", distinct(0, 2), IDS[:0]),
        numeric(op, "numeric", distinct(6, 2), IDS),
    ]


def _zeros(*places: int) -> np.ndarray:
    data = normal(6, 2)
    data[list(places), 0] = 0
    return data


UNSORTED_IDS = ints(3, 0, 3, -1, 0, 3)
ID_MATRIX = np.array([[1, 0, 1], [0, -1, 3]], np.int64)
product = functools.partial(case, "SegmentProd")
unsorted = functools.partial(case, "UnsortedSegmentProd", num_segments=4)
numeric_unsorted = functools.partial(numeric, "UnsortedSegmentProd", num_segments=4)

CASES = [
    *each("SegmentMean SegmentMax SegmentMin SegmentProd", _sorted),
    case("SegmentMean", "complex", complex_normal(6, 2), IDS),
    case("SegmentMax", "ties", TIES, IDS),
    case("SegmentMin", "ties", TIES, IDS),
    case("SegmentMax", "half", TIES.astype(np.float16), IDS, second_order=None),
    # Python's gradient of a complex product is not conjugated.
    numeric("SegmentProd", "complex", complex_normal(6, 2), IDS),
    product("one_zero", _zeros(1, 3), IDS, second_order="numeric"),
    product("two_zeros", _zeros(0, 2, 5), IDS, second_order=None),
    numeric("SegmentProd", "one_zero_numeric", _zeros(1, 3), IDS),
    unsorted("matrix", normal(6, 2), UNSORTED_IDS),
    unsorted("float_known_shapes", single(6, 2), UNSORTED_IDS, known_shapes=True),
    unsorted("ids_matrix", normal(2, 3, 2), ID_MATRIX),
    unsorted("ids_of_data_unknown_rank", normal(2, 3), ID_MATRIX, known_shapes="rank"),
    unsorted("one_zero", _zeros(1, 2, 3), UNSORTED_IDS, second_order="numeric"),
    unsorted("two_zeros", _zeros(0, 2, 4), UNSORTED_IDS, second_order=None),
    numeric_unsorted("complex", complex_normal(6, 2), UNSORTED_IDS),
    unsorted("empty", normal(0, 2), UNSORTED_IDS[:0]),
    numeric_unsorted("numeric", _zeros(1, 2, 3), UNSORTED_IDS),
]
