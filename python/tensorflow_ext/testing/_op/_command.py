"""The command `check` of `python -m tensorflow_ext`."""

import argparse
import pathlib
import sys

import tensorflow as tf

from tensorflow_ext.testing._op._check import check_library, check_op
from tensorflow_ext.testing._op._worker import CHECKS


class CheckError(Exception):
    """The check cannot run; the message says why."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments to its parser."""
    parser.add_argument("what", help="a library, such as ./libmy_ops.so, or an op, such as 'My>Op'")
    parser.add_argument(
        "--library", action="append", default=[], metavar="PATH", help="the library of the op"
    )
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        help="a Python module to import, because it registers gradients or rules of "
        "tf.vectorized_map; may be repeated",
    )
    parser.add_argument(
        "--check",
        action="append",
        choices=CHECKS,
        help="run only this check; may be repeated (default: all)",
    )
    parser.add_argument(
        "--leave-out", action="append", default=[], choices=CHECKS, help="skip this check"
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=16,
        help="the largest number of attribute combinations to check (default: 16)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        help="time limit of a single call, in seconds (default: 120)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs the checks, prints the table, and exits with 1 if there is a fault."""
    how = {
        "checks": arguments.check,
        "leave_out": arguments.leave_out,
        "samples": arguments.samples,
        "timeout": arguments.timeout,
        "modules": arguments.module,
        "raise_error": False,
    }
    try:
        if pathlib.Path(arguments.what).is_file():
            report = check_library(arguments.what, **how)
        else:
            for library in arguments.library:
                tf.load_library(library)
            report = check_op(arguments.what, **how)
    except (RuntimeError, ValueError, tf.errors.OpError) as error:
        message = getattr(error, "message", str(error))
        raise CheckError(message) from error
    print(report)
    if not report.passed:
        sys.exit(1)
