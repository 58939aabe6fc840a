# SPDX-License-Identifier: Apache-2.0
"""Runs the kernels alone on a GPU: checks them, then times them.

    python3 run.py                            everything
    python3 run.py --sanitizer memcheck       checks under compute-sanitizer
    python3 run.py --only RoiPool --no-times  the checks of one kernel

Needs libkernels.so, NumPy and the driver; no CUDA toolkit, no TensorFlow. Exit
status: 0 all is well, 1 a check failed, 77 there is nothing to run on.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

import families
import large_checks
import timing
from checking import Check
from device import Device, DeviceError, NoDeviceError, find_library

EXIT_SKIPPED = 77  # what automake's test drivers take for "skipped"
_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=pathlib.Path, help="libkernels.so")
    parser.add_argument("--only", default="", help="checks whose name contains this")
    parser.add_argument("--no-times", action="store_true", help="check only")
    parser.add_argument("--no-large", action="store_true", help="no tensors > 2^31")
    parser.add_argument(
        "--megabytes", type=int, default=256, help="a timed tensor's size (256)"
    )
    parser.add_argument(
        "--sanitizer", choices=_TOOLS, help="check under compute-sanitizer"
    )
    return parser.parse_args()


def _all_checks(arguments: argparse.Namespace) -> Iterator[tuple[str, Check]]:
    yield from families.all_checks()
    if not arguments.no_large:
        yield from large_checks.all_checks()


def run_checks(device: Device, arguments: argparse.Namespace) -> int:
    """Runs the checks and prints what fails; returns how many do."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    began = time.monotonic()
    for name, check in _all_checks(arguments):
        if arguments.only not in name:
            continue
        try:
            check(device)
        except large_checks.SkippedError as reason:
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


def _under_sanitizer(tool: str, library: pathlib.Path, only: str) -> int:
    """Runs the checks again as a child of compute-sanitizer."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    found = shutil.which("compute-sanitizer") or shutil.which(
        f"{home}/bin/compute-sanitizer"
    )
    if not found:
        print("skipped: no compute-sanitizer on PATH or in $CUDA_HOME/bin")
        return EXIT_SKIPPED
    options = ["--tool", tool, "--error-exitcode", "1", sys.executable, __file__]
    own = ["--library", str(library), "--no-times", "--no-large", "--only", only]
    return subprocess.run([found, *options, *own], check=False).returncode


def main() -> int:
    """Does what the command line says; returns the exit status."""
    arguments = _arguments()
    try:
        library = arguments.library or find_library()
        device = Device(library)
    except NoDeviceError as reason:
        print(f"skipped: {reason}")
        return EXIT_SKIPPED
    if arguments.sanitizer:
        return _under_sanitizer(arguments.sanitizer, library, arguments.only)
    print(device.description, flush=True)
    try:
        if run_checks(device, arguments):
            return 1
        if not arguments.no_times:
            timing.print_table(device, arguments.megabytes << 20, arguments.only)
    except DeviceError as error:  # nothing works on a device after it
        print(f"FAILED   {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
