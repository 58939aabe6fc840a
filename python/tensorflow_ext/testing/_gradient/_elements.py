"""Compares a gradient with slopes, element by element or along directions."""

import dataclasses
import enum
import math

import numpy as np

from tensorflow_ext.testing._gradient._differences import Differences, Kind, Slope
from tensorflow_ext.testing._gradient._report import Worst

# The part of the relative tolerance that is relative to the largest element, because
# rounding errors are relative to the terms of a sum.
_SHARED = 0.01


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How far apart numbers may be."""

    relative: float
    absolute: float

    def of(self, expected: float, largest: float = 0.0, length: float = 1.0) -> float:
        """The tolerance for a number, given its tensor's largest one and the direction's
        length."""
        shared = _SHARED * self.relative * largest
        return self.absolute * length + self.relative * abs(expected) + shared


class Verdict(enum.Enum):
    """The verdict on one element or one direction."""

    RIGHT = enum.auto()
    WRONG = enum.auto()
    BETWEEN = enum.auto()  # Between the slopes from both sides of a kink.
    UNKNOWN = enum.auto()  # A jump, an edge, or quotients that do not converge.


@dataclasses.dataclass(frozen=True)
class Judged:
    """A verdict and its evidence. `positions`: the elements that were moved."""

    verdict: Verdict
    positions: np.ndarray
    analytic: float
    slope: Slope
    tolerance: float

    @property
    def doubt(self) -> str:
        """The reason why the verdict is unknown, or another remark."""
        if self.slope.kind is not Kind.SMOOTH:
            return self.slope.kind.value
        return f"differences uncertain by {self.slope.error:.2g}"

    def worst(self, index: str) -> Worst:
        """The verdict's element as a report shows it."""
        slope = self.slope
        return Worst(index, self.analytic, slope.value, self.tolerance, slope.step)


class Judge:
    """Compares the gradient with respect to one source with difference quotients.

    Args:
      differences: Differences of the weighted sum of the outputs.
      source: Index of the argument.
      gradient: The gradient with respect to it, in real numbers.
      tolerance: How far apart they may be.
    """

    def __init__(
        self, differences: Differences, source: int, gradient: np.ndarray, tolerance: Tolerance
    ) -> None:
        self._differences = differences
        self._source = source
        self._gradient = gradient
        self._tolerance = tolerance
        self._scales = differences.scales(source)

    def elements(self, positions: np.ndarray) -> list[Judged]:
        """The verdict on each of some elements."""
        parts = [np.array([position]) for position in positions]
        slopes = [self._slope(part) for part in parts]
        largest = max((abs(s.value) for s in slopes if s.error < 0.1 * abs(s.value)), default=0.0)
        return [
            self._judge(part, slope, largest) for part, slope in zip(parts, slopes, strict=True)
        ]

    def direction(self, signs: np.ndarray) -> Judged:
        """The verdict on all elements at once; if that is wrong, on the smallest wrong part."""
        judged = self._along(np.arange(signs.size), signs)
        while judged.verdict is Verdict.WRONG and judged.positions.size > 1:
            halves = [self._along(half, signs) for half in np.array_split(judged.positions, 2)]
            wrong = [half for half in halves if half.verdict is Verdict.WRONG]
            if not wrong:
                # Several elements at kinks give slopes that no gradient has.
                kinks = [half for half in halves if half.slope.kind is not Kind.SMOOTH]
                return kinks[0] if kinks else judged
            judged = max(wrong, key=lambda half: abs(half.analytic - half.slope.value))
        if judged.positions.size == 1:
            return self.elements(judged.positions)[0]
        return judged

    def _along(self, positions: np.ndarray, signs: np.ndarray) -> Judged:
        return self._judge(positions, self._slope(positions, signs), 0.0, signs)

    def _direction(self, positions: np.ndarray, signs: np.ndarray | None = None) -> np.ndarray:
        direction = np.zeros(self._gradient.size)
        direction[positions] = self._scales[positions]
        return direction if signs is None else direction * signs

    def _slope(
        self, positions: np.ndarray, signs: np.ndarray | None = None, careful: bool = False
    ) -> Slope:
        direction = self._direction(positions, signs)
        take = self._differences.careful if careful else self._differences.quick
        slope = take(self._source, direction)
        if signs is None:
            slope = slope.scaled(1 / self._scales[positions[0]])
        return slope

    def _judge(
        self, positions: np.ndarray, slope: Slope, largest: float, signs: np.ndarray | None = None
    ) -> Judged:
        if signs is None:
            analytic, length = float(self._gradient[positions[0]]), 1.0
        else:
            direction = self._direction(positions, signs)
            terms = self._gradient * direction
            analytic = math.fsum(terms)
            length = float(np.linalg.norm(direction))
            largest = float(np.linalg.norm(terms))
        tolerance = self._tolerance.of(slope.value, largest, length)
        if slope.error > 10 * tolerance or not _near(analytic, slope, tolerance):
            slope = self._slope(positions, signs, careful=True)
            if math.isfinite(slope.value):
                tolerance = self._tolerance.of(slope.value, largest, length)
        verdict = _verdict(analytic, slope, tolerance)
        return Judged(verdict, positions, analytic, slope, tolerance)


def _near(analytic: float, slope: Slope, tolerance: float) -> bool:
    return abs(analytic - slope.value) <= tolerance + 2 * slope.error


def _verdict(analytic: float, slope: Slope, tolerance: float) -> Verdict:
    if not math.isfinite(slope.value) or slope.kind is Kind.EDGE:
        return Verdict.UNKNOWN
    apart = abs(analytic - slope.value)
    if slope.kind is Kind.JUMP and slope.high - slope.low >= apart > tolerance:
        return Verdict.UNKNOWN
    if apart <= tolerance + 2 * slope.error:
        certain = slope.error <= max(100 * tolerance, 1e-3 * abs(slope.value))
        return Verdict.RIGHT if certain else Verdict.UNKNOWN
    if slope.kind is Kind.KINK:
        between = slope.low - tolerance <= analytic <= slope.high + tolerance
        return Verdict.BETWEEN if between else Verdict.WRONG
    return Verdict.WRONG
