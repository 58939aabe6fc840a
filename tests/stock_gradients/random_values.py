"""Random inputs of cases, the same in every run."""

import functools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np


def normal(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    """Standard normal numbers, which depend on shape and seed."""
    key = zlib.crc32(repr((shape, seed)).encode())
    return np.asarray(np.random.default_rng(key).normal(size=shape)).astype(dtype)


def single(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal numbers in single precision."""
    return normal(*shape, seed=seed, dtype=np.float32)


def complex_normal(*shape: int, dtype: Any = np.complex128, seed: int = 0) -> np.ndarray:
    """Complex numbers with standard normal parts."""
    values = normal(*shape, seed=2 * seed) + 1j * normal(*shape, seed=2 * seed + 1)
    return values.astype(dtype)


def distinct(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    """Multiples of 1/8 around 0, none twice: no ties, and wide gaps."""
    size = int(np.prod(shape))
    key = zlib.crc32(repr((shape, seed)).encode())
    order = np.random.default_rng(key).permutation(size)
    return ((order - size // 2 + 0.5) / 8).reshape(shape).astype(dtype)


def sequence(seed: int) -> Callable[..., np.ndarray]:
    """A function `values(*shape, dtype="float64")` of standard normal numbers, real or
    complex, different in every call.
    """
    generator = np.random.default_rng(seed)

    def values(*shape: int, dtype: str = "float64") -> np.ndarray:
        numbers = generator.normal(size=shape)
        if dtype.startswith("complex"):
            numbers = numbers + 1j * generator.normal(size=shape)
        return np.asarray(numbers).astype(dtype)

    return values


def sequences(seed: int) -> tuple[Callable[..., np.ndarray], ...]:
    """`sequence(seed)`, and the same for single precision and for complex numbers."""
    values = sequence(seed)
    types = ("float32", "complex128")
    return values, *(functools.partial(values, dtype=dtype) for dtype in types)


# ---- Matrices with the properties that cases of linear algebra need


def regular(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Random well-conditioned square matrices that are not symmetric."""
    n = shape[-1]
    noise = complex_normal if dtype.startswith("complex") else normal
    a = noise(*shape) / np.sqrt(2 * n) + 2 * np.eye(n)
    return a.astype(dtype)


def positive(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Random well-conditioned positive definite matrices."""
    a = regular(*shape, dtype=dtype)
    return a @ np.conj(np.swapaxes(a, -1, -2)) / 2
