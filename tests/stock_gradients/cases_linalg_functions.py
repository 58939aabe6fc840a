# SPDX-License-Identifier: Apache-2.0
"""Cases of functions of matrices, of Lu and of CholeskyGrad."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from cases_linalg import NUMERIC
from old_ops import old_op
from parity import Case
from random_matrices import regular
from random_values import sequence

raw = tf.raw_ops
values = sequence(8)


def _exponential(a: Any) -> Any:
    return old_op("MatrixExponential")(a)[0]


def _logarithm(a: Any) -> Any:
    return raw.MatrixLogarithm(input=a)


def _half_squared(a: Any) -> Any:
    """exp(A) as exp(A / 2)^2, by a composition that Python differentiates."""
    root = tf.linalg.expm(a / 2)
    return root @ root


@tf.RegisterGradient("ExpmInPlaceOfMatrixExponential")
def _expm_gradient(op: Any, dy: Any) -> Any:
    return tf.gradients(_half_squared(op.inputs[0]), op.inputs[0], dy)[0]


def _exponential_as_expm(a: Any) -> Any:
    graph = tf.compat.v1.get_default_graph()
    overrides = {"MatrixExponential": "ExpmInPlaceOfMatrixExponential"}
    with graph.gradient_override_map(overrides):
        return _exponential(a)


def _functions() -> Iterator[Case]:
    op = "MatrixExponential"
    for name, a, more in (
        ("double", values(3, 3), {}),
        ("complex", values(2, 2, dtype="complex128"), {}),
        ("batch", values(2, 1, 2, 2), {"known_shapes": True}),
        ("unknown_rank", values(2, 2), {"known_shapes": "rank"}),
        ("large", 5 * values(2, 2), {}),
        ("zero_matrix", np.zeros((2, 2)), {}),
        ("one_by_one", values(3, 1, 1), {}),
        ("no_matrices", values(0, 2, 2), {}),
        ("float", values(3, 3, dtype="float32"), {"step": 1e-2, "tolerance": 2e-3}),
    ):
        yield Case(op, name, _exponential, [a], **NUMERIC, **more)
    yield Case(op, "as_expm", _exponential_as_expm, [values(3, 3)], second_order=None)
    op = "MatrixLogarithm"
    for name, a, more in (
        ("plain", regular(3, 3, dtype="complex128"), {}),
        ("batch", regular(2, 2, 2, dtype="complex128"), {"known_shapes": True}),
        ("unknown_rank", regular(2, 2, dtype="complex128"), {"known_shapes": "rank"}),
        ("small", 1e-3 * regular(2, 2, dtype="complex128"), {"step": 1e-8}),
        ("equal_eigenvalues", np.diag([2.0 + 0j, 2.0]), {}),
        ("no_matrices", regular(0, 2, 2, dtype="complex128"), {}),
        ("complex64", regular(2, 2, dtype="complex64"), {"step": 1e-2, "tolerance": 2e-3}),
    ):
        yield Case(op, name, _logarithm, [a], **NUMERIC, **more)


def _lu(index: Any = tf.int32) -> Callable[..., Any]:
    return lambda a: raw.Lu(input=a, output_idx_type=index)[0]


def _lu_cases() -> Iterator[Case]:
    # The largest elements of the columns stand where rows have to be exchanged.
    exchanged = np.roll(regular(3, 3), 1, axis=-2)
    for name, a, index, more in (
        ("plain", regular(3, 3), tf.int32, {}),
        ("rows_exchanged", exchanged, tf.int32, {}),
        (
            "batch_int64",
            np.stack([exchanged, regular(3, 3), np.roll(regular(3, 3), 2, axis=-2)]),
            tf.int64,
            {"known_shapes": True},
        ),
        ("complex", np.roll(regular(3, 3, dtype="complex128"), 1, 0), tf.int32, {}),
        ("unknown_rank", exchanged[None, None], tf.int32, {"known_shapes": "rank"}),
        ("one_by_one", regular(2, 1, 1), tf.int32, {}),
        ("no_matrices", regular(0, 2, 2), tf.int32, {}),
        ("float", exchanged.astype(np.float32), tf.int32, {"step": 1e-2, "tolerance": 2e-3}),
    ):
        yield Case("Lu", name, _lu(index), [a], **NUMERIC, **more)


def _cholesky_grad(factor: Any, grad: Any) -> Any:
    return raw.CholeskyGrad(l=factor, grad=grad)


def triangle(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Lower triangles, with zeros above, of well-conditioned matrices."""
    return np.tril(regular(*shape, dtype=dtype))


def _cholesky_grad_cases() -> Iterator[Case]:
    for op, build in (
        ("CholeskyGrad", _cholesky_grad),
        ("BatchCholeskyGrad", old_op("BatchCholeskyGrad")),
    ):
        for name, inputs, more in (
            ("plain", [triangle(3, 3), values(3, 3)], {}),
            ("full_matrices", [regular(3, 3), values(3, 3)], {"known_shapes": "rank"}),
            ("batch", [triangle(2, 2, 2), values(2, 2, 2)], {"known_shapes": True}),
            ("one_by_one", [triangle(2, 1, 1), values(2, 1, 1)], {}),
            ("no_matrices", [triangle(0, 2, 2), values(0, 2, 2)], {}),
            (
                "float",
                [triangle(2, 2, dtype="float32"), values(2, 2, dtype="float32")],
                {"step": 1e-2, "tolerance": 5e-3},
            ),
        ):
            yield Case(op, name, build, inputs, **NUMERIC, **more)


CASES = [*_functions(), *_lu_cases(), *_cholesky_grad_cases()]
