"""The kernels on the emulator, built with AddressSanitizer and UBSan.

They find what memcheck finds on a GPU, especially reads outside a buffer, and more: overflows,
shifts, conversions, misaligned accesses.
"""

import pathlib
import re
import subprocess

import families
import pytest
import sanitized_process

_HERE = pathlib.Path(__file__).absolute().parent
_LIBRARY = _HERE / "libkernels_emulated_address.so"
_SHARES = 4  # of the checks, so processes can divide them
_CHECKS = list(families.all_checks())


def _run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return sanitized_process.run("address", _HERE / program, *arguments)


@pytest.mark.parametrize("share", range(_SHARES))
def test_no_fault_in_the_kernels(share: int) -> None:
    options = ["--library", _LIBRARY, "--no-guards", "--no-large", "--no-times"]
    run = _run("run.py", *options, "--share", f"{share}/{_SHARES}")
    report = run.stdout[-8000:]
    assert run.returncode == 0, report
    summary = re.search(r"(\d+) passed, 0 failed, 0 skipped, 0 left out", report)
    assert summary, report
    assert int(summary[1]) == len(_CHECKS[share::_SHARES])


def test_shares_hold_many_checks() -> None:
    assert len(_CHECKS) > 500


@pytest.mark.parametrize(
    ("fault", "found"),
    [("ReadsBehind", "heap-buffer-overflow"), ("WritesBehindShared", "index 64 out of bounds")],
)
def test_a_fault_is_found(fault: str, found: str) -> None:
    run = _run("faulty_kernels.py", _LIBRARY, fault)
    assert run.returncode != 0
    assert found in run.stdout
