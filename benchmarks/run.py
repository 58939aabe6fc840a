# SPDX-License-Identifier: Apache-2.0
"""Measures everything side by side; prints one table and draws one picture.

Ratios are our time over the rival's: below 1 we are faster. They are medians of
interleaved rounds in this process, on this machine, now.
"""

import argparse
import importlib
import pathlib
import sys
from collections.abc import Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "gradients")]

import measure  # noqa: E402

SUITES = (
    "eager",
    "chains",
    "networks",
    "kernels",
    "activations",
    "normalization",
    "roi_pool",
    "roi_align",
    "resampler",
    "correlation_cost",
    "embedding_bag",
    "clip_by_global_norm",
)


def print_table(console: Console, results: Sequence[measure.Result]) -> None:
    table = Table(title="Time over the rival's; below 1 is faster")
    for heading in ("what", "case", "rival"):
        table.add_column(heading)
    for heading in ("time", "ratio", "bar"):
        table.add_column(heading, justify="right")
    table.add_column("note")
    for result in results:
        table.add_row(
            result.group,
            result.case,
            result.rival,
            _in_units(result.seconds),
            f"[{'green' if result.reached else 'red'}]{result.ratio:.2f}[/]",
            "" if result.bar is None else f"{result.bar:.2f}",
            result.note,
        )
    console.print(table)


def _in_units(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def draw(results: Sequence[measure.Result], file: pathlib.Path) -> None:
    """A bar a result: the ratio, on a logarithmic axis, with its bar marked."""
    height = 1.2 + 0.27 * len(results)
    figure, axes = plt.subplots(figsize=(10, height), layout="constrained")
    for row, result in enumerate(reversed(results)):
        axes.barh(row, result.ratio, color="tab:green" if result.reached else "tab:red")
        axes.text(
            result.ratio * 1.02,
            row,
            f"{result.ratio:.2f}",
            va="center",
            fontsize=8,
            zorder=3,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )
        if result.bar is not None:
            axes.plot([result.bar] * 2, [row - 0.4, row + 0.4], "k", linewidth=1.5)
    axes.set_yticks(
        range(len(results)),
        [f"{r.group}: {r.case}  |  {r.rival}" for r in reversed(results)],
        fontsize=8,
    )
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.margins(x=0.08, y=0.01)
    axes.set_xlabel("time over the rival's (left is faster); black: the bar")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {SUITES}")
    parser.add_argument(
        "--picture", type=pathlib.Path, default=ROOT / "out" / "benchmarks.png"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(SUITES)
    if unknown:
        parser.error(f"no suite {sorted(unknown)}; expected of {SUITES}")

    # Where nobody says how wide the screen is, as wide as the table.
    console = Console(width=None if sys.stdout.isatty() else 150)
    results: list[measure.Result] = []
    for suite in track(arguments.suites or SUITES, "measuring", console=console):
        results += importlib.import_module(suite).run()
    print_table(console, results)
    draw(results, arguments.picture)
    console.print(f"picture: {arguments.picture}")


if __name__ == "__main__":
    main()
