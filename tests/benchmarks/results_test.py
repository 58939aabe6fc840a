# SPDX-License-Identifier: Apache-2.0
"""What ./run bench keeps of a run, and what it says of two."""

import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys

import measure
import pictures
import pytest
import report
import results
from limits import Needs
from results import Result
from rich.console import Console

RUN = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "run.py"
ROW = Result(
    "Group",
    "case | 1",
    2e-3,
    "rival",
    0.8,
    1.0,
    (1_000_000, None),
    needs=Needs(4_000_000, 5_000_000),
    of_limit=0.5,
    spread=0.01,
)
MACHINE = {"processor": "A, 2 cores", "PyTorch": "2.1"}


def _record(*rows: Result) -> results.Record:
    return {"suite": results.Suite("2026-01-02", MACHINE, list(rows))}


def test_load_gives_what_save_took(tmp_path: pathlib.Path) -> None:
    grown = dataclasses.replace(ROW, case="2", needs=None, size=64.0)
    record = _record(ROW, grown)
    results.save(record, tmp_path / "deep" / "rows.json")
    assert results.load(tmp_path / "deep" / "rows.json") == record


@pytest.mark.parametrize(
    "text", ["", "[]", "{}x", '{"suite": {}}', '{"suite": {"date": 1, "results": [2]}}']
)
def test_load_of_something_else(tmp_path: pathlib.Path, text: str) -> None:
    file = tmp_path / "rows.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"rows\.json: expected what an earlier"):
        results.load(file)


def test_unknown_field(tmp_path: pathlib.Path) -> None:
    """As of a later version."""
    file = tmp_path / "rows.json"
    results.save(_record(ROW), file)
    suites = json.loads(file.read_text())
    suites["suite"]["results"][0]["color"] = "red"
    file.write_text(json.dumps(suites))
    with pytest.raises(ValueError, match="expected what an earlier"):
        results.load(file)


@pytest.mark.parametrize(
    ("was", "now", "spreads", "moved"),
    [
        (0.80, 0.83, (0.0, 0.0), False),  # within 5 %
        (0.80, 0.86, (0.0, 0.0), True),
        (0.80, 0.70, (0.0, 0.0), True),
        (0.80, 0.90, (0.03, 0.05), False),  # within twice the spreads of both
        (0.80, 0.90, (0.01, 0.02), True),
        (0.01, 0.03, (0.0, 0.0), True),
    ],
)
def test_moves(was: float, now: float, spreads: tuple, moved: bool) -> None:
    before, after = (
        dataclasses.replace(ROW, ratio=ratio, spread=spread)
        for ratio, spread in zip((was, now), spreads, strict=True)
    )
    found = list(results.moves(_record(before), _record(after)))
    assert [move.is_slower for move in found] == ([now > was] if moved else [])


def test_moves_of_rows_of_both_the_worst_first() -> None:
    rows = [dataclasses.replace(ROW, case=case) for case in "abcd"]
    now = [
        dataclasses.replace(row, ratio=ratio)
        for row, ratio in zip(rows[1:], (0.4, 1.6, 2.4), strict=True)
    ]
    new = dataclasses.replace(ROW, case="new", ratio=9.0)
    found = results.moves(_record(*rows), _record(*now, new))
    assert [move.row.case for move in found] == ["d", "c", "b"]


def test_markdown_has_limit_and_dates(tmp_path: pathlib.Path) -> None:
    record = _record(ROW, dataclasses.replace(ROW, rival="other", ratio=1.5))
    later = dataclasses.replace(ROW, group="G")
    record["later"] = results.Suite("2026-03-04", {"processor": "A, 2 cores"}, [later])
    again = dataclasses.replace(ROW, group="H")
    record["again"] = results.Suite("2026-03-04", MACHINE, [again])
    report.write_markdown(record, ["picture_of_it.png"], tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert (
        "| case \\| 1 | 2.00 ms | 4.0 MB, 5 Mop | **0.50** | 1.0 MB | rival |  | 0.80 "
        "| 1.00 |  |\n|  |  |  |  |  | other |  | **1.50** | 1.00 |  |\n" in page
    )
    assert page.count("Measured on") == 2
    assert "## Group\n\nMeasured on 2026-01-02, PyTorch 2.1.\n\n|" in page
    assert "## G\n\n|" in page
    assert "## H\n\nMeasured on 2026-03-04, PyTorch 2.1.\n\n|" in page
    assert "- processor: A, 2 cores\n- date: 2026-03-04\n" in page
    assert "![picture of it](picture_of_it.png)" in page


def test_files_without_machines_load(tmp_path: pathlib.Path) -> None:
    results.save(_record(ROW), tmp_path / "rows.json")
    suites = json.loads((tmp_path / "rows.json").read_text())
    del suites["suite"]["machine"]
    (tmp_path / "rows.json").write_text(json.dumps(suites))
    suite = results.load(tmp_path / "rows.json")["suite"]
    assert suite == results.Suite("2026-01-02", {}, [ROW])


def test_print_moves() -> None:
    console = Console(width=120, record=True)
    move = results.Move(ROW, 0.5, 0.8)
    report.print_moves(console, [move], pathlib.Path("earlier.json"))
    report.print_moves(console, [], pathlib.Path("earlier.json"))
    said = console.export_text()
    assert "since earlier.json" in said
    assert "0.50" in said
    assert "0.80" in said
    assert "nothing moved beyond the noise" in said


def test_pictures_of_what_grows(tmp_path: pathlib.Path) -> None:
    rows = [
        dataclasses.replace(ROW, group="cost over bags", case=f"Op {n}", size=float(n))
        for n in (1, 10, 100)
    ]
    names = pictures.draw_growth([ROW, *rows], tmp_path / "page.md")
    assert names == ["page_cost_over_bags.png"]
    assert (tmp_path / names[0]).stat().st_size > 1000


def test_compare_finds_the_part_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever takes longer, of three calls of which each moves and does as much."""
    times = {"": [4.0, 5.0], "rival": [8.0, 10.0], "the limit": [2.0, 2.5]}
    monkeypatch.setattr(measure, "interleave", lambda *_, **__: times)
    monkeypatch.setattr(measure.limits, "operations_a_second", lambda: 1e3)
    ours, rivals = measure.Contender(int), {"rival": measure.Contender(int)}

    def of_limit(operations: int) -> float | None:
        needs = Needs(80, operations)
        (row,) = measure.compare("g", "c", ours, rivals, calls=3, needs=needs)
        assert row.seconds == 1.5
        assert row.ratio == 0.5
        return row.of_limit

    assert of_limit(0) == 0.5
    assert of_limit(100) == 0.5
    assert of_limit(1500) == statistics.median([4.5 / 4, 4.5 / 5])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing"], "no suite ['nothing']; expected of"),
        (["--against", "/none.json"], "No such file or directory: '/none.json'"),
        (["--against", str(RUN)], "expected what an earlier ./run bench wrote"),
    ],
)
def test_wrong_arguments(arguments: list[str], sentence: str) -> None:
    done = subprocess.run(
        [sys.executable, RUN, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
