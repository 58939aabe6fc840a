# SPDX-License-Identifier: Apache-2.0
"""Where a rival costs less than we do as work grows: a section of docs/benchmarks.md,
made from the rows of its pictures."""

import itertools
import textwrap
from collections.abc import Sequence

import reasons
from pictures import op_of
from results import SPREADS, Result


def _curve(result: Result) -> tuple[str, str, str]:
    return result.group, op_of(result), result.rival


def section(results: Sequence[Result]) -> list[str]:
    """The lines of the section on all rows of the page; none if no row has a size."""
    rows = sorted((row for row in results if row.size is not None), key=_curve)
    if not rows:
        return []
    curves = {curve: list(own) for curve, own in itertools.groupby(rows, _curve)}
    crossing = [
        f"{op}, {group}, beside {rival}: "
        + ", ".join(f"{row.ratio:.2f} at {row.size:,.0f}" for row in behind)
        for (group, op, rival), own in curves.items()
        if (behind := [row for row in own if row.is_clearly_above(1)])
    ]
    text = (
        f"Of {len(curves)} curves of rivals in the pictures, {len(crossing)} are"
        f" anywhere below ours by more than {SPREADS:g} times the spread. A node of"
        " TensorFlow's graph takes several µs, whatever it does, as the smallest"
        " tensors show; PyTorch calls a function."
    )
    return [
        "## Where a rival's curve crosses ours",
        "",
        *textwrap.wrap(text, 88),
        *([""] if crossing else []),
        *itertools.chain.from_iterable(map(reasons.item, crossing)),
    ]
