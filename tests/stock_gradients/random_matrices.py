# SPDX-License-Identifier: Apache-2.0
"""Random matrices with the properties that cases of linear algebra want."""

import numpy as np
from random_values import complex_normal, normal


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
