"""The lowerings of functors that call elementary functions, against the CPU's loops.

An op of elementary_ops.cc has both from one functor. elementary_values_test.cc has compared the
CPU's values with the C library's.
"""

import pathlib
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorflow_ext

_OPS: Any = tensorflow_ext.load_op_library(
    str(pathlib.Path("tests/kernels/libelementary_ops.so").resolve())
)

# Units in the last place between XLA's result and the CPU's, in float and in double: twice the
# measured value. 0 means equal.
_UNARY = {
    "abs": (0, 0),
    "atan": (4, 2),
    "clamp": (0, 0),
    # Sums of numbers of either sign: one digit of an operand is many digits of a small sum.
    "constants": (52, 96),
    "cos": (2, 2),
    "erf": (8, 2),
    # XLA rounds x^2 before it takes the power of e; far from 0, nothing else matters.
    "erfc": (124, 920),
    "exp": (4, 4),
    "exp2_of_minus": (2, 2),
    "exp_of_minus": (2, 2),
    "exp_of_minus_half_square": (108, 1000),
    "exp_of_minus_square": (124, 920),
    "expm1": (8, 6),
    "floor": (0, 0),
    "gated": (0, 0),
    "log": (2, 2),
    "log1p": (4, 250),
    "log2": (4, 2),
    "normal": (108, 1000),
    "polynomial": (86, 64),
    "round_to_even": (0, 0),
    "rsqrt": (4, 4),
    "sigmoid": (4, 4),
    "sin": (2, 2),
    "sin_cos": (2048, 1024),
    "sin_cos_near": (2, 2),
    "sloped": (0, 0),
    "sqrt": (0, 0),
    "tanh": (2, 2),
    "tanh_value": (8, 12),
}
_BINARY = {"copy_sign": (0, 0), "pow": (2, 2), "remainder": (0, 0), "where": (0, 0)}
_UNITS = {**_UNARY, **_BINARY}
# Functions whose zeros may have either sign: a tail that is too small, and sin(-0).
_OF_EITHER_SIGN = {"normal", "sin_cos_near"}


def _numbers(dtype: type) -> np.ndarray:
    """Numbers of all magnitudes whose square is a normal number, and the limits."""
    random = np.random.default_rng(3)
    sign = random.choice([-1.0, 1.0], 4000)
    largest = 18 if dtype == np.float32 else 150
    parts = [
        sign * 10 ** random.uniform(-largest, largest, 4000),
        random.uniform(-4, 4, 4000),
        random.uniform(-90, 90, 4000),
        1 + random.uniform(-1e-2, 1e-2, 4000),
        [0.0, -0.0, 1, -1, 2, 0.5, np.inf, -np.inf, np.nan],
    ]
    return np.concatenate(parts).astype(dtype)


def _distance(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The distance in units in the last place of `want`; 0 if both are NaN or too small."""
    info = np.finfo(want.dtype)
    unit = np.spacing(np.maximum(np.abs(want), info.tiny))
    both_nan = np.isnan(got) & np.isnan(want)
    small = np.maximum(np.abs(got), np.abs(want)) <= 4 * info.tiny
    same = (got == want) | both_nan | small
    with np.errstate(invalid="ignore"):
        return np.where(same, 0, np.abs(got - want) / unit)


def _compare(name: str, dtype: type, most: float, *inputs: np.ndarray) -> None:
    op = getattr(_OPS, f"test_{name}")

    def call(*x: tf.Tensor) -> tf.Tensor:
        return op(x=list(x))

    tensors = [tf.constant(x) for x in inputs]
    with tf.device("/CPU:0"):
        want = call(*tensors).numpy()
        got = tf.function(call, jit_compile=True)(*tensors).numpy()
    assert got.dtype == dtype
    distance = _distance(got, want)
    worst = int(np.argmax(np.where(np.isnan(distance), np.inf, distance)))
    x = [values[worst] for values in inputs]
    print(f"{name}: {distance[worst]:.2f} units at {x}: {got[worst]}, {want[worst]}")
    assert distance[worst] <= most
    if name in _OF_EITHER_SIGN:
        return
    zero = (want == 0) & (got == 0)
    assert (np.signbit(got) == np.signbit(want))[zero].all(), "the sign of a zero"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", _UNITS)
def test_function(name: str, dtype: type) -> None:
    x = _numbers(dtype)
    if name == "sin_cos_near":
        x = np.clip(x, -100, 100)
    others = [np.random.default_rng(5).permutation(x)] if name in _BINARY else []
    _compare(name, dtype, _UNITS[name][dtype == np.float64], x, *others)


def test_no_function_is_missing() -> None:
    ops = {name for name in dir(_OPS) if name.startswith("test_")}
    tested = {f"test_{name}" for name in _UNITS}
    assert tested == {name for name in ops if "eager_fallback" not in name}
