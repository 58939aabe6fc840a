# SPDX-License-Identifier: Apache-2.0
"""The ops on CSR sparse matrices that TensorFlow has GPU kernels for only.

On the CPU they need the kernels of csr_kernels.cc.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from cases_sparse import CUBE, CUBE_SHAPE, NONE, SHAPE, A, B, first, numeric
from cases_sparse_matrix import to_matrix, to_values
from parity import Case
from random_values import complex_normal, normal

raw = tf.raw_ops

# ---- SparseMatrixAdd. Python leaves out the gradients of the factors and the
# conjugates of complex ones, and wants one pattern to hold the other.


def add(a_indices: Any, a: Any, b_indices: Any, b: Any, shape: Any, alpha: Any, beta: Any) -> Any:
    total = raw.SparseMatrixAdd(
        a=to_matrix(a_indices, a, shape), b=to_matrix(b_indices, b, shape), alpha=alpha, beta=beta
    )
    return to_values(total, a.dtype)


def add_case(name: str, a_indices: Any, b_indices: Any, shape: Any, kind: Any, **more: Any) -> Case:
    factors = kind(seed=2), kind(seed=3)
    a, b = kind(len(a_indices)), kind(len(b_indices), seed=1)
    inputs = [a_indices, a, b_indices, b, shape, *factors]
    return numeric("SparseMatrixAdd", name, add, inputs, **more)


def single(*shape: int, seed: int = 0) -> np.ndarray:
    return normal(*shape, seed=seed, dtype=np.float32)


_differences: dict[str, Any] = {"reference": "numeric"}
ADD = [
    add_case("matrix", A, B, SHAPE, normal, **_differences),
    add_case("as_python", A, A, SHAPE, normal, wrt=[1, 3], known_shapes=True),
    add_case("complex", A, B, SHAPE, complex_normal, **_differences),
    add_case("batch", CUBE, CUBE[1:3], CUBE_SHAPE, normal, known_shapes=True, **_differences),
    add_case("empty", NONE, B, SHAPE, normal, **_differences),
    add_case("float", A, A, SHAPE, single, wrt=[1, 3], known_shapes=True, second_order=None),
]

# ---- SparseMatrixMul. Python has no gradient. By one operand at a time: the sum
# of two gradients of a matrix has a GPU kernel only, too.


def multiply(indices: Any, a: Any, shape: Any, b: Any) -> Any:
    product = raw.SparseMatrixMul(a=to_matrix(indices, a, shape), b=b)
    return to_values(product, a.dtype)


def multiply_cases(name: str, inputs: Sequence[Any], **more: Any) -> list[Case]:
    def case(by: str, wrt: Sequence[int]) -> Case:
        return numeric(
            "SparseMatrixMul",
            f"{name}_by_{by}",
            multiply,
            inputs,
            **{"reference": "numeric", "wrt": wrt, **more},
        )

    return [case("a", [1]), case("b", [3])]


_float: dict[str, Any] = {"second_order": None, "step": 1e-2, "tolerance": 1e-3}
MULTIPLY = [
    *multiply_cases("scalar", [A, normal(5), SHAPE, normal()]),
    *multiply_cases("complex", [A, complex_normal(5), SHAPE, complex_normal()]),
    *multiply_cases("batch", [CUBE, normal(5), CUBE_SHAPE, normal(2, 1, 1)], known_shapes=True),
    *multiply_cases("float", [A, single(5), SHAPE, single()], **_float),
]

# ---- SparseMatrixSoftmax


def softmax(indices: Any, a: Any, shape: Any) -> Any:
    matrix = to_matrix(indices, a, shape)
    return to_values(raw.SparseMatrixSoftmax(logits=matrix, type=a.dtype), a.dtype)


SOFTMAX = [
    numeric("SparseMatrixSoftmax", "matrix", softmax, [A, normal(5), SHAPE]),
    numeric(
        "SparseMatrixSoftmax", "batch", softmax, [CUBE, normal(5), CUBE_SHAPE], known_shapes=True
    ),
    numeric("SparseMatrixSoftmax", "empty", softmax, [NONE, normal(0), SHAPE]),
    first("SparseMatrixSoftmax", "float", softmax, [A, single(5), SHAPE]),
]

CASES = [*ADD, *MULTIPLY, *SOFTMAX]
