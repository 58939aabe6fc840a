"""The tables of docs/known_differences.md, from what known_differences.py measured.

    .venv/bin/python tools/documentation/difference_tables.py
    .venv/bin/python tools/documentation/difference_tables.py --record out/known_differences-*.json

The first command prints them. The second records new measurements, one for each version of
TensorFlow: the newest whole, and what differs between versions.
"""

import argparse
import gzip
import json
import pathlib
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from difference_reasons import REASONS

_ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = _ROOT / "tests" / "stock_gradients" / "known_differences.json.gz"

# The data that known_differences.py writes.
Measured = Mapping[str, Any]

_PYTHON = "op | case | order | Python | this library | after fix() | why"
_CLIENT = "op | case | order | TensorFlow's client | this library | why"
_FUNCTION = "op | case | order | function registry | why"
TABLES = {
    "python_wrong": ("Python gives another gradient", _PYTHON),
    "python_fails": ("Python fails", _PYTHON),
    "only_in_python": ("Only Python has a gradient", "op | why"),
    "client_wrong": ("TensorFlow's client gives another gradient", _CLIENT),
    "client_fails": ("TensorFlow's client fails", _CLIENT),
    "function_wrong": ("TensorFlow's function registry gives another gradient", _FUNCTION),
    "function_fails": ("TensorFlow's function registry fails", _FUNCTION),
    "on_the_way": (
        "One output depends on another, at x = 1",
        "second output | unchanged | with Identity | Python",
    ),
}
_NONE = "Python has no gradient until `import tensorflow_ext`"
_HEADINGS = {key: heading for key, (heading, _) in TABLES.items()} | {"python_none": _NONE}


def record(measured: Iterable[Measured], file: pathlib.Path = DATA) -> None:
    in_order = sorted(measured, key=lambda one: [*map(int, one["tensorflow"].split("."))])
    data = {"newest": in_order[-1], "by_version": _by_version(in_order)}
    # Without the time, so that the same measurements give the same file.
    file.write_bytes(gzip.compress(json.dumps(data).encode(), mtime=0))


def recorded(file: pathlib.Path = DATA) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return data


def _by_version(measured: Sequence[Measured]) -> dict[str, Any]:
    """The results that differ between versions: a row per op, with a cell for each version."""
    cells = [_cells(one) for one in measured]
    found: dict[str, list[list[str]]] = {}
    for table, op in sorted({key for one in cells for key in one}):
        row = [one.get((table, op), "") for one in cells]
        # Ignores the digits of a number and the words of an error.
        if len({re.sub(r": (\d\.\de[-+]\d\d|`.*)$", "", cell) for cell in row}) > 1:
            found.setdefault(table, []).append([op, *row])
    return {"versions": [one["tensorflow"] for one in measured], "tables": found}


def _cells(measured: Measured) -> dict[tuple[str, str], str]:
    """The worst case of each op, by table and op."""
    cells = {("python_none", op): "none" for op in measured["python_none"]}
    for table, rows in measured["tables"].items():
        for op, case, *rest in rows:
            cells[table, op] = f"{case}: {rest[1]}" if len(rest) > 1 else case
    return cells


def _why(table: str, op: str) -> str:
    reasons = REASONS.get(table.partition("_")[0], {})
    return "; ".join(why for why, ops in reasons.items() if op in ops.split())


def _table(columns: str, rows: Iterable[Sequence[str]]) -> list[str]:
    head = [f"| {columns} |", "|---" * (columns.count("|") + 1) + "|"]
    return [*head, *(f"| {' | '.join(row)} |" for row in rows), ""]


def markdown(data: Mapping[str, Any]) -> str:
    """The tables, headings first."""
    newest = data["newest"]
    lines = [
        "## All differences",
        "",
        f"With TensorFlow {newest['tensorflow']}. The client gradients come from "
        f"{newest['client_cases']} cases of {newest['client_ops']} ops; this library replaces "
        f"those of {newest['stand_ins']} ops. The function gradients come from "
        f"{newest['function_cases']} cases of {newest['function_ops']} ops.",
        "",
    ]
    for table, (heading, columns) in TABLES.items():
        rows = newest["tables"][table]
        if columns.endswith("why") and table != "only_in_python":
            rows = [[*row, _why(table, row[0])] for row in rows]
        lines += [f"### {heading}", "", *_table(columns, rows)]
        if table == "python_fails":
            lines += [f"### {_NONE}", "", *textwrap.wrap(", ".join(newest["python_none"]), 100)]
            others = ", ".join(newest["not_in_python"])
            lines += ["", f"Only in C and C++, because graph functions compute it: {others}."]
            lines += [""]
    versions = data["by_version"]["versions"]
    lines += ["### Between versions of TensorFlow", ""]
    lines += ["A cell is the op's worst case; it is empty if nothing differs.", ""]
    for table, rows in data["by_version"]["tables"].items():
        lines += [f"**{_HEADINGS[table]}**", "", *_table(" | ".join(["op", *versions]), rows)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", nargs="+", type=pathlib.Path, metavar="JSON")
    measured = parser.parse_args().record
    if measured:
        record(json.loads(path.read_text(encoding="utf-8")) for path in measured)
    else:
        sys.stdout.write(markdown(recorded()))


if __name__ == "__main__":
    main()
