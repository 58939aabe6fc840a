# SPDX-License-Identifier: Apache-2.0
"""Sums, norms, products and cumulative products."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from parity import Case
from random_values import complex_normal, normal, single
from rows import case, floats, ints, numeric

BOTH = (False, True)
X, AXES, ONE = normal(2, 3, 4), ints(0, 2), ints(1)
WITH_ZERO = normal(3, 2)
WITH_ZERO[1] = 0
A, B = normal(2, 3), normal(2, 3, seed=1)

norm = functools.partial(case, "EuclideanNorm", keep_dims=False)
accumulate = functools.partial(case, "AccumulateNV2", shape=[2, 3])
NORMS = [
    norm("two_axes", X, AXES),
    norm("negative_axis_kept", X, ints(-2, dtype=np.int64), keep_dims=True),
    norm("scalar_axis", X, ONE[0]),
    norm("no_axis", X, AXES[:0]),
    norm("float_known_shapes", *floats(X), AXES, known_shapes=True),
    norm("unknown_rank", X, AXES, known_shapes="rank"),
    norm("empty", X[:, :0], AXES),
    norm("half", X.astype(np.float16), AXES, keep_dims=True),
    numeric("EuclideanNorm", "numeric", WITH_ZERO[:1], ONE),
    # The norm's derivative at zero, as a symmetric difference: zero.
    norm("zero", WITH_ZERO, ONE, reference="numeric", second_order=None),
    # The norm is real: the imaginary part of its upstream gradient is moot.
    numeric("EuclideanNorm", "complex", complex_normal(2, 3), ONE),
    case("Cross", "double", A, B),
    case("Cross", "float_known_shape", *floats(A, B), known_shapes=True),
    case("Cross", "unknown_rank", A, B, known_shapes="rank"),
    numeric("Cross", "vector", A[0], B[0]),
    accumulate("three", [A, B, normal(2, 3, seed=2)]),
    accumulate("one", [A]),
    accumulate("float", floats(A, B)),
]


def _sparse_matmul() -> Iterator[Case]:
    a, b = single(3, 4), single(4, 2)
    a[0, 1:3] = 0
    b[2] = 0
    for turn_a, turn_b, sparse in itertools.product(BOTH, BOTH, "ab"):
        row = functools.partial(
            case,
            "SparseMatMul",
            transpose_a=turn_a,
            transpose_b=turn_b,
            a_is_sparse=sparse == "a",
            b_is_sparse=sparse == "b",
        )
        name = f"{'at' if turn_a else 'a'}_{'bt' if turn_b else 'b'}_{sparse}_sparse"
        inputs = [
            np.ascontiguousarray(x.T if turn else x) for x, turn in ((a, turn_a), (b, turn_b))
        ]
        short = [v.astype(ml_dtypes.bfloat16) for v in inputs]
        yield row(name, *inputs)
        yield row(f"{name}_bfloat16", short[0], inputs[1] if sparse == "a" else short[1])


# ---- Cumulative

LAST, FIRST = ints(-1)[0], np.array(0, np.int64)
ZEROS = normal(3, 5)
ZEROS[0, 1] = ZEROS[1, 0] = ZEROS[1, 3] = ZEROS[2, 4] = 0


def _cumulative(exclusive: bool, reverse: bool) -> list[Case]:
    how: dict[str, Any] = {"exclusive": exclusive, "reverse": reverse}
    product = functools.partial(case, "Cumprod", **how)
    numeric_product = functools.partial(numeric, "Cumprod", **how)
    logsumexp = functools.partial(case, "CumulativeLogsumexp", **how)
    kind = ("exclusive" if exclusive else "inclusive") + ("_reverse" if reverse else "")
    floating = f"{kind}_float_known_shape"
    # Python's second order of logsumexp is NaN where the sum is one of nothing.
    second = None if exclusive else "python"
    return [
        product(kind, normal(3, 4), LAST),
        product(floating, single(3, 4), FIRST, known_shapes=True),
        # Python gives 0 at the zeros.
        product(f"{kind}_zeros", ZEROS, LAST, reference="numeric", second_order=None),
        numeric_product(f"{kind}_one_zero", ZEROS[[0, 2]], LAST),
        # Python's is not conjugated.
        numeric_product(f"{kind}_complex", complex_normal(3), LAST),
        logsumexp(kind, normal(3, 4), LAST, second_order="numeric"),
        logsumexp(floating, single(3, 4), FIRST, known_shapes=True, second_order=second),
        logsumexp(f"{kind}_far_apart", 400 * normal(3, 4), LAST, second_order=None),
    ]


logsumexp = functools.partial(case, "CumulativeLogsumexp")
CASES = [
    *NORMS,
    *_sparse_matmul(),
    *(one for how in itertools.product(BOTH, BOTH) for one in _cumulative(*how)),
    logsumexp("empty", normal(0, 4), LAST),
    logsumexp("half", normal(3, 4, dtype=np.float16), LAST, second_order=None),
    logsumexp("unknown_rank", normal(3, 4), LAST, known_shapes="rank"),
    case("Cumprod", "empty", normal(0, 4), LAST),
    case("Cumprod", "unknown_rank", normal(3, 4), LAST, known_shapes="rank"),
]
