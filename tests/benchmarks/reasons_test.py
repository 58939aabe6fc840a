# SPDX-License-Identifier: Apache-2.0
"""What docs/benchmarks.md says of the rows that are above their bars, and of what does
not reach the machine's limit."""

import dataclasses
import pathlib
import sys

import limit_reasons
import pytest
import reasons
import results
from limit_reasons import LIMITS
from reasons import REASONS, Reason
from results import Result

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "benchmarks.json"
ROWS = [row for suite in results.load(PAGE).values() for row in suite.results]


def _row(case: str, ratio: float, spread: float = 0.0) -> Result:
    return Result("Group", case, 1e-3, "rival", ratio, 1.0, spread=spread)


def test_a_row_is_explained_listed_or_within_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Reason("Title", "Because.", "Group", "known.*")
    monkeypatch.setattr(reasons, "REASONS", (known,))
    rows = [
        _row("known 1", 1.2),
        _row("known 2", 1.3, 0.1),
        _row("known but fast", 0.9),
        _row("noise", 1.2, 0.1),
        _row("unknown", 1.21, 0.1),
        Result("Group", "without a bar", 1e-3, "rival", 5.0),
    ]
    text = "\n".join(reasons.section(rows))
    assert "Of 5 rows with a bar, 4 are above it, 3 of them" in text
    assert "- **Title** (2 rows, 1.20 to 1.30). Because." in text
    assert text.endswith("- Group: unknown, beside rival, 1.21")
    assert text.count("beside") == 1


def test_what_is_at_the_limit_needs_no_other_reason() -> None:
    row = dataclasses.replace(_row("unknown", 1.2), of_limit=0.9)
    text = "\n".join(reasons.section([row]))
    assert "- **At the limit** (one row, 1.20)." in text
    assert "Not understood" not in text


def test_nothing_is_listed_where_all_reach_their_bars() -> None:
    text = "\n".join(reasons.section([_row("fast", 1.0)]))
    assert "Of 1 rows with a bar, 0 are above it" in text
    assert "- " not in text


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.title)
def test_each_reason_fits_rows_of_the_page(reason: Reason) -> None:
    assert any(reason.explains(row) for row in ROWS if row.bar is not None)


def test_a_case_that_misses_the_limit_is_explained_or_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Reason("Title", "Because.", "Group", "known.*")
    monkeypatch.setattr(limit_reasons, "LIMITS", (known,))

    def row(case: str, of_limit: float | None, seconds: float = 1e-3) -> Result:
        return dataclasses.replace(_row(case, 1.0), of_limit=of_limit, seconds=seconds)

    rows = [
        row("known", 0.5),
        # The same case beside another rival.
        row("known", 0.5),
        row("known, at the limit", 0.9),
        row("known, without a limit", None),
        row("known, small", 0.1, 1e-5),
        row("unknown", 0.4),
    ]
    text = "\n".join(limit_reasons.section(rows))
    assert "Of 4 cases whose limit is known, 1 reach 0.85 of it." in text
    assert "- **Less than 0.1 ms** (one row, 0.10)." in text
    assert "- **Title** (one row, 0.50). Because." in text
    assert text.endswith("- Group: unknown, 0.40 of the limit")


@pytest.mark.parametrize("reason", LIMITS, ids=lambda reason: reason.title)
def test_each_reason_fits_cases_of_the_page(reason: Reason) -> None:
    assert any(reason.explains(row) for row in ROWS if row.is_at_limit is False)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
