"""Measures everything side by side; prints one table and draws pictures.

Ratios are our time divided by the rival's: below 1 we are faster. They are medians of
alternating rounds in one process on this machine, and are saved to
out/benchmarks.json. The exit status is 1 if a suite could not be measured or, with
--against, if a row got slower; otherwise 0.
"""

import argparse
import importlib
import pathlib
import sys
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool

import tensorflow as tf
from rich.console import Console
from rich.progress import track

ROOT = pathlib.Path(__file__).resolve().parents[1]
_TESTS = ROOT / "tests"
sys.path[:0] = [
    str(folder)
    for folder in (
        ROOT / "benchmarks",
        _TESTS,
        *(_TESTS / name for name in ("clients/python", "stock_gradients", "python")),
    )
]

import machine  # noqa: E402
import measure  # noqa: E402
import pictures  # noqa: E402
import pytorch  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402

SUITES = (
    "eager",
    "tape",
    "chains",
    "networks",
    "models",
    "fine_tune",
    "training_steps",
    "embedding_table",
    "kernels",
    "activations",
    "elementwise",
    "normalization",
    "roi_pool",
    "roi_align",
    "resampler",
    "correlation_cost",
    "embedding_bag",
    "embedding_bag_narrow",
    "clip_by_global_norm",
    "sparsemax",
    "lowerings",
    "growth",
    "call_growth",
    "threads",
    "many_threads",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"some of {SUITES}")
    parser.add_argument(
        "--picture",
        type=pathlib.Path,
        default=ROOT / "out" / "benchmarks.png",
        metavar="FILE",
        help="the picture of the ratios (default: %(default)s)",
    )
    parser.add_argument(
        "--markdown",
        type=pathlib.Path,
        metavar="FILE",
        help="write a summary and all rows to this Markdown file, with pictures next to it",
    )
    parser.add_argument(
        "--update",
        type=pathlib.Path,
        metavar="FILE",
        help="the rows of an earlier run, as JSON or gzipped JSON: replace those of the measured "
        "suites",
    )
    parser.add_argument(
        "--from",
        dest="measured",
        type=pathlib.Path,
        metavar="FILE",
        help="measure nothing, but show the rows of an earlier run",
    )
    parser.add_argument(
        "--against",
        type=pathlib.Path,
        metavar="FILE",
        help="the rows of an earlier run: print the ratios that changed by more than the noise",
    )
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(SUITES)
    if unknown:
        parser.error(f"no suite {sorted(unknown)}; expected some of {SUITES}")

    try:
        before = results.load(arguments.against) if arguments.against else None
        kept = results.load(arguments.update) if arguments.update else {}
        record = results.load(arguments.measured) if arguments.measured else {}
        if arguments.suites:
            record = {name: record[name] for name in arguments.suites if name in record}
    except (OSError, ValueError) as error:
        parser.error(str(error))

    # If the screen width is unknown, it is the width of the table.
    console = Console(width=None if sys.stdout.isatty() else 170)
    ended = []
    if not arguments.measured:
        record, ended = _measure_all(arguments.suites or SUITES, console)
    if not record:
        return 1
    if arguments.update:
        updated = kept | record
        results.save({name: updated[name] for name in SUITES if name in updated}, arguments.update)
    rows = [row for suite in record.values() for row in suite.results]
    report.print_table(console, rows)
    pictures.draw_ratios(rows, arguments.picture)
    pictures.draw_growth(rows, arguments.picture)
    console.print(f"pictures: {arguments.picture} and in the same folder")
    if arguments.markdown:
        names = pictures.draw_growth(rows, arguments.markdown)
        report.write_markdown(record, names, arguments.markdown)
        console.print(f"table: {arguments.markdown}")
    if pytorch.torch is None and not arguments.measured:
        console.print(pytorch.HOW_TO_INSTALL)
    if before is None:
        return int(bool(ended))
    moves = list(results.moves(before, record))
    machines = list(results.other_machines(before, record))
    report.print_moves(console, moves, arguments.against, machines)
    return int(bool(ended) or any(move.is_slower for move in moves))


def _measure_all(suites: Sequence[str], console: Console) -> tuple[results.Record, list[str]]:
    """The measurements, and the suites whose processes were killed."""
    record: results.Record = {}
    ended = []
    machine.keep_freed_memory()
    measured_on = machine.describe()
    for suite in track(suites, "measuring", console=console):
        try:
            rows = measure.in_own_process(_measure, suite)
        except BrokenProcessPool:
            ended.append(suite)
            console.print(f"{suite}: its process was killed. Did it run out of memory?")
            continue
        record[suite] = results.measured_today(rows, measured_on)
        # Saves after each suite, so that an interrupted run keeps its measurements.
        results.save(record, ROOT / "out" / "benchmarks.json")
    return record, ended


def _measure(suite: str) -> list[results.Result]:
    # Otherwise it warns about many traced functions as if one were traced often.
    tf.get_logger().setLevel("ERROR")
    return importlib.import_module(suite).run()


if __name__ == "__main__":
    sys.exit(main())
