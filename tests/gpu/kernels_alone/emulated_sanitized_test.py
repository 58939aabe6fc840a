# SPDX-License-Identifier: Apache-2.0
"""The kernels on the emulator, built with AddressSanitizer and UBSan.

They see what memcheck sees on a GPU, reads beside a buffer above all, and more:
overflows, shifts, conversions, accesses that are not aligned.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

_HERE = pathlib.Path(__file__).absolute().parent
_LIBRARY = _HERE / "libkernels_emulated_address.so"
_RUNTIMES = ("libasan.so", "libubsan.so")


def _run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a program with the runtimes of the sanitizers, which the compiler knows,
    in front of all other libraries."""
    runtimes = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.strip()
        for name in _RUNTIMES
    ]
    options = {
        "ASAN_OPTIONS": "detect_leaks=0",  # Python frees nothing at its end.
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "LD_PRELOAD": ":".join(runtimes),
    }
    return subprocess.run(
        [sys.executable, "-P", _HERE / program, *map(str, arguments)],
        env={**os.environ, **options},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_no_fault_in_the_kernels() -> None:
    options = ["--library", _LIBRARY, "--no-guards", "--no-large", "--no-times"]
    run = _run("run.py", *options)
    report = run.stdout[-8000:]
    assert run.returncode == 0, report
    summary = re.search(r"(\d+) passed, 0 failed, 0 skipped, 0 left out", report)
    assert summary, report
    assert int(summary[1]) > 500


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("ReadsBehind", "heap-buffer-overflow"),
        ("WritesBehindShared", "index 64 out of bounds"),
    ],
)
def test_a_fault_is_found(fault: str, found: str) -> None:
    run = _run("faulty_kernels.py", _LIBRARY, fault)
    assert run.returncode != 0
    assert found in run.stdout
