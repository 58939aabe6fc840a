# SPDX-License-Identifier: Apache-2.0
"""The rows of docs/benchmarks.md that measure an op."""

import functools
import pathlib
import re

_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
# The columns to show: case, ours, rival, ratio.
_COLUMNS = (0, 1, 3, 5)


def tables_of(op: str) -> dict[str, str]:
    """A table for each section that measures an op, as Markdown, by its heading.

    Args:
      op: The op's name without its namespace.
    """
    word = re.compile(rf"(?<![\w>]){op}(Grad)?(?![\w])")
    tables = {}
    for heading, (header, rows) in _sections().items():
        about = word.search(heading) is not None and " and " not in heading
        chosen = [row for row in rows if about or word.search(row[0].split(">")[-1])]
        if chosen:
            lines = [header, ["---", "--:", "---", "--:"]]
            lines += [[row[i] for i in _COLUMNS] for row in chosen]
            tables[heading] = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return tables


@functools.cache
def _sections() -> dict[str, tuple[list[str], list[list[str]]]]:
    """By heading: the chosen columns' names, and all rows."""
    found: dict[str, tuple[list[str], list[list[str]]]] = {}
    heading, case = "", ""
    for line in _PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        if not line.startswith("| ") or not heading:
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[0] == "case":
            found[heading] = ([cells[i] for i in _COLUMNS], [])
        elif heading in found:
            case = cells[0] or case
            found[heading][1].append([case, *cells[1:]])
    return found
