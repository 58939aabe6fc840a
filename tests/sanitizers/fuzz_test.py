"""Bad inputs for kernels that are built with AddressSanitizer and UBSan."""

import os
import pathlib
import re
import subprocess

import pytest
import sanitized_process
from commit_sampling import turn_of_commit

_HERE = pathlib.Path(__file__).absolute().parent
# FUZZ_CALLS=1000000 takes ten minutes. A commit makes some of these calls.
_CALLS = int(os.environ.get("FUZZ_CALLS", "6000"))
_FIRST = 0 if "FUZZ_CALLS" in os.environ else turn_of_commit("fuzz", range(0, 8000, 100))[0]


def _fuzz(*options: object) -> subprocess.CompletedProcess[str]:
    library = _HERE / "libkernels_address.so"
    return sanitized_process.run("address", _HERE / "fuzz.py", library, *options)


def test_every_op_refuses_or_computes(capsys: pytest.CaptureFixture[str]) -> None:
    run = _fuzz("--count", _CALLS, "--from", _FIRST)
    report = run.stdout[-8000:]
    assert run.returncode == 0, report
    summary = re.search(r"(\d+) ops, (\d+) calls: (\d+) accepted, (\d+) refused", report)
    assert summary, report
    _, calls, accepted, refused = map(int, summary.groups())
    assert calls >= _CALLS
    # Some calls succeed and some fail, so both sides of the checks are reached.
    assert accepted > calls / 10
    assert refused > calls / 10
    with capsys.disabled():  # the release check shows it
        print(f"\n{summary.group()}")


@pytest.mark.parametrize(
    ("fault", "found"),
    turn_of_commit(
        "faults",
        [
            ("ReadBeyond", "AddressSanitizer: heap-"),  # a gap, or freed memory
            ("Overflow", "signed integer overflow"),
        ],
        "tests/sanitizers/",
    ),
)
def test_a_fault_is_found(fault: str, found: str) -> None:
    run = _fuzz("--only", f"TfExtFaulty>{fault}")
    assert run.returncode != 0
    assert found in run.stdout
