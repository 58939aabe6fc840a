# SPDX-License-Identifier: Apache-2.0
"""Activation functions and their derivatives, in NumPy and float64.

An infinite argument gives the limit.
"""

import math
from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]

# Beyond it, the functions are 0 or x in float64, and their derivatives constant.
_FAR = 800.0

_erfc = np.vectorize(math.erfc, otypes=[float])


def _near(x: np.ndarray) -> np.ndarray:
    return np.clip(x, -_FAR, _FAR)


def _gated(x: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """x times a gate that is 0 at -infinity."""
    return np.where(x < 0, _near(x), x) * gate


def _logistic(x: np.ndarray) -> np.ndarray:
    decay = np.exp(-np.abs(x))
    return np.where(x < 0, decay, 1) / (1 + decay)


def silu(x: np.ndarray) -> np.ndarray:
    return _gated(x, _logistic(x))


def silu_slope(x: np.ndarray) -> np.ndarray:
    s = _logistic(x)
    return s + _near(x) * s * _logistic(-x)


def _normal(x: np.ndarray) -> np.ndarray:
    return _erfc(-_near(x) / math.sqrt(2)) / 2


def _normal_density(x: np.ndarray) -> np.ndarray:
    return np.exp(-(_near(x) ** 2) / 2) / math.sqrt(2 * math.pi)


_SCALE, _CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715


def _cubic(x: np.ndarray) -> np.ndarray:
    return _SCALE * (_near(x) + _CUBIC * _near(x) ** 3)


def _gelu_tanh_slope(x: np.ndarray) -> np.ndarray:
    s, rise = _logistic(_cubic(x)), _SCALE * (1 + 3 * _CUBIC * _near(x) ** 2)
    return s + _near(x) * rise * s * _logistic(-_cubic(x))


def _mish_gate(x: np.ndarray) -> np.ndarray:
    return np.tanh(np.logaddexp(0, x))


def _mish_slope(x: np.ndarray) -> np.ndarray:
    t = _mish_gate(x)
    return t + _near(x) * (1 - t * t) * _logistic(x)


def _tanhshrink(x: np.ndarray) -> np.ndarray:
    # The continued fraction of tanh near 0, where the difference cancels.
    z = np.minimum(x * x, 4)
    fraction = np.zeros_like(z)
    for k in range(35, 1, -2):
        fraction = z / (k + fraction)
    return np.where(x * x < 4, x * fraction / (1 + fraction), x - np.tanh(x))


FUNCTIONS: dict[str, tuple[Function, Function]] = {
    "GeluExact": (
        lambda x: _gated(x, _normal(x)),
        lambda x: _normal(x) + _near(x) * _normal_density(x),
    ),
    "GeluTanh": (lambda x: _gated(x, _logistic(_cubic(x))), _gelu_tanh_slope),
    "Lisht": (
        lambda x: x * np.tanh(x),
        lambda x: np.tanh(x) + _near(x) / np.cosh(np.clip(x, -400, 400)) ** 2,
    ),
    "Mish": (lambda x: _gated(x, _mish_gate(x)), _mish_slope),
    "Tanhshrink": (_tanhshrink, lambda x: np.tanh(x) ** 2),
}
