# SPDX-License-Identifier: Apache-2.0
"""What docs/benchmarks.md says of rivals that are faster as work grows."""

import crossings
from results import Result


def _row(size: float, ratio: float, rival: str = "rival", spread: float = 0.0) -> Result:
    return Result(
        "cost over bytes",
        f"Relu gradient, {size:,.0f}",
        1e-3,
        rival,
        ratio,
        spread=spread,
        size=size,
    )


def test_a_curve_is_named_with_the_sizes_where_the_rival_is_faster() -> None:
    rows = [
        _row(1024, 1.5),
        _row(1024, 0.9, "slower"),
        _row(4096, 1.2),
        _row(4096, 1.2, "slower", spread=0.1),
        _row(16384, 1.0),
        _row(16384, 0.8, "slower"),
    ]
    lines = crossings.section(rows)
    assert lines[2].startswith("Of 2 curves of rivals in the pictures, 1 are")
    assert [line for line in lines if line.startswith("- ")] == [
        "- Relu gradient, cost over bytes, beside rival: 1.50 at 1,024, 1.20 at 4,096"
    ]


def test_rows_without_a_size_are_no_curves() -> None:
    assert crossings.section([Result("Group", "case", 1e-3, "rival", 2.0)]) == []
