# SPDX-License-Identifier: Apache-2.0
"""What a check of a gradient found."""

import dataclasses
import enum
from collections.abc import Sequence

import numpy as np


class Outcome(enum.Enum):
    """Of one part of a check."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOTE = "note"  # Could not be judged, and why not; no fault.


@dataclasses.dataclass(frozen=True)
class Worst:
    """The element whose gradient is farthest from the expected one.

    Attributes:
      index: Of the element in its tensor; empty for a scalar. A complex element has
        " (real)" or " (imaginary)" behind. "along a direction" where all elements
        were moved at once.
      analytic: What the gradient says.
      numeric: What was expected: a difference quotient, or another way's gradient.
      tolerance: How far apart they may be.
      step: Of the difference quotient; None where there was none.
    """

    index: str
    analytic: float
    numeric: float
    tolerance: float
    step: float | None = None

    @property
    def excess(self) -> float:
        """How many times the tolerance they are apart."""
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
      order: Of the derivative: 1 for the gradient.
      check: What was checked, as "differences" or "forward mode".
      subject: Of which input, variable, upstream gradient or output.
      outcome: Whether it passed.
      message: What is wrong, or to be known.
      worst: The worst element, where numbers were compared.
    """

    order: int
    check: str
    subject: str
    outcome: Outcome
    message: str = ""
    worst: Worst | None = None

    @property
    def text(self) -> str:
        """The message and the worst element, in short if all is well."""
        worst = "" if self.worst is None else str(self.worst)
        if self.worst is not None and self.outcome is Outcome.PASSED:
            excess = self.worst.excess
            worst = f"at most {excess:.2g} of the tolerance, {self.worst.index}"
        return "; ".join(filter(None, [self.message, worst]))


@dataclasses.dataclass(frozen=True, repr=False)
class GradientReport:
    """All that a check found. Printed, it is a table.

    Attributes:
      name: Of the function.
      findings: In the order of the checks.
      seed: Of the random numbers: the same seed gives the same check.
      settings: What is to be known of how it was checked, as the type of the
        differences, by name.
      upstreams: The upstream gradients, by order and output.
    """

    name: str
    findings: Sequence[Finding]
    seed: int
    settings: dict[str, str] = dataclasses.field(default_factory=dict)
    upstreams: dict[tuple[int, str], np.ndarray] = dataclasses.field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether no part failed."""
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
      report: All that was found.
    """

    def __init__(self, report: GradientReport) -> None:
        worst = max(report.failures, key=lambda f: f.worst.excess if f.worst else float("inf"))
        super().__init__(
            f"{report.name}: order {worst.order}, {worst.check}, {worst.subject}: "
            f"{worst.text}\n{report}"
        )
        self.report = report


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line a row, with each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
