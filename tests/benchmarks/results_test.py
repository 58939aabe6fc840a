"""./run bench keeps a run, and compares two."""

import dataclasses
import gzip
import json
import pathlib
import re
import statistics
import sys
from typing import Any

import measure
import pictures
import pytest
import report
import results
import run
import summary
from limits import Needs
from results import Result
from rich.console import Console

ROOT = pathlib.Path(__file__).resolve().parents[2]
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


def _row(**other: Any) -> Result:
    """ROW with other values."""
    return dataclasses.replace(ROW, **other)


def _record(*rows: Result) -> results.Record:
    return {"suite": results.Suite("2026-01-02", MACHINE, list(rows))}


@pytest.mark.parametrize("name", ["rows.json", "rows.json.gz"])
def test_load_returns_what_save_wrote(tmp_path: pathlib.Path, name: str) -> None:
    grown = _row(case="2", needs=None, size=64.0)
    record = _record(ROW, grown)
    file = tmp_path / "deep" / name
    results.save(record, file)
    assert results.load(file) == record
    assert (file.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("rows.json", text) for text in (b"", b"[]", b"{}x", b'{"suite": {}}')),
        ("rows.json", b'{"suite": {"date": 1, "results": [2]}}'),
        *(("rows.json.gz", text) for text in (b"", b"{}", gzip.compress(b"[]"))),
        ("rows.json.gz", gzip.compress(b"{}")[:-3]),
    ],
)
def test_load_refuses_other_files(tmp_path: pathlib.Path, name: str, content: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ValueError, match=f"{re.escape(name)}: expected a file that"):
        results.load(file)


def test_unknown_field(tmp_path: pathlib.Path) -> None:
    """A row of a later version."""
    file = tmp_path / "rows.json"
    results.save(_record(ROW), file)
    file.write_text(file.read_text().replace('"case":', '"color": "red", "case":'))
    with pytest.raises(ValueError, match="expected a file that"):
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
        _row(ratio=ratio, spread=spread) for ratio, spread in zip((was, now), spreads, strict=True)
    )
    found = list(results.moves(_record(before), _record(after)))
    assert [move.is_slower for move in found] == ([now > was] if moved else [])


def test_moves_list_the_worst_first() -> None:
    was = [_row(case=case) for case in "abcd"]
    ratios = {"b": 0.4, "c": 1.6, "d": 2.4, "new": 9.0}
    now = [_row(case=case, ratio=ratio) for case, ratio in ratios.items()]
    found = results.moves(_record(*was), _record(*now))
    assert [move.row.case for move in found] == ["d", "c", "b"]


def test_markdown_has_limit_and_dates(tmp_path: pathlib.Path) -> None:
    record = _record(ROW, _row(rival="other", ratio=1.5))
    later = _row(group="G")
    record["later"] = results.Suite("2026-03-04", {"processor": "A, 2 cores"}, [later])
    again = _row(group="H")
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


def test_summary() -> None:
    eager = _row(of_limit=0.9, spread=0.0)
    rows = [
        # A case that has two rivals has one limit.
        dataclasses.replace(eager, ratio=0.5),
        dataclasses.replace(eager, rival="rival, jit_compile", ratio=0.25),
        dataclasses.replace(eager, case="b", ratio=1.5, of_limit=0.6),
        dataclasses.replace(eager, case="c", rival="PyTorch f", ratio=1.02, of_limit=0.6),
        _row(group="lowerings, jit_compile", ratio=1.1, spread=0.1),
        dataclasses.replace(eager, case="b: one call", bar=None, ratio=2.0, of_limit=None),
        dataclasses.replace(eager, group="import", bar=None, ratio=9.0, of_limit=None),
    ]
    table, said = summary.text(rows)
    assert table.splitlines()[2:] == [
        "| Group | 4 | 1.00 (1.50) | 0.25 (0.25) | 1.02 (1.02) | 0.60 |",
        "| lowerings, jit_compile | 1 |  | 1.10 (1.10) |  | 0.50 |",
        "| one call in eager mode | 1 | 2.00 (2.00) |  |  |  |",
    ]
    assert said == (
        "Of 5 rows with a bar, 3 are above it, 2 of them by more than twice their spread."
        " Of 4 cases whose limit is known, 1 reach 0.85 of it."
    )


def test_the_page_shows_the_saved_rows() -> None:
    record = results.load(ROOT / "docs" / "benchmarks.json.gz")
    rows = [row for suite in record.values() for row in suite.results]
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table, said = summary.text(rows)
    assert table in page, "./run bench --from docs/benchmarks.json.gz --markdown FILE writes it"
    for sentence in said.removesuffix(".").split(". "):
        assert sentence in " ".join(page.split())


def test_files_without_machines_load(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "rows.json"
    results.save(_record(ROW), file)
    suites = json.loads(file.read_text())
    del suites["suite"]["machine"]
    file.write_text(json.dumps(suites))
    assert results.load(file) == {"suite": results.Suite("2026-01-02", {}, [ROW])}


def test_print_moves() -> None:
    console = Console(width=120, record=True)
    move = results.Move(ROW, 0.5, 0.8)
    was, now = ({"s": results.Suite("", {"cores": cores}, [])} for cores in ("2", "4"))
    assert list(results.other_machines(was, was)) == []
    machines = list(results.other_machines(was, now))
    report.print_moves(console, [move], pathlib.Path("earlier.json"), machines)
    report.print_moves(console, [], pathlib.Path("earlier.json"))
    said = console.export_text()
    for part in (
        *("earlier.json is from another machine", "cores: was 2, is 4"),
        *("since earlier.json", "0.50", "0.80", "nothing changed by more than the noise"),
    ):
        assert part in said


def test_pictures_of_growth(tmp_path: pathlib.Path) -> None:
    rows = [_row(group="cost over bags", case=f"Op {n}", size=float(n)) for n in (1, 10, 100)]
    names = pictures.draw_growth([ROW, *rows], tmp_path / "page.md")
    assert names == ["page_cost_over_bags.png"]
    assert (tmp_path / names[0]).stat().st_size > 1000


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str | pathlib.Path) -> int:
    monkeypatch.setattr(sys, "argv", ["run.py", *map(str, arguments)])
    return run.main()


def test_an_earlier_run_is_shown_and_updates_another(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Measures nothing."""
    earlier, kept = tmp_path / "earlier.json", tmp_path / "kept.json.gz"
    now, other = (
        results.Suite("2026-01-02", MACHINE, [_row(case=case, ratio=ratio)])
        for case, ratio in (("a", 0.7), ("b", 0.8))
    )
    results.save({"eager": now, "models": now}, earlier)
    results.save({"chains": other, "eager": other}, kept)
    arguments = ["eager", "--from", earlier, "--update", kept, "--against", kept]
    page, picture = tmp_path / "page.md", tmp_path / "ratios.png"
    assert _run(monkeypatch, *arguments, "--markdown", page, "--picture", picture) == 0
    assert "nothing changed" in capsys.readouterr().out
    assert results.load(kept) == {"eager": now, "chains": other}
    assert "| a | 2.00 ms |" in page.read_text()
    assert picture.exists()


def test_compare_computes_the_share_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is the memory or the operations of three calls, whichever takes longer."""
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
        (["nothing"], "no suite ['nothing']; expected some of"),
        (["--against", "/none.json"], "No such file or directory: '/none.json'"),
        (["--against", __file__], "expected a file that ./run bench wrote"),
        (["--from", "/none.json"], "No such file or directory: '/none.json'"),
    ],
)
def test_wrong_arguments(
    arguments: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        _run(monkeypatch, *arguments)
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err
