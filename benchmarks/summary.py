"""A summary of a record: by family, the median ratio to each kind of rival, and the worst.
docs/benchmarks.md has the summary of docs/benchmarks.json.gz."""

import re
import statistics
from collections.abc import Iterable, Sequence

from results import LIMIT_BAR, Result

_KINDS = ("TensorFlow", "XLA", "PyTorch")
_ONE_CALL = "one call in eager mode"
# Rows whose only rival is a time, or this library on one thread.
_WITHOUT_RIVAL = (
    "import",
    "the first gradient of an op in a type",
    "eager tapes: recording",
    "64 threads, simulated",
)


def _family(row: Result) -> str:
    if row.case.endswith(": one call"):
        return _ONE_CALL
    if row.group.startswith("cost over "):
        return "as work or threads grow"
    if row.group.startswith("TF_AddGradients on "):
        return f"`TF_AddGradients` on models: {row.case.split(': ')[1]}"
    return re.sub(r" of \w+( tensors)?$", "", row.group).replace(", 64 MB float", "")


def _kind(row: Result) -> str:
    if row.rival.startswith("PyTorch"):
        return "PyTorch"
    is_xla = "jit_compile" in row.rival or "jit_compile" in row.group
    return "XLA" if is_xla else "TensorFlow"


def _ratios(rows: Sequence[Result], kind: str) -> str:
    ratios = [row.ratio for row in rows if _kind(row) == kind]
    return f"{statistics.median(ratios):.2f} ({max(ratios):.2f})" if ratios else ""


def _cases_with_limit(rows: Iterable[Result]) -> list[Result]:
    """The cases whose limit is known, each once, independent of its rivals."""
    cases = {(row.group, row.case, row.seconds): row for row in rows if row.of_limit is not None}
    return list(cases.values())


def text(rows: Sequence[Result]) -> tuple[str, str]:
    """A table in Markdown, and the number of rows that reach their bars and the limit."""
    families: dict[str, list[Result]] = {}
    for row in rows:
        if row.group not in _WITHOUT_RIVAL:
            families.setdefault(_family(row), []).append(row)
    table = [
        f"| measured | rows | {' | '.join(_KINDS)} | of the limit |",
        f"|---|{'--:|' * (len(_KINDS) + 2)}",
    ]
    for family, members in families.items():
        parts = [case.of_limit for case in _cases_with_limit(members)]
        of_limit = f"{statistics.median(parts):.2f}" if parts else ""
        cells = [family, str(len(members)), *(_ratios(members, kind) for kind in _KINDS), of_limit]
        table.append(f"| {' | '.join(cells)} |")
    barred = [row for row in rows if row.bar is not None]
    above = [row for row in barred if not row.reached]
    clearly = sum(row.is_clearly_above(row.bar) for row in above)
    cases = _cases_with_limit(rows)
    reached = sum(case.is_at_limit for case in cases)
    return "\n".join(table), (
        f"Of {len(barred)} rows with a bar, {len(above)} are above it, {clearly} of them by more"
        f" than twice their spread. Of {len(cases)} cases whose limit is known, {reached} reach"
        f" {LIMIT_BAR} of it."
    )
