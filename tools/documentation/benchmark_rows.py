"""The rows of docs/benchmarks.json.gz that measure an op."""

import functools
import gzip
import itertools
import json
import pathlib
import re
from typing import Any

_FILE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "benchmarks.json.gz"
_HEADER = "| case | ours | rival | ratio |\n|---|--:|---|--:|"


def tables_of(op: str) -> dict[str, str]:
    """The rows that measure an op: for each group a heading and a Markdown table.

    Args:
      op: The op's name without its namespace.
    """
    word = re.compile(rf"(?<![\w>]){op}(Grad)?(?![\w])")
    tables = {}
    for group, rows in _groups().items():
        about = word.search(group) is not None and " and " not in group
        chosen = [row for row in rows if about or word.search(row["case"].split(">")[-1])]
        if chosen:
            tables[group] = "\n".join([_HEADER, *_lines(chosen)])
    return tables


@functools.cache
def _groups() -> dict[str, list[dict[str, Any]]]:
    suites = json.loads(gzip.decompress(_FILE.read_bytes())).values()
    rows = itertools.chain.from_iterable(suite["results"] for suite in suites)
    return {group: list(own) for group, own in itertools.groupby(rows, lambda row: row["group"])}


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    """The rows; a time that is the same as in the row above is omitted."""
    lines = []
    last = None
    for row in rows:
        case = (row["case"], row["seconds"])
        ours = _time(row["seconds"]) if case != last else ""
        texts = [text.replace("|", "\\|").replace("*", "\\*") for text in (case[0], row["rival"])]
        lines.append(f"| {texts[0]} | {ours} | {texts[1]} | {row['ratio']:.2f} |")
        last = case
    return lines


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"
