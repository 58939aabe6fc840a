"""The report of the checks of an op, or of a library of ops."""

import dataclasses
import enum
from collections.abc import Sequence

from tensorflow_ext.testing._gradient._report import aligned


class Verdict(enum.Enum):
    """The verdict of one check of one op."""

    PASSED = "ok"
    NONE = "-"  # Does not apply to the op, or was skipped.
    SAMPLED = "sampled"  # Passed for a sample.
    NOTE = "note"  # A remark; not a fault.
    MISSING = "missing"  # The op lacks a required part.
    FAILED = "FAILED"  # An existing part is wrong.

    @property
    def is_fault(self) -> bool:
        """True if the op must be fixed."""
        return self in (Verdict.MISSING, Verdict.FAILED)


_ORDER = list(Verdict)  # A table shows the last that applies.


@dataclasses.dataclass(frozen=True)
class OpFinding:
    """One thing that a check found.

    Attributes:
      op: Name of the op.
      check: Name of the check; one of `CHECKS`.
      verdict: The verdict.
      message: The fault, the attributes and inputs that show it, and the fix.
    """

    op: str
    check: str
    verdict: Verdict
    message: str = ""


@dataclasses.dataclass(frozen=True)
class OpReport:
    """All findings. It prints as a table with a row per op and a column per check.

    Attributes:
      ops: Names of the ops, in the order of the table.
      checks: Names of the checks, in the order of the table.
      findings: The findings, in the order in which they were made.
    """

    ops: Sequence[str]
    checks: Sequence[str]
    findings: Sequence[OpFinding]

    @property
    def passed(self) -> bool:
        """True if no op has a fault."""
        return not self.failures

    @property
    def failures(self) -> list[OpFinding]:
        """The findings that something is missing or wrong."""
        return [finding for finding in self.findings if finding.verdict.is_fault]

    def verdict(self, op: str, check: str) -> Verdict:
        """The worst of a check's findings about an op; NONE without findings."""
        verdicts = [
            finding.verdict
            for finding in self.findings
            if (finding.op, finding.check) == (op, check)
        ]
        return max(verdicts, key=_ORDER.index, default=Verdict.NONE)

    def messages(self, op: str, check: str) -> list[str]:
        """The messages of a check about an op."""
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
            ("notes", [Verdict.NOTE]),
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
      report: The report of the checks.
    """

    def __init__(self, report: OpReport) -> None:
        first = report.failures[0]
        super().__init__(f"{first.op}: {first.check}: {first.message}\n\n{report}")
        self.report = report
