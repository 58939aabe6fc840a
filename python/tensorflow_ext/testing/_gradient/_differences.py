"""Derivatives by difference quotients, with estimates of their errors.

All numbers are real: a complex number counts as two real ones (real_view).
"""

import dataclasses
import enum
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from tensorflow_ext.testing._gradient._comparison import weighted_change


class Kind(enum.Enum):
    """The behavior of a function at a point, along a direction."""

    SMOOTH = "smooth"
    KINK = "on a kink"
    JUMP = "on a jump or an infinite slope"
    EDGE = "at the edge of the domain"


@dataclasses.dataclass(frozen=True)
class Slope:
    """A derivative by difference quotients.

    Attributes:
      value: The derivative.
      error: An estimate of its error, from two steps and from rounding.
      step: The smaller of the two steps.
      kind: The behavior that the steps have shown.
      low: At a kink, the lowest value that a one-sided slope gives.
      high: At a kink, the highest value.
    """

    value: float
    error: float
    step: float
    kind: Kind = Kind.SMOOTH
    low: float = math.nan
    high: float = math.nan

    def scaled(self, factor: float) -> "Slope":
        """The slope along a direction that is 1 / factor times as long."""
        bounds = sorted([self.low * factor, self.high * factor])
        return Slope(
            self.value * factor,
            self.error * abs(factor),
            self.step,
            self.kind,
            bounds[0],
            bounds[1],
        )


@dataclasses.dataclass(frozen=True)
class _Level:
    """Quotients at one step: the central one, and the range of the one-sided ones."""

    step: float
    central: float
    noise: float
    low: float = math.nan
    high: float = math.nan

    @property
    def gap(self) -> float:
        return self.high - self.low


class Differences:
    """Difference quotients of a weighted sum of a function's outputs, at one point.

    Args:
      evaluate: Maps real arguments to real outputs.
      values: The arguments at the point.
      weights: Weights of the outputs.
      epsilon: Epsilon of the type in which `evaluate` computes.
      step: The first step, at most 64 times as large as the last one. None means about
        the fourth root of epsilon, where the errors of rounding and of extrapolation
        are equal.
      rounded: Rounds the arguments of a source as `evaluate` does.
    """

    def __init__(
        self,
        evaluate: Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]],
        values: Sequence[np.ndarray],
        weights: Sequence[np.ndarray],
        epsilon: float,
        step: float | None = None,
        rounded: Callable[[int, np.ndarray], np.ndarray] = lambda _, values: values,
    ) -> None:
        self._rounded = rounded
        self._evaluate = evaluate
        self._values = values
        self._weights = weights
        self._epsilon = epsilon
        self._given = step is not None
        self.step = 2.0 ** round(math.log2(epsilon) / 4) if step is None else step
        self._here: list[np.ndarray] | None = None

    def scales(self, source: int) -> np.ndarray:
        """Powers of two near the arguments, at least 1; the units of steps."""
        sizes = np.maximum(1, np.abs(self._values[source]))
        return 2.0 ** np.floor(np.log2(sizes))

    def quick(self, source: int, direction: np.ndarray) -> Slope:
        """The slope from two steps, extrapolated."""
        a, b = (self._level(source, direction, step) for step in (self.step, self.step / 2))
        value = (4 * b.central - a.central) / 3
        error = abs(value - b.central) + 2 * b.noise
        if not math.isfinite(error):
            error = math.inf
        return Slope(value, error, b.step)

    def careful(self, source: int, direction: np.ndarray) -> Slope:
        """The slope from many steps: from the neighbours that agree best, with all smaller
        ones too.

        A large step across a pole or a kink may agree with its neighbour by chance.
        """
        levels = [
            level
            for step in self._steps()
            if math.isfinite((level := self._level(source, direction, step, sides=True)).central)
        ]
        if len(levels) < 2:
            return Slope(math.nan, math.inf, self.step, Kind.EDGE)
        noises = _noises(levels)

        def estimate(k: int) -> tuple[float, float]:
            a, b = levels[k], levels[k + 1]
            square = (a.step / b.step) ** 2
            value = (square * b.central - a.central) / (square - 1)
            errors = [
                abs(value - smaller.central) - 2 * noise
                for smaller, noise in zip(levels[k + 2 :], noises[k + 2 :], strict=True)
            ]
            error = abs(a.central - b.central) + 2 * b.noise
            return max([error, *errors]), value

        best = min(range(len(levels) - 1), key=lambda k: estimate(k)[0])
        a, b = levels[best], levels[best + 1]
        error, value = estimate(best)
        return Slope(value, error, b.step, _kind(a, b), b.low, b.high)

    def _steps(self) -> list[float]:
        smallest = self._epsilon ** (2 / 3)
        if self._given:
            smallest = self.step / 64
        largest = max(0.25, self.step)
        steps = [self.step * 8.0**k for k in range(3, -20, -1)]
        return [step for step in steps if smallest <= step <= largest]

    def _outputs(self, source: int, argument: np.ndarray) -> list[np.ndarray]:
        values = list(self._values)
        values[source] = argument
        return list(self._evaluate(values))

    def _level(
        self, source: int, direction: np.ndarray, step: float, sides: bool = False
    ) -> _Level:
        place = self._values[source]
        up = self._rounded(source, place + step * direction)
        down = self._rounded(source, place - step * direction)
        above, below = self._outputs(source, up), self._outputs(source, down)
        # The step that remains after rounding.
        step = float(np.sum(np.abs(up - down)) / np.sum(np.abs(direction))) / 2
        with np.errstate(all="ignore"):
            central = weighted_change(above, below, self._weights) / (2 * step)
            noise = self._noise(above, below) / step
            if not sides:
                return _Level(step, central, noise)
            if self._here is None:
                self._here = self._outputs(source, place)
            low = high = 0.0
            rows = zip(above, self._here, below, self._weights, strict=True)
            for top, here, bottom, weight in rows:
                right = weight * (top - here) / step
                left = weight * (here - bottom) / step
                low += float(np.sum(np.minimum(left, right)))
                high += float(np.sum(np.maximum(left, right)))
        return _Level(step, central, noise, low, high)

    def _noise(self, above: Sequence[np.ndarray], below: Sequence[np.ndarray]) -> float:
        """The rounding error of a weighted sum, over the outputs that change."""
        squares = sum(
            float(np.sum(np.where(a == b, 0, w * np.maximum(np.abs(a), np.abs(b))) ** 2))
            for a, b, w in zip(above, below, self._weights, strict=True)
        )
        return self._epsilon * math.sqrt(squares)


def _noises(levels: Sequence[_Level]) -> list[float]:
    """The rounding error of each level, estimated from the smallest steps."""
    last = list(itertools.pairwise(levels))[-3:]
    rounding = np.median([abs(a.central - b.central) * b.step for a, b in last])
    return [max(level.noise, 2 * float(rounding) / level.step) for level in levels]


def _kind(a: _Level, b: _Level) -> Kind:
    """Classifies a function by its one-sided slopes at two steps, b being the smaller.

    Where the function is smooth, the slopes converge as the step shrinks. At a kink they
    stay apart, at a jump they diverge.
    """
    if not b.gap > 8 * b.noise or b.gap < a.gap / 2:
        return Kind.SMOOTH
    return Kind.KINK if b.gap < 1.5 * a.gap else Kind.JUMP
