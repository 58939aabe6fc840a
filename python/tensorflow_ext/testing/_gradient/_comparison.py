"""Distances between tensors, and derivatives by central differences.

This module needs only NumPy. A process without TensorFlow's Python package, or without
this library, can import it from its folder.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from numpy.random import default_rng  # NumPy would import it lazily.

# Half the distance from 1 to the next value, by NumPy's name of the type.
UNIT_ROUNDOFF = {
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float32": 2.0**-24,
    "complex64": 2.0**-24,
    "float64": 2.0**-53,
    "complex128": 2.0**-53,
}

# Tensors of up to this many real numbers get differences along every axis. Larger ones
# get some axes, and some directions that move all numbers. A wrong number anywhere
# changes the slope along these directions.
_FULLY_CHECKED = 8
_DRAWN = 4
_DENSE = 2

# Terms of one or several sums.
Terms = Sequence[Sequence[np.ndarray | None]]


def real_view(array: np.ndarray) -> np.ndarray:
    """The numbers of an array, flat, in double; real and imaginary parts alternate."""
    kind = np.complex128 if array.dtype.kind == "c" else np.float64
    return np.ascontiguousarray(array, kind).reshape(-1).view(np.float64)


def _wide(values: npt.ArrayLike) -> np.ndarray:
    array = np.asarray(values)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def distances(found: npt.ArrayLike, expected: npt.ArrayLike) -> np.ndarray:
    """|found - expected|, number by number, for tensors of one shape.

    Two NaNs or equal infinities agree. Any other pair with a NaN or infinity is infinitely
    far apart.
    """
    a, b = _wide(found), _wide(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0, np.where(np.isfinite(apart), apart, np.inf))


def largest(expected: npt.ArrayLike) -> float:
    """The largest finite magnitude, at least 1."""
    sizes = np.abs(_wide(expected))
    return float(np.max(sizes, initial=1, where=np.isfinite(sizes)))


def deviation(found: npt.ArrayLike, expected: npt.ArrayLike, whole: bool = False) -> float:
    """The largest distance, relative to each expected number that is larger than 1.

    Tensors of different shapes are infinitely far apart.

    Args:
      whole: Whether distances are relative to the largest expected number instead, as
        rounding errors of sums are.
    """
    if np.shape(found) != np.shape(expected):
        return math.inf
    sizes = np.abs(_wide(expected))
    scale = largest(expected) if whole else np.maximum(1, np.where(np.isfinite(sizes), sizes, 1))
    return float(np.max(distances(found, expected) / scale, initial=0))


def weighted_change(
    above: Sequence[np.ndarray | None],
    below: Sequence[np.ndarray | None],
    weights: Sequence[np.ndarray | None],
) -> float:
    """The change of the weighted sum of some terms; terms without weight do not count.

    Differences are taken before the sum, so terms that do not change add no rounding
    error. Complex numbers contribute Re <w, y>.
    """
    return math.fsum(
        float(np.sum(np.conj(w) * (_wide(a) - _wide(b))).real)
        for a, b, w in zip(above, below, weights, strict=True)
        if a is not None and b is not None and w is not None
    )


def directions(size: int, every: bool = False) -> Iterator[np.ndarray]:
    """The directions in which to move `size` real numbers.

    Args:
      every: Whether to use every axis for any size.
    """
    if size <= _FULLY_CHECKED or every:
        yield from (np.eye(1, size, k)[0] for k in range(size))
        return
    generator = default_rng(size)
    drawn = {0, size - 1, *generator.choice(size, _DRAWN - 2, replace=False)}
    yield from (np.eye(1, size, k)[0] for k in sorted(drawn))
    for _ in range(_DENSE):
        # No two numbers move equally, and no two come closer than along an axis.
        lengths = generator.integers(2**9, 2**10, size, endpoint=True) / 2**11
        yield generator.choice([-1.0, 1.0], size) * lengths


@dataclasses.dataclass
class Slopes:
    """Derivatives of a sum with respect to a tensor, along some directions.

    TensorFlow's gradient of a complex tensor z is dL/d(re z) + i dL/d(im z) for a real L,
    so both parts are ordinary slopes.

    Attributes:
      shape: Shape of the tensor.
      dtype: Type of the tensor.
      along: The directions, in real numbers, and the derivative along each.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    along: list[tuple[np.ndarray, float]] = dataclasses.field(default_factory=list)

    def deviation(self, gradient: np.ndarray | None, whole: bool = False) -> float:
        """The largest deviation of a gradient from the slopes; None stands for zeros.

        Directions are scaled to length 1. A gradient of another shape is infinitely far
        away. For `whole`, see `deviation` above.
        """
        if gradient is None:
            gradient = np.zeros(self.shape)
        if gradient.shape != self.shape:
            return math.inf
        numbers = real_view(gradient)
        if not self.along:
            return 0.0
        found, expected = [], []
        for direction, slope in self.along:
            moved, length = direction.nonzero(), np.linalg.norm(direction)
            with np.errstate(invalid="ignore"):
                found.append(np.sum(numbers[moved] * direction[moved]) / length)
            expected.append(slope / length)
        scale = largest(numbers) if whole else 1.0
        return deviation(np.array(found) / scale, np.array(expected) / scale, whole)

    def gradient(self) -> np.ndarray:
        """The gradient, if the directions are all axes."""
        numbers = np.array([slope for _, slope in self.along])
        if self.dtype.kind == "c":
            numbers = numbers.view(np.complex128)
        return numbers.reshape(self.shape).astype(self.dtype)

    def __str__(self) -> str:
        return f"slopes {[slope for _, slope in self.along]}"


def central_differences(
    evaluate: Callable[[np.ndarray], Terms],
    weights: Terms,
    place: np.ndarray,
    step: float,
    every: bool = False,
) -> list[Slopes]:
    """The derivatives at `place` of some weighted sums, all from the same evaluations.

    Args:
      evaluate: Computes the terms of each sum.
      weights: Weights of the terms.
      place: The point, an array of the type that `evaluate` takes.
      step: The step for a direction of length 1.
      every: Whether to use every axis for any size.
    """
    results = [Slopes(place.shape, place.dtype) for _ in weights]
    is_complex = place.dtype.kind == "c"
    for direction in directions(place.size * (2 if is_complex else 1), every):
        move = direction.view(np.complex128) if is_complex else direction
        move = step * move.reshape(place.shape)
        above = evaluate((place + move).astype(place.dtype))
        below = evaluate((place - move).astype(place.dtype))
        for slopes, *terms in zip(results, above, below, weights, strict=True):
            slopes.along.append((direction, weighted_change(*terms) / (2 * step)))
    return results
