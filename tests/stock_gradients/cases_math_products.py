# SPDX-License-Identifier: Apache-2.0
"""Sums, norms, products and cumulative products."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops


def _float(*values: np.ndarray) -> list[np.ndarray]:
    return [value.astype(np.float32) for value in values]


def _norm(x: Any, axes: Any, keep_dims: bool = False) -> Any:
    return raw.EuclideanNorm(input=x, axis=axes, keep_dims=keep_dims)


def _norm_kept(x: Any, axes: Any) -> Any:
    return _norm(x, axes, True)


def _cross(a: Any, b: Any) -> Any:
    return raw.Cross(a=a, b=b)


def _accumulate(*xs: Any) -> Any:
    return raw.AccumulateNV2(inputs=list(xs), shape=[2, 3])


def _norms_and_products() -> list[Case]:
    op = "EuclideanNorm"
    x = normal(2, 3, 4)
    with_zero = normal(3, 2)
    with_zero[1] = 0
    axes = np.array([0, 2], np.int32)
    vectors = [normal(2, 3), normal(2, 3, seed=1)]
    return [
        Case(op, "two_axes", _norm, [x, axes]),
        Case(op, "negative_axis_kept", _norm_kept, [x, np.array([-2], np.int64)]),
        Case(op, "scalar_axis", _norm, [x, np.array(1, np.int32)]),
        Case(op, "no_axis", _norm, [x, axes[:0]]),
        Case(op, "float_known_shapes", _norm, [x.astype(np.float32), axes], known_shapes=True),
        Case(op, "unknown_rank", _norm, [x, axes], known_shapes="rank"),
        Case(op, "empty", _norm, [x[:, :0], axes]),
        Case(op, "half", _norm_kept, [x.astype(np.float16), axes]),
        Case(
            op,
            "numeric",
            _norm,
            [with_zero[:1], np.array([1], np.int32)],
            reference="numeric",
            second_order="numeric",
        ),
        # The norm's derivative at zero, as a symmetric difference: zero.
        Case(
            op,
            "zero",
            _norm,
            [with_zero, np.array([1], np.int32)],
            reference="numeric",
            second_order=None,
        ),
        # The norm is real: the imaginary part of its upstream gradient is moot.
        Case(
            op,
            "complex",
            _norm,
            [complex_normal(2, 3), np.array([1], np.int32)],
            reference="numeric",
            second_order="numeric",
        ),
        Case("Cross", "double", _cross, vectors),
        Case("Cross", "float_known_shape", _cross, _float(*vectors), known_shapes=True),
        Case("Cross", "unknown_rank", _cross, vectors, known_shapes="rank"),
        Case(
            "Cross",
            "vector",
            _cross,
            [v[0] for v in vectors],
            reference="numeric",
            second_order="numeric",
        ),
        Case("AccumulateNV2", "three", _accumulate, [*vectors, normal(2, 3, seed=2)]),
        Case("AccumulateNV2", "one", _accumulate, vectors[:1]),
        Case("AccumulateNV2", "float", _accumulate, _float(*vectors)),
    ]


def _sparse_matmul() -> list[Case]:
    cases = []
    a, b = normal(3, 4, dtype=np.float32), normal(4, 2, dtype=np.float32)
    a[0, 1:3] = 0
    b[2] = 0
    for transpose_a in (False, True):
        for transpose_b in (False, True):
            for a_is_sparse, b_is_sparse in ((True, False), (False, True)):

                def build(
                    a: Any,
                    b: Any,
                    options: tuple[bool, ...] = (
                        transpose_a,
                        transpose_b,
                        a_is_sparse,
                        b_is_sparse,
                    ),
                ) -> Any:
                    return raw.SparseMatMul(
                        a=a,
                        b=b,
                        transpose_a=options[0],
                        transpose_b=options[1],
                        a_is_sparse=options[2],
                        b_is_sparse=options[3],
                    )

                sparse = "a" if a_is_sparse else "b"
                name = f"{'at' if transpose_a else 'a'}_{'bt' if transpose_b else 'b'}"
                inputs = [
                    np.ascontiguousarray(a.T) if transpose_a else a,
                    np.ascontiguousarray(b.T) if transpose_b else b,
                ]
                cases.append(Case("SparseMatMul", f"{name}_{sparse}_sparse", build, inputs))
                short = [v.astype(ml_dtypes.bfloat16) for v in inputs]
                cases.append(
                    Case(
                        "SparseMatMul",
                        f"{name}_{sparse}_sparse_bfloat16",
                        build,
                        [short[0], inputs[1]] if a_is_sparse else short,
                    )
                )
    return cases


# ---- Cumulative.


def _cumulative(op: str, exclusive: bool, reverse: bool) -> Callable[..., Any]:
    return lambda x, axis: getattr(raw, op)(x=x, axis=axis, exclusive=exclusive, reverse=reverse)


def _cumulative_cases() -> list[Case]:
    cases = []
    last, first = np.array(-1, np.int32), np.array(0, np.int64)
    zeros = normal(3, 5)
    zeros[0, 1] = zeros[1, 0] = zeros[1, 3] = zeros[2, 4] = 0
    one_zero = zeros[[0, 2]]
    for exclusive in (False, True):
        for reverse in (False, True):
            kind = ("exclusive" if exclusive else "inclusive") + ("_reverse" if reverse else "")
            build = _cumulative("Cumprod", exclusive, reverse)
            cases += [
                Case("Cumprod", kind, build, [normal(3, 4), last]),
                Case(
                    "Cumprod",
                    f"{kind}_float_known_shape",
                    build,
                    [normal(3, 4, dtype=np.float32), first],
                    known_shapes=True,
                ),
                # Python gives 0 at the zeros.
                Case(
                    "Cumprod",
                    f"{kind}_zeros",
                    build,
                    [zeros, last],
                    reference="numeric",
                    second_order=None,
                ),
                Case(
                    "Cumprod",
                    f"{kind}_one_zero",
                    build,
                    [one_zero, last],
                    reference="numeric",
                    second_order="numeric",
                ),
                # Python's is not conjugated.
                Case(
                    "Cumprod",
                    f"{kind}_complex",
                    build,
                    [complex_normal(3), last],
                    reference="numeric",
                    second_order="numeric",
                ),
            ]
            build = _cumulative("CumulativeLogsumexp", exclusive, reverse)
            cases += [
                Case(
                    "CumulativeLogsumexp", kind, build, [normal(3, 4), last], second_order="numeric"
                ),
                # Python's second order is NaN where the sum is one of nothing.
                Case(
                    "CumulativeLogsumexp",
                    f"{kind}_float_known_shape",
                    build,
                    [normal(3, 4, dtype=np.float32), first],
                    known_shapes=True,
                    second_order=None if exclusive else "python",
                ),
                Case(
                    "CumulativeLogsumexp",
                    f"{kind}_far_apart",
                    build,
                    [400 * normal(3, 4), last],
                    second_order=None,
                ),
            ]
    empty = _cumulative("CumulativeLogsumexp", False, False)
    return [
        *cases,
        Case("CumulativeLogsumexp", "empty", empty, [normal(0, 4), last]),
        Case(
            "CumulativeLogsumexp",
            "half",
            empty,
            [normal(3, 4, dtype=np.float16), last],
            second_order=None,
        ),
        Case(
            "CumulativeLogsumexp", "unknown_rank", empty, [normal(3, 4), last], known_shapes="rank"
        ),
        Case("Cumprod", "empty", _cumulative("Cumprod", False, False), [normal(0, 4), last]),
        Case(
            "Cumprod",
            "unknown_rank",
            _cumulative("Cumprod", False, False),
            [normal(3, 4), last],
            known_shapes="rank",
        ),
    ]


CASES = [*_norms_and_products(), *_sparse_matmul(), *_cumulative_cases()]
