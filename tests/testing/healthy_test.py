"""check_gradient raises no false alarm, and says what it checked."""

from collections.abc import Callable
from typing import Any

import comparisons
import numpy as np
import pytest
import tensorflow as tf
from commit_sampling import share_of_commit

from tensorflow_ext.testing import check_gradient

_RNG = np.random.default_rng(11)


def _real(*shape: int) -> np.ndarray:
    return _RNG.normal(size=shape)


def _positive(*shape: int) -> np.ndarray:
    return _RNG.uniform(0.2, 0.9, shape)


def _complex(*shape: int) -> np.ndarray:
    return _real(*shape) + 1j * _real(*shape)


def _definite(size: int) -> np.ndarray:
    root = _real(size, size)
    return root @ root.T + size * np.eye(size)


_SPARSE = tf.sparse.from_dense(_real(3, 4) * np.tri(3, 4))
_RAGGED = tf.RaggedTensor.from_row_lengths(_real(5), [2, 0, 3])

# Functions and their inputs: with kinks, ties, sums over many terms, complex numbers, several
# outputs, integer inputs, structures.
_FUNCTIONS: dict[str, tuple[Callable, Any]] = {
    "sin": (tf.sin, _real(3)),
    "exp": (tf.exp, 30 * _positive(3)),
    "log, near its edge": (tf.math.log, np.float64([1e-4, 1e-7, 1])),
    "sqrt, near its edge": (tf.sqrt, np.float64([1e-6, 2])),
    "pow": (tf.pow, [_positive(3), _real(3)]),
    "divide": (tf.divide, [_real(2, 1), _positive(3)]),
    "atan2": (tf.atan2, [_real(3), _real(3)]),
    "lgamma": (tf.math.lgamma, _positive(3)),
    "erfinv": (tf.math.erfinv, _positive(3)),
    "igamma": (lambda x: tf.math.igamma(tf.constant(2.0, x.dtype), x), _positive(3)),
    "abs": (tf.abs, np.float64([-1, 0, 1])),
    "maximum, a tie": (tf.maximum, [np.float64([1, 2, 3]), np.float64([3, 2, 1])]),
    "reduce_max, a tie": (tf.reduce_max, np.float64([1, 3, 3])),
    "reduce_prod": (tf.reduce_prod, np.float64([2, 1, 3])),
    "reduce_logsumexp": (tf.reduce_logsumexp, _real(3, 2)),
    "reduce_std": (tf.math.reduce_std, _real(4)),
    "cumsum": (tf.cumsum, _real(5)),
    "cumprod": (tf.math.cumprod, _real(4)),
    "sort": (tf.sort, _real(5)),
    "top_k": (lambda x: tf.math.top_k(x, 2), _real(5)),
    "gather": (tf.gather, [_real(4, 2), np.int32([1, 1, 3])]),
    "segment_sum": (tf.math.segment_sum, [_real(4, 2), np.int32([0, 0, 2, 2])]),
    "concat": (lambda x, y: tf.concat([x, y], 0), [_real(2), _real(3)]),
    "split": (lambda x: tf.split(x, 2), _real(4)),
    "dynamic_partition": (lambda x: tf.dynamic_partition(x, [0, 1, 0], 2), _real(3)),
    "where": (lambda x, y: tf.where(x > 0, x, y), [_real(4), _real(4)]),
    "clip_by_value": (lambda x: tf.clip_by_value(x, -0.5, 0.5), _real(6)),
    "floor": (tf.floor, np.float64([0.5, 1])),
    "matmul": (tf.matmul, [_real(2, 3), _real(3, 2)]),
    "einsum": (lambda x, y: tf.einsum("ij,kj->ik", x, y), [_real(2, 2), _real(2, 2)]),
    "inv": (tf.linalg.inv, _definite(2)),
    "cholesky": (lambda x: tf.linalg.cholesky((x + tf.transpose(x)) / 2), _definite(2)),
    "solve": (tf.linalg.solve, [_definite(2), _real(2, 1)]),
    "det": (tf.linalg.det, _definite(3)),
    "conv2d": (lambda x, k: tf.nn.conv2d(x, k, 1, "SAME"), [_real(1, 4, 4, 1), _real(2, 2, 1, 2)]),
    "max_pool2d": (lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), _real(1, 4, 4, 1)),
    "softmax": (tf.nn.softmax, _real(2, 4)),
    "softmax, half": (tf.nn.softmax, _real(2, 4).astype(np.float16)),
    "softmax, bfloat16": (tf.nn.softmax, tf.cast(_real(2, 4), tf.bfloat16)),
    "tanh, float": (tf.tanh, _real(4).astype(np.float32)),
    "cross entropy": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([1, 0], x),
        _real(2, 3),
    ),
    "normalization": (lambda x: (x - tf.reduce_mean(x)) / (0.1 + tf.math.reduce_std(x)), _real(5)),
    "while": (
        lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.sin(y) * x), [0, x]),
        _real(3),
    ),
    "complex, holomorphic": (lambda z: tf.exp(z) / (z + 3), _complex(2)),
    "complex, not holomorphic": (lambda z: z * tf.math.conj(tf.sin(z)), _complex(2)),
    "complex to real": (tf.abs, _complex(3)),
    "real to complex": (tf.complex, [_real(2), _real(2)]),
    "complex64": (lambda z: z * tf.math.conj(z * z), _complex(2).astype(np.complex64)),
    "fft": (tf.signal.fft, _complex(4)),
    "rfft": (tf.signal.rfft, _real(4)),
    "structures": (
        lambda x: {"y": [x["a"] * x["b"][0]], "z": (x["n"], tf.sin(x["a"]))},
        [{"a": _real(2), "b": (_real(2), None), "n": np.int64([3])}],
    ),
    "sparse": (lambda x, y: tf.sparse.sparse_dense_matmul(x, y), [_SPARSE, _real(4, 2)]),
    "ragged": (lambda x: tf.sin(x) * x, _RAGGED),
    "not a function of one": (lambda x, y: tf.sin(x) + 0 * tf.floor(y), [_real(3)] * 2),
    "scalar": (lambda x: x**3, np.float64(0.7)),
    "empty": (tf.sin, np.zeros((0, 3))),
    "large": (lambda x: tf.nn.softplus(x) / 3, _real(40, 50)),
    "large and small": (lambda x: x * x, np.float64([1e-12, 1, 1e9])),
    "far from 1": (lambda x: 1e12 * tf.sin(x) + 1e-12 * x, _real(3)),
    "one tensor twice": (tf.multiply, [tf.constant(0.3, tf.float64)] * 2),
}


