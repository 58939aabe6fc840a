# SPDX-License-Identifier: Apache-2.0
"""Derivatives by central differences, and how far a gradient is from them."""

import dataclasses
from collections.abc import Callable, Sequence

import cases
import numpy as np
import numpy.typing as npt

from tensorflow_ext.testing._differences import weighted_change

# A power of two, so that the step itself is exact. The error of a smooth function
# is some 4e-11 times its third derivative.
_STEP = 2.0**-16
# The error that the differences may have by themselves.
LIMIT = 1e-7
_FULLY_CHECKED = 48  # tensors up to this size are checked at every value
_SAMPLED = 16


def deviation(actual: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """The largest |a - b|, relative to b where b is large.

    Two NaNs or equal infinities agree; any other pair with one of them is
    infinitely far apart, as are tensors of different shapes.
    """
    actual = np.asarray(actual).astype(np.float64)
    expected = np.asarray(expected).astype(np.float64)
    if actual.shape != expected.shape:
        return np.inf
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        distance = np.abs(actual - expected) / np.maximum(1, np.abs(expected))
    distance = np.where(np.isfinite(distance), distance, np.inf)
    return float(np.max(np.where(same, 0, distance), initial=0))


@dataclasses.dataclass
class Slopes:
    """Derivatives of a number with respect to a tensor, along some directions.

    Attributes:
      shape: Of the tensor.
      single: By its flat position, the derivative by one value: by every value of
        a small tensor, by some of a large one.
      dense: Of a large tensor, that along `_signs`; else None.
    """

    shape: tuple[int, ...]
    single: dict[int, float]
    dense: float | None

    def deviation(self, gradient: np.ndarray | None) -> float:
        """The largest deviation of a gradient, None for zeros, from the slopes.

        A direction counts as if it had length 1. A gradient of another shape is
        infinitely far away.
        """
        if gradient is None:
            gradient = np.zeros(self.shape)
        if gradient.shape != self.shape:
            return np.inf
        positions = list(self.single)
        largest = deviation(gradient.flat[positions], list(self.single.values()))
        if self.dense is not None:
            length = np.sqrt(gradient.size)
            along = np.sum(gradient * _signs(self.shape))
            largest = max(largest, deviation(along / length, self.dense / length))
        return largest


def _signs(shape: Sequence[int]) -> np.ndarray:
    """A direction that moves every value: 1 and -1."""
    uniforms = cases.uniforms(3001, int(np.prod(shape)))
    return np.where(uniforms < 0.5, -1.0, 1.0).reshape(shape)


def _unit(shape: Sequence[int], position: int) -> np.ndarray:
    direction = np.zeros(int(np.prod(shape)))
    direction[position] = 1
    return direction.reshape(shape)


def slopes(
    terms: Callable[[np.ndarray], Sequence[np.ndarray | None]],
    weights: Sequence[np.ndarray | None],
    source: np.ndarray,
) -> Slopes:
    """Derivatives at `source` of the weighted sum of `terms`."""

    def slope(direction: np.ndarray) -> float:
        above = terms(source + _STEP * direction)
        below = terms(source - _STEP * direction)
        return weighted_change(above, below, weights) / (2 * _STEP)

    size = source.size
    if size <= _FULLY_CHECKED:
        positions, dense = list(range(size)), None
    else:
        positions = [(size - 1) * k // (_SAMPLED - 1) for k in range(_SAMPLED)]
        dense = slope(_signs(source.shape))
    single = {k: slope(_unit(source.shape, k)) for k in positions}
    return Slopes(source.shape, single, dense)
