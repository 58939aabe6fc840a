"""The report of a gradient check."""

import dataclasses
import enum
from collections.abc import Sequence

import numpy as np


class Outcome(enum.Enum):
    """The outcome of one part of a check."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOTE = "note"  # Could not be judged, with the reason; not a fault.


@dataclasses.dataclass(frozen=True)
class Worst:
    """The element whose gradient is farthest from the expected one.

    Attributes:
      index: Index of the element in its tensor; empty for a scalar. For a complex
        element, " (real)" or " (imaginary)" follows. "along a direction" if all elements
        were moved at once.
      analytic: The gradient's value.
      numeric: The expected value: a difference quotient, or the gradient computed in
        another way.
      tolerance: How far apart they may be.
      step: Step of the difference quotient; None without one.
    """

    index: str
    analytic: float
    numeric: float
    tolerance: float
    step: float | None = None

    @property
    def excess(self) -> float:
        """The distance as a multiple of the tolerance."""
        apart = abs(self.analytic - self.numeric)
        return apart / self.tolerance if self.tolerance else (apart and float("inf"))

    def __str__(self) -> str:
        step = "" if self.step is None else f", step {self.step:.3g}"
        return (
            f"{self.index}: gradient {self.analytic:.10g}, expected "
            f"{self.numeric:.10g}, tolerance {self.tolerance:.2g}{step}"
        )


@dataclasses.dataclass(frozen=True)
class Finding:
    """One part of a check.

    Attributes:
      order: Order of the derivative; 1 for the gradient.
      check: Name of the check, such as "differences" or "forward mode".
      subject: The input, variable, upstream gradient or output that was checked.
      outcome: Whether it passed.
      message: The fault, or a remark.
      worst: The worst element, if numbers were compared.
    """

    order: int
    check: str
    subject: str
    outcome: Outcome
    message: str = ""
    worst: Worst | None = None

    @property
    def text(self) -> str:
        """The message and the worst element; short if the check passed."""
        worst = "" if self.worst is None else str(self.worst)
        if self.worst is not None and self.outcome is Outcome.PASSED:
            excess = self.worst.excess
            worst = f"at most {excess:.2g} of the tolerance, {self.worst.index}"
        return "; ".join(filter(None, [self.message, worst]))


@dataclasses.dataclass(frozen=True, repr=False)
class GradientReport:
    """All findings of a check. It prints as a table.

    Attributes:
      name: Name of the function.
      findings: The findings, in the order of the checks.
      seed: Seed of the random numbers. The same seed gives the same check.
      settings: Settings of the check by name, such as the type of the differences.
      upstreams: The upstream gradients, by order and output.
    """

    name: str
    findings: Sequence[Finding]
    seed: int
    settings: dict[str, str] = dataclasses.field(default_factory=dict)
    upstreams: dict[tuple[int, str], np.ndarray] = dataclasses.field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True if no part failed."""
        return not self.failures

    @property
    def failures(self) -> list[Finding]:
        """The parts that failed."""
        return [f for f in self.findings if f.outcome is Outcome.FAILED]

    def raise_if_failed(self) -> None:
        """Raises a GradientError that has this report, if a part failed."""
        if not self.passed:
            raise GradientError(self)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        verdict = f"{len(self.failures)} FAILED" if self.failures else "passed"
        settings = "".join(f", {k} {v}" for k, v in self.settings.items())
        lines = [f"gradient of {self.name}: {verdict} (seed {self.seed}{settings})"]
        rows = [("order", "check", "of", "", "")]
        rows += [(str(f.order), f.check, f.subject, f.outcome.value, f.text) for f in self.findings]
        lines += aligned(rows)
        wrong = {finding.order for finding in self.failures}
        for (order, name), values in self.upstreams.items():
            if order in wrong:
                numbers = np.array2string(values, threshold=24, separator=", ")
                lines.append(f"upstream gradient of order {order}, {name}: {numbers}")
        return "\n".join(lines)


class GradientError(AssertionError):
    """A gradient is wrong.

    Attributes:
      report: The report of the check.
    """

    def __init__(self, report: GradientReport) -> None:
        worst = max(report.failures, key=lambda f: f.worst.excess if f.worst else float("inf"))
        super().__init__(
            f"{report.name}: order {worst.order}, {worst.check}, {worst.subject}: "
            f"{worst.text}\n{report}"
        )
        self.report = report


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, with each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
