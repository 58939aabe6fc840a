"""Where the time of a build went, from Bazel's profile, as a table in Markdown.

    bazel build --profile=/tmp/profile.gz //tensorflow_ext:libtensorflow_ext.so
    .venv/bin/python tools/build_times.py /tmp/profile.gz

Seconds are the running times of the actions, added up over the cores. Several profiles give a
column each.
"""

import argparse
import dataclasses
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

# The kinds of actions, by their progress message; the first match counts.
_KINDS = {
    "XLA's headers": r"Compiling tensorflow_ext/xla/.*",
    "ops/: CUDA kernels, `*.cu.cc`": r".*\.cu\.cc",
    "ops/: loops, `*_cpu.cc`": r"Compiling tensorflow_ext/ops/.*_cpu\.cc",
    "ops/: the rest": r"Compiling tensorflow_ext/ops/.*",
    "gradient/": r"Compiling tensorflow_ext/gradient/.*",
    "stock_gradients/": r"Compiling tensorflow_ext/stock_gradients/.*",
    "tests and examples, C and C++": r"Compiling (tests|examples)/.*",
    "links": r"Linking .*",
    "tests": r"Testing .*",
}
_OTHER = "the rest"
_MICROSECONDS = 1e6


@dataclasses.dataclass
class Total:
    """The actions of one kind: their number and their seconds."""

    count: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.seconds += seconds


@dataclasses.dataclass
class Profile:
    """One run of Bazel.

    Attributes:
      wall: Its seconds from beginning to end.
      kinds: The actions by kind, as in `_KINDS`.
      tests: The seconds of each test target, added up over its shards.
    """

    wall: float
    kinds: dict[str, Total]
    tests: dict[str, Total]


def _kind(message: str) -> str:
    for kind, pattern in _KINDS.items():
        if re.fullmatch(pattern, message):
            return kind
    return _OTHER


def read(path: Path) -> Profile:
    """Reads a `bazel --profile` file, compressed or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    profile = Profile(0.0, defaultdict(Total), defaultdict(Total))
    for event in events:
        if "ts" in event:
            end = (event["ts"] + event.get("dur", 0)) / _MICROSECONDS
            profile.wall = max(profile.wall, end)
        if event.get("cat") != "action processing":
            continue
        seconds = event["dur"] / _MICROSECONDS
        kind = _kind(event["name"])
        profile.kinds[kind].add(seconds)
        if kind == "tests":
            profile.tests[event["name"].split()[1]].add(seconds)
    return profile


def _table(
    title: str, rows: Iterable[str], columns: list[dict[str, Total]], totals: list[str]
) -> str:
    lines = [
        f"| {title} |" + " actions | seconds |" * len(columns),
        "|---|" + "--:|--:|" * len(columns),
    ]
    for row in rows:
        cells = [column.get(row, Total()) for column in columns]
        numbers = "".join(f" {cell.count} | {cell.seconds:.0f} |" for cell in cells)
        lines.append(f"| {row} |{numbers}")
    if totals:
        lines.append("| wall clock |" + "".join(f" | {total} |" for total in totals))
    return "\n".join(lines)


def render(profiles: list[Profile]) -> str:
    """Two tables: the kinds of actions and, if tests ran, the longest tests."""
    kinds = [profile.kinds for profile in profiles]
    walls = [f"{profile.wall:.0f}" for profile in profiles]
    present = [k for k in [*_KINDS, _OTHER] if any(k in column for column in kinds)]
    text = _table("kind", present, kinds, walls)
    tests = [profile.tests for profile in profiles]
    names = sorted(
        {name for column in tests for name in column},
        key=lambda name: -tests[-1].get(name, Total()).seconds,
    )
    if names:
        text += "\n\n" + _table("test", names, tests, [])
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile", nargs="+", type=Path, help="what --profile wrote")
    print(render([read(path) for path in parser.parse_args().profile]))


if __name__ == "__main__":
    main()
