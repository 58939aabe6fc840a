# SPDX-License-Identifier: Apache-2.0
"""What the checks of an op, or of a library of ops, found."""

import dataclasses
import enum
from collections.abc import Sequence

from tensorflow_ext.testing._gradient._report import aligned


class Verdict(enum.Enum):
    """On one check of one op."""

    PASSED = "ok"
    NONE = "-"  # Does not apply to the op, or was left out.
    SAMPLED = "sampled"  # As it should be, as far as a sample shows.
    NOTE = "note"  # To be known; no fault.
    MISSING = "missing"  # Something that an op is to have is not there.
    FAILED = "FAILED"  # What is there is wrong.

    @property
    def is_fault(self) -> bool:
        """Whether the op is to be fixed."""
        return self in (Verdict.MISSING, Verdict.FAILED)


_ORDER = list(Verdict)  # the later, the rather is it what a table is to show


@dataclasses.dataclass(frozen=True)
class OpFinding:
    """One thing that a check found.

    Attributes:
      op: Name of the op.
      check: Name of the check; one of `CHECKS`.
      verdict: Whether it is as it should be.
      message: What is wrong, with which attributes and inputs, and the fix.
    """

    op: str
    check: str
    verdict: Verdict
    message: str = ""


@dataclasses.dataclass(frozen=True)
class OpReport:
    """All that was found. Printed, it is a table: a row an op, a column a check.

    Attributes:
      ops: Names of the ops, in the order of the table.
      checks: Names of the checks, in the order of the table.
      findings: In the order in which they were found.
    """

    ops: Sequence[str]
    checks: Sequence[str]
    findings: Sequence[OpFinding]

    @property
    def passed(self) -> bool:
        """Whether no op has a fault."""
        return not self.failures

    @property
    def failures(self) -> list[OpFinding]:
        """What is missing and what is wrong."""
        return [finding for finding in self.findings if finding.verdict.is_fault]

    def verdict(self, op: str, check: str) -> Verdict:
        """The worst of a check's findings about an op; NONE where there is none."""
        verdicts = [
            finding.verdict
            for finding in self.findings
            if (finding.op, finding.check) == (op, check)
        ]
        return max(verdicts, key=_ORDER.index, default=Verdict.NONE)

    def messages(self, op: str, check: str) -> list[str]:
        """What a check says of an op."""
        return [
            finding.message
            for finding in self.findings
            if (finding.op, finding.check) == (op, check) and finding.message
        ]

    def raise_if_failed(self) -> None:
        """Raises an OpCheckError that has this report, if an op has a fault."""
        if not self.passed:
            raise OpCheckError(self)

    def __str__(self) -> str:
        rows = [["op", *self.checks]]
        for op in self.ops:
            cells = [self.verdict(op, check).value for check in self.checks]
            rows.append([op, *cells])
        lines = aligned(rows)
        for title, wanted in (
            ("faults", [Verdict.MISSING, Verdict.FAILED]),
            ("to be known", [Verdict.NOTE]),
        ):
            found = [f for f in self.findings if f.verdict in wanted]
            if found:
                lines += ["", f"{title}:"]
                lines += [f"  {f.op}: {f.check}: {f.message}" for f in found]
        sampled = [f for f in self.findings if f.verdict is Verdict.SAMPLED]
        if sampled:
            lines += ["", "sampled (more with samples=...):"]
            lines += [f"  {f.op}: {f.message}" for f in sampled]
        number = len(self.failures)
        verdict = f"{number} faults" if number else "no faults"
        return "\n".join([*lines, "", f"{len(self.ops)} ops, {verdict}"])


class OpCheckError(AssertionError):
    """An op has a fault.

    Attributes:
      report: All that was found.
    """

    def __init__(self, report: OpReport) -> None:
        first = report.failures[0]
        super().__init__(f"{first.op}: {first.check}: {first.message}\n\n{report}")
        self.report = report
