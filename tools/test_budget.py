"""The tests' time budgets, tests/budget.bzl, and the time that a `bazel test` took.

A second of a share is a second of a test process, added up over its shards and attempts, on 2 fast
cores that run two at a time. Slow cores (an EPYC of the first generation) take about twice as long.
"""

import ast
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

BUDGET = Path(__file__).resolve().parents[1] / "tests" / "budget.bzl"
MOST_IN_ALL = 1800
_NAME = "CORE_SECONDS = "
_MOST_LINES = 10


def read_shares(path: Path = BUDGET) -> dict[str, int]:
    """The budget of each target, in seconds."""
    return ast.literal_eval(path.read_text(encoding="utf-8").partition(_NAME)[2])


def write_shares(measured: Mapping[str, float], path: Path = BUDGET) -> None:
    """Sets the budget of each target that ran to its measured seconds; keeps the others."""
    shares = read_shares(path) | {name: max(1, math.ceil(s)) for name, s in measured.items()}
    lines = [f'    "{name}": {share},\n' for name, share in sorted(shares.items())]
    head = path.read_text(encoding="utf-8").partition(_NAME)[0]
    path.write_text(f"{head}{_NAME}{{\n{''.join(lines)}}}\n", encoding="utf-8")


def measured_seconds(events: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The seconds of each target that ran, from Bazel's build events."""
    seconds: dict[str, float] = defaultdict(float)
    for event in events:
        key, result = event["id"].get("testResult"), event.get("testResult")
        # Counts the first run of --runs_per_test; a cached result has taken no time.
        if key and result and int(key.get("run", 1)) == 1 and not result.get("cachedLocally"):
            seconds[key["label"]] += int(result.get("testAttemptDurationMillis", 0)) / 1000
    return dict(seconds)


def over_share(measured: Mapping[str, float], shares: Mapping[str, int]) -> list[str]:
    """A table of the targets that exceeded their budgets most; empty if none did.

    An excess of a tenth plus a second is ignored, because times vary between runs.
    """
    over = {
        name: took - shares[name]
        for name, took in measured.items()
        if took > 1.1 * shares.get(name, took) + 1
    }
    if not over:
        return []
    worst = sorted(over, key=lambda name: -over[name])[:_MOST_LINES]
    return [
        f"over their share of the time (tests/budget.bzl), in seconds: {len(over)} targets",
        "  took  share",
        *(f"{measured[name]:6.0f} {shares[name]:6d}  {name}" for name in worst),
    ]