# Ops whose gradient differs from their value's derivative on purpose.
_SURROGATE = (
    "sign_straight_through",
    "round_straight_through",
    "straight_through",
    "reverse_gradient",
    "reverse_gradient_n",
    "scale_gradient",
    "clip_gradient",
    "prune_by_magnitude",
)


@comparisons.ops_of_commit("own", 3)
def test_own_op(op: comparisons.Comparison) -> None:
    report = check_gradient(
        op.function,
        op.inputs,
        modes=["eager"],
        batched=False,  # tests/python/vectorize_test.py does that.
        fixed=[f"inputs[{k}]" for k in op.without_gradient],
        surrogate=op.name in _SURROGATE,
        # A clipped gradient does not depend on the upstream gradient as forward mode assumes.
        forward=False if op.name == "clip_gradient" else None,
        raise_error=False,
    )
    assert report.passed, report


@pytest.mark.parametrize("name", share_of_commit("right", [*_FUNCTIONS], 4, "/_gradient/"))
def test_right_gradient_passes(name: str) -> None:
    function, inputs = _FUNCTIONS[name]
    report = check_gradient(function, inputs, raise_error=False)
    assert report.passed, report
    orders = {f.order for f in report.findings if f.check == "differences"}
    assert orders == ({1} if name == "floor" else {1, 2}), report


def test_float_within_a_function_of_double() -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.tanh(tf.cast(x, tf.float32)), x.dtype)

    report = check_gradient(function, _real(4), rtol=1e-3, step=2.0**-6)
    assert report.passed


# TensorFlow's own faults. The mean in `moments` is a constant to the second-order gradient. The
# gradient of cumprod divides 0 by 0. The gradient of ResizeBilinear's gradient, which forward mode
# uses, is None.
_WRONG: dict[str, tuple[Callable, Any, int, str]] = {
    "moments": (lambda x: tf.nn.moments(x, [0]), _real(4), 2, "differences"),
    "cumprod": (tf.math.cumprod, np.float64([2, 0, 3]), 1, "differences"),
    "resize": (lambda x: tf.image.resize(x, [3, 3]), _real(1, 2, 2, 1), 1, "forward mode"),
}


@pytest.mark.parametrize("name", _WRONG)
def test_fault_of_tensorflow_is_found(name: str) -> None:
    function, inputs, order, check = _WRONG[name]
    report = check_gradient(function, inputs, raise_error=False)
    assert (report.failures[0].order, report.failures[0].check) == (order, check), report
