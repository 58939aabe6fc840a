"""A program that runs checks on a GPU: its options and its output."""

import argparse
import math
import pathlib
import time
from collections.abc import Callable, Iterable

EXIT_SKIPPED = 77  # the exit status of automake's test drivers

Checks = Iterable[tuple[str, Callable[[], None]]]


class SkippedError(Exception):
    """There is no device, or no memory for a check; the message says which."""


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Makes a parser with the options that `run_checks` takes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="checks whose name contains this")
    parser.add_argument("--names", type=pathlib.Path, help="a file of checks, one a line")
    parser.add_argument(
        "--share",
        default="0/1",
        help="2/5: of these checks, those that a third process of five must run",
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin nothing after these")
    return parser


def run_checks(
    checks: Checks,
    arguments: argparse.Namespace,
    failures: tuple[type[Exception], ...] = (AssertionError,),
) -> int:
    """Runs the chosen checks, prints the outcome, and returns the number of failures.

    Args:
      checks: All checks, by name.
      arguments: The parser's result.
      failures: The exceptions that a failing check raises.
    """
    began = time.monotonic()
    chosen = [(name, check) for name, check in checks if arguments.only in name]
    if arguments.names:
        names = set(arguments.names.read_text().splitlines())
        chosen = [(name, check) for name, check in chosen if name in names]
    if not chosen:
        print(f"FAILED   no check has {arguments.only!r} in its name")
        return 1
    share, shares = map(int, arguments.share.split("/"))
    counts = {"passed": 0, "failed": 0, "skipped": 0, "left out": 0}
    for name, check in chosen[share::shares]:
        if time.monotonic() > began + arguments.seconds:
            counts["left out"] += 1
            continue
        try:
            check()
        except SkippedError as reason:
            counts["skipped"] += 1
            print(f"skipped  {name}: {reason}", flush=True)
        except failures as failure:
            counts["failed"] += 1
            print(f"FAILED   {name}: {failure}", flush=True)
        else:
            counts["passed"] += 1
    said = ", ".join(f"{count} {what}" for what, count in counts.items())
    print(f"{said} in {time.monotonic() - began:.0f} s", flush=True)
    return counts["failed"]
