# SPDX-License-Identifier: Apache-2.0
"""The rows of docs/known_differences.md: one gradient that is not the reference's."""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from parity import TOLERANCES, Case, deviation

Gradients = Sequence[np.ndarray | None]


@dataclasses.dataclass
class Difference:
    """A gradient that is not the reference's, which is `expected`."""

    op: str
    case: str
    order: str
    found: str
    ours: str = ""
    size: float = math.inf
    error: bool = False
    mended: str = ""
    expected: Gradients = ()


def worst(found: Gradients, expected: Gradients) -> float:
    """The largest deviation of these gradients; None and zeros are the same."""
    sizes = [0.0]
    for f, e in zip(found, expected, strict=True):
        if f is None and e is None:
            continue
        f = np.zeros_like(e) if f is None else f
        e = np.zeros_like(f) if e is None else e
        sizes.append(deviation(f, e))
    return max(sizes)


def cell(message: str) -> str:
    """An error of TensorFlow's, fit for a cell of a table."""
    missing = re.search(r"No gradient defined for .*op type: (\w+)|op: (\w+)", message)
    if missing:
        return f"no gradient of {missing[1] or missing[2]}"
    # Behind the traceback, the node; behind that, the message of a kernel.
    kernels = re.search(r"\nNode: .*\n(?:.*root error.*\n)?(?:\s*\(\d\).*?: )?(.+)", message)
    empty = ("", "Graph execution error:")
    lines = [
        line
        for line in message.splitlines()
        if "root error" not in line and line.strip() not in empty
    ]
    line = (kernels[1] if kernels else lines[0]).strip().replace("|", "/")
    return f"`{line[:90].rstrip()}{'…' if len(line) > 90 else ''}`"


def verdict(found: Gradients, expected: Gradients) -> str:
    """What is wrong with a gradient, fit for a cell of a table."""
    pairs = [(f, e) for f, e in zip(found, expected, strict=True) if e is not None]
    if {f is None for f, e in pairs if np.any(e != 0)} == {True}:
        return "none"
    known = [(f, e) for f, e in pairs if f is not None]
    if any(f.shape != e.shape for f, e in known):
        return "another shape"
    if any(np.any(np.isfinite(f) != np.isfinite(e)) for f, e in known):
        return "not finite"
    return f"{worst(found, expected):.1e}"


def tolerance(case: Case, expected: Gradients) -> float:
    if case.tolerance:
        return case.tolerance
    return max(TOLERANCES[e.dtype.name] for e in expected if e is not None)


def table(differences: Iterable[Difference], reasons: Mapping[str, str], ours: bool) -> list[str]:
    """A row an op, with its worst case, first order before second."""
    by_op: dict[str, list[Difference]] = {}
    for difference in differences:
        by_op.setdefault(difference.op, []).append(difference)
    rows = []
    for op, group in sorted(by_op.items()):
        worst_one = min(group, key=lambda d: (d.order, -d.size))
        others = f" and {len(group) - 1} more" if len(group) > 1 else ""
        cells = [op, worst_one.case + others, worst_one.order, worst_one.found]
        if ours:
            cells.append(worst_one.ours)
        if worst_one.mended:
            cells.append(worst_one.mended)
        rows.append(f"| {' | '.join([*cells, reasons.get(op, '')])} |")
    return rows
