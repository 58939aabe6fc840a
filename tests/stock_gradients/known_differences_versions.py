# SPDX-License-Identifier: Apache-2.0
"""Prints docs/known_differences_versions.md: what else differs in which TensorFlow.

As a program: python known_differences_versions.py PAGE...
Each page is what known_differences.py printed with one TensorFlow.
"""

import argparse
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

# What a page says of an op under a heading, by (heading, op).
Said = dict[tuple[str, str], str]

_HEAD = """\
# Where gradients differ, by version

[Where gradients differ](known_differences.md) is of TensorFlow {newest}. That page,
made with each of TensorFlow {versions}, says the same of every op that is not listed
here. A cell is the op's worst case there and how many more differ; an empty one means
that none does. This page is what this prints, of the pages that
`./run release-check --only 'known-differences-*'` makes:

    .venv/bin/python tests/stock_gradients/known_differences_versions.py \\
      out/known_differences-*.md
"""
_NONE_IN_PYTHON = "No gradient at all in Python"


def version(page: str) -> str:
    """The TensorFlow that a page is of.

    Raises:
      ValueError: It names none.
    """
    found = re.search(r"TensorFlow (\d+\.\d+\.\d+)", page)
    if not found:
        raise ValueError("expected a page of known_differences.py; it names no version")
    return found[1]


def said(page: str) -> Said:
    """What the tables of a page say, and its list of ops that Python lacks."""
    found: Said = {}
    heading, names = "", False
    for line in page.splitlines():
        if line.startswith("## "):
            heading, names = line.removeprefix("## "), False
        elif line.startswith("| ") and not line.startswith("| op |"):
            op, case, *rest = re.split(r" *\| *", line.strip("| "))
            found[heading, op] = f"{case}: {rest[1]}" if len(rest) > 1 else case
        elif line.startswith(_NONE_IN_PYTHON):
            names = True
        elif line.endswith(":"):
            names = False
        elif names and line:
            ops = re.findall(r"\w+", line)
            found |= {(_NONE_IN_PYTHON, op): "none" for op in ops}
    return found


def _is_another(texts: Sequence[str]) -> bool:
    """Whether versions disagree: in more than a number's digits or an error's words."""
    found = {re.sub(r": (\d\.\de[-+]\d\d|`.*)$", "", text) for text in texts}
    return len(found) > 1


def rows(pages: Mapping[str, Said]) -> Iterator[tuple[str, list[str]]]:
    """Headings, and the rows under them, of what is not the same in all versions."""
    keys = {key: None for page in pages.values() for key in page}
    headings = {heading: None for heading, _ in keys}
    for wanted in headings:
        lines = []
        for heading, op in sorted(keys):
            texts = [page.get((heading, op), "") for page in pages.values()]
            if heading == wanted and _is_another(texts):
                lines.append(f"| {' | '.join([op, *texts])} |")
        if lines:
            yield wanted, lines


def document(pages: Sequence[str]) -> str:
    by_version = {version(page): said(page) for page in pages}
    versions = sorted(by_version, key=lambda name: [*map(int, name.split("."))])
    in_order = {name: by_version[name] for name in versions}
    lines = [_HEAD.format(newest=versions[-1], versions=", ".join(versions))]
    for heading, found in rows(in_order):
        lines += [
            f"## {heading}",
            "",
            f"| op | {' | '.join(versions)} |",
            "|---" * (len(versions) + 1) + "|",
            *found,
            "",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    pages = [path.read_text(encoding="utf-8") for path in parser.parse_args().pages]
    sys.stdout.write(document(pages))


if __name__ == "__main__":
    main()
