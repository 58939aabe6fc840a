"""Runs the kernels alone on a GPU: checks them, then times them.

    python3 run.py                               everything
    python3 run.py --no-times --output FILE      the checks
    python3 run.py --sanitizer memcheck          the same under compute-sanitizer
    python3 run.py --no-checks --output FILE     the table of times
    python3 run.py --only RoiPool --no-times     the checks of one kernel
    python3 run.py --no-checks --pytorch         the times beside PyTorch's

Needs libkernels.so, NumPy and the driver; no CUDA toolkit, no TensorFlow. Exit
status: 0 all is well, 1 a check failed, 77 there is nothing to run on.
"""

import argparse
import contextlib
import functools
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time
from typing import TextIO

import families
import timing
from check_program import EXIT_SKIPPED, Checks, SkippedError, make_parser, run_checks
from device import Device, DeviceError, find_library
from rivals import PyTorch

_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def _arguments() -> argparse.Namespace:
    parser = make_parser(__doc__)
    parser.add_argument("--library", type=pathlib.Path, help="libkernels.so")
    parser.add_argument("--no-checks", action="store_true", help="time only")
    parser.add_argument("--no-times", action="store_true", help="check only")
    parser.add_argument("--no-large", action="store_true", help="no tensors > 2^31")
    parser.add_argument(
        "--no-guards",
        action="store_true",
        help="no memory beside a buffer, for tools that see what is read there",
    )
    parser.add_argument("--megabytes", type=int, default=256, help="a timed tensor's size (256)")
    parser.add_argument("--pytorch", action="store_true", help="time PyTorch's kernels beside ours")
    parser.add_argument("--sanitizer", choices=_TOOLS, help="check under compute-sanitizer")
    parser.add_argument("--output", type=pathlib.Path, help="a file for what is printed as well")
    return parser.parse_args()


class _Tee:
    """Writes to several files."""

    def __init__(self, *files: TextIO) -> None:
        self._files = files

    def write(self, text: str) -> int:
        for file in self._files:
            file.write(text)
        return len(text)

    def flush(self) -> None:
        for file in self._files:
            file.flush()


def _checks(device: Device, arguments: argparse.Namespace) -> Checks:
    checks = list(families.all_checks())
    if not arguments.no_large:
        checks += families.large_checks()
    if arguments.seconds < math.inf:  # the checks that fit must cover all kernels
        random.Random(0).shuffle(checks)
    return [(name, functools.partial(check, device)) for name, check in checks]


def _under_sanitizer(arguments: argparse.Namespace, library: pathlib.Path) -> int:
    """Runs the checks again as a child of compute-sanitizer."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    found = shutil.which("compute-sanitizer") or shutil.which(f"{home}/bin/compute-sanitizer")
    if not found:
        raise SkippedError("no compute-sanitizer on PATH or in $CUDA_HOME/bin")
    options = ["--tool", arguments.sanitizer, "--error-exitcode", "1"]
    own = ["--library", library, "--no-times", "--no-large", "--no-guards"]
    own += ["--only", arguments.only, "--seconds", str(arguments.seconds)]
    command = [found, *options, sys.executable, __file__, *own]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            print(line, end="", flush=True)
    return child.returncode


def _run(arguments: argparse.Namespace) -> int:
    deadline = time.monotonic() + arguments.seconds
    library = arguments.library or find_library()
    device = Device(library, guards=not arguments.no_guards)
    if arguments.sanitizer:
        return _under_sanitizer(arguments, library)
    print(device.description, flush=True)
    try:
        pytorch = PyTorch() if arguments.pytorch else None
    except ImportError as reason:
        raise SkippedError(f"--pytorch: {reason}") from reason
    if not arguments.no_checks and run_checks(_checks(device, arguments), arguments):
        return 1
    if not arguments.no_times:
        size = arguments.megabytes << 20
        if pytorch:
            print(f"PyTorch {pytorch.version}")
        timing.print_table(device, size, arguments.only, deadline, pytorch)
    return 0


def main() -> int:
    """Runs the command line; returns the exit status."""
    arguments = _arguments()
    with contextlib.ExitStack() as stack:
        if arguments.output:
            file = stack.enter_context(arguments.output.open("w"))
            stack.enter_context(contextlib.redirect_stdout(_Tee(sys.stdout, file)))
        try:
            return _run(arguments)
        except SkippedError as reason:
            print(f"skipped: {reason}")
            return EXIT_SKIPPED
        except DeviceError as error:  # nothing works on a device after it
            print(f"FAILED   {error}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
