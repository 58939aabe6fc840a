# SPDX-License-Identifier: Apache-2.0
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
from checking import Check
from device import Device, DeviceError, NoDeviceError, NoMemoryError, find_library
from rivals import PyTorch

EXIT_SKIPPED = 77  # what automake's test drivers take for "skipped"
_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=pathlib.Path, help="libkernels.so")
    parser.add_argument("--only", default="", help="checks whose name contains this")
    parser.add_argument(
        "--share",
        default="0/1",
        help="2/5: of the checks that would run, those that a third process of five is to run",
    )
    parser.add_argument("--no-checks", action="store_true", help="time only")
    parser.add_argument("--no-times", action="store_true", help="check only")
    parser.add_argument("--no-large", action="store_true", help="no tensors > 2^31")
    parser.add_argument(
        "--seconds",
        type=float,
        default=math.inf,
        help="begin nothing after these; checks then come in a random order, so that "
        "those that fit are of all kernels",
    )
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


def _checks(arguments: argparse.Namespace) -> list[tuple[str, Check]]:
    checks = list(families.all_checks())
    if not arguments.no_large:
        checks += families.large_checks()
    if arguments.seconds < math.inf:
        random.Random(0).shuffle(checks)
    checks = [(name, check) for name, check in checks if arguments.only in name]
    share, shares = map(int, arguments.share.split("/"))
    return checks[share::shares]


def run_checks(device: Device, arguments: argparse.Namespace, deadline: float) -> int:
    """Runs the checks and prints what fails; returns how many do."""
    counts = {"passed": 0, "failed": 0, "skipped": 0, "left out": 0}
    began = time.monotonic()
    checks = _checks(arguments)
    if not checks:
        print(f"FAILED   no check has {arguments.only!r} in its name")
        return 1
    for name, check in checks:
        if time.monotonic() > deadline:
            counts["left out"] += 1
            continue
        try:
            check(device)
        except NoMemoryError as reason:
            counts["skipped"] += 1
            print(f"skipped  {name}: {reason}", flush=True)
        except AssertionError as failure:
            counts["failed"] += 1
            print(f"FAILED   {name}: {failure}", flush=True)
        else:
            counts["passed"] += 1
    took = time.monotonic() - began
    said = ", ".join(f"{count} {what}" for what, count in counts.items())
    print(f"{said} in {took:.0f} s", flush=True)
    return counts["failed"]


def _under_sanitizer(arguments: argparse.Namespace, library: pathlib.Path) -> int:
    """Runs the checks again as a child of compute-sanitizer."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    found = shutil.which("compute-sanitizer") or shutil.which(f"{home}/bin/compute-sanitizer")
    if not found:
        print("skipped: no compute-sanitizer on PATH or in $CUDA_HOME/bin")
        return EXIT_SKIPPED
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
    try:
        library = arguments.library or find_library()
        device = Device(library, guards=not arguments.no_guards)
    except NoDeviceError as reason:
        print(f"skipped: {reason}")
        return EXIT_SKIPPED
    if arguments.sanitizer:
        return _under_sanitizer(arguments, library)
    print(device.description, flush=True)
    try:
        pytorch = PyTorch() if arguments.pytorch else None
    except ImportError as reason:
        print(f"skipped: --pytorch: {reason}")
        return EXIT_SKIPPED
    try:
        if not arguments.no_checks and run_checks(device, arguments, deadline):
            return 1
        if not arguments.no_times:
            size = arguments.megabytes << 20
            if pytorch:
                print(f"PyTorch {pytorch.version}")
            timing.print_table(device, size, arguments.only, deadline, pytorch)
    except DeviceError as error:  # nothing works on a device after it
        print(f"FAILED   {error}")
        return 1
    return 0


def main() -> int:
    """Does what the command line says; returns the exit status."""
    arguments = _arguments()
    if arguments.output is None:
        return _run(arguments)
    with arguments.output.open("w") as file, contextlib.redirect_stdout(_Tee(sys.stdout, file)):
        return _run(arguments)


if __name__ == "__main__":
    sys.exit(main())
