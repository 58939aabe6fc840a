"""The tables of docs/known_differences.md, and the numbers in its text."""

import copy
import pathlib
import re
from typing import Any

import difference_tables
import pytest
from difference_reasons import REASONS

# Under Bazel this file is a link into the source tree.
_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "known_differences.md"
_DATA = difference_tables.recorded()
_NEWEST = _DATA["newest"]


def _ops(begin: str = "") -> set[str]:
    """The ops in the tables whose names begin with a prefix."""
    tables = _NEWEST["tables"].items()
    return {row[0] for name, rows in tables if name.startswith(begin) for row in rows}


def _old(**changes: list[list[str]]) -> dict[str, Any]:
    """The newest measurement as if of an older version, with some rows changed."""
    old = copy.deepcopy(_NEWEST) | {"tensorflow": "2.9.3"}
    for table, rows in changes.items():
        found = {row[0]: row for row in old["tables"][table]}
        for row in rows:
            found[row[0]][: len(row)] = row
    return old


def _between(folder: pathlib.Path, *measured: dict[str, Any]) -> dict[str, Any]:
    difference_tables.record(measured, folder / "data.gz")
    data = difference_tables.recorded(folder / "data.gz")
    assert data["newest"] == _NEWEST
    return data["by_version"]


def test_the_tables() -> None:
    page = difference_tables.markdown(_DATA)
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) > 300
    assert any(
        re.match(r"\| BesselI0 \| zero \| second \| 1.1e-01 \| .* BesselI1", row) for row in rows
    )
    assert "AdjustHue" in _NEWEST["python_none"]
    assert "MapDefun" in _NEWEST["not_in_python"]
    for table in page.split("\n\n"):
        lines = [line for line in table.splitlines() if line.startswith("|")]
        assert len({re.sub(r"`[^`]*`", "", line).count("|") for line in lines}) <= 1, lines[:3]


@pytest.mark.parametrize("party", REASONS)
def test_every_reason_explains_a_difference(party: str) -> None:
    named = {op for ops in REASONS[party].values() for op in ops.split()}
    assert named <= _ops(party)


def test_the_page_names_only_differences() -> None:
    rows = [line for line in _PAGE.read_text().splitlines() if line.startswith("| ")]
    named = set(re.findall(r"`([A-Z]\w+)`", "\n".join(rows)))
    assert len(named) > 50
    assert named <= _ops() | {*_NEWEST["python_none"], *_NEWEST["not_in_python"]}


def test_other_digits_are_not_a_difference(tmp_path: pathlib.Path) -> None:
    same = _old(
        python_wrong=[["BesselI0", "zero", "second", "1.2e-01"]],
        python_fails=[["MatrixDeterminant", "singular and 5 more", "first", "`singular`"]],
    )
    found = _between(tmp_path, _NEWEST, same)
    assert found == {"versions": ["2.9.3", _NEWEST["tensorflow"]], "tables": {}}


def test_differences_between_versions(tmp_path: pathlib.Path) -> None:
    lacks = _old(python_wrong=[["EuclideanNorm", "zero and 3 more"]])
    for row in lacks["tables"]["python_wrong"]:
        row[0] = {"BesselI1": "BesselI2"}.get(row[0], row[0])
    lacks["python_none"].remove("AdjustContrast")
    found = _between(tmp_path, _NEWEST, lacks)["tables"]
    assert found == {
        "python_none": [["AdjustContrast", "", "none"]],
        "python_wrong": [
            ["BesselI1", "", "zero: 2.0e-01"],
            ["BesselI2", "zero: 2.0e-01", ""],
            ["EuclideanNorm", "zero and 3 more: not finite", "zero and 1 more: not finite"],
        ],
    }
    page = difference_tables.markdown(
        _DATA | {"by_version": {"versions": ["1", "2"], "tables": found}}
    )
    assert "| op | 1 | 2 |\n|---|---|---|\n| BesselI1 |  | zero: 2.0e-01 |" in page
