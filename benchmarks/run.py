# SPDX-License-Identifier: Apache-2.0
"""Measures everything side by side; prints one table and draws one picture.

Ratios are our time over the rival's: below 1 we are faster. They are medians of
interleaved rounds in this process, on this machine, now.
"""

import argparse
import importlib
import pathlib
import sys

import tensorflow as tf
from rich.console import Console
from rich.progress import track

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [
    str(ROOT / folder)
    for folder in ("benchmarks", "tests/stock_gradients", "tests/python")
]

import measure  # noqa: E402
import pytorch  # noqa: E402
import report  # noqa: E402

SUITES = (
    "eager",
    "chains",
    "networks",
    "fine_tune",
    "kernels",
    "activations",
    "elementwise",
    "normalization",
    "roi_pool",
    "roi_align",
    "resampler",
    "correlation_cost",
    "embedding_bag",
    "clip_by_global_norm",
    "sparsemax",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {SUITES}")
    parser.add_argument(
        "--picture",
        type=pathlib.Path,
        default=ROOT / "out" / "benchmarks.png",
        metavar="FILE",
        help="where to draw the ratios (default: %(default)s)",
    )
    parser.add_argument(
        "--markdown",
        type=pathlib.Path,
        metavar="FILE",
        help="where to write the table as Markdown, with what it was measured on",
    )
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(SUITES)
    if unknown:
        parser.error(f"no suite {sorted(unknown)}; expected of {SUITES}")

    # Of many functions that are traced once it warns as of one traced often.
    tf.get_logger().setLevel("ERROR")
    # Where nobody says how wide the screen is, as wide as the table.
    console = Console(width=None if sys.stdout.isatty() else 150)
    results: list[measure.Result] = []
    for suite in track(arguments.suites or SUITES, "measuring", console=console):
        results += importlib.import_module(suite).run()
    report.print_table(console, results)
    report.draw(results, arguments.picture)
    console.print(f"picture: {arguments.picture}")
    if arguments.markdown:
        report.write_markdown(results, arguments.markdown)
        console.print(f"table: {arguments.markdown}")
    if pytorch.torch is None:
        console.print(pytorch.HOW_TO_INSTALL)


if __name__ == "__main__":
    main()
