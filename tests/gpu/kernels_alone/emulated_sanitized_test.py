"""The kernels on the emulator, built with AddressSanitizer and UBSan.

They find what memcheck finds on a GPU, especially reads outside a buffer, and more: overflows,
shifts, conversions, misaligned accesses.
"""

import pathlib
import subprocess

import emulated
import pytest
import sanitized_process
from commit_sampling import turn_of_commit

_HERE = pathlib.Path(__file__).absolute().parent
_LIBRARY = _HERE / "libkernels_emulated_address.so"


def _run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return sanitized_process.run("address", _HERE / program, *arguments)


def test_no_fault_in_the_kernels(tmp_path: pathlib.Path) -> None:
    checks = emulated.of_commit("sanitized")
    assert len(checks) > 200
    names = tmp_path / "names"
    names.write_text("\n".join(checks))
    options = ["--library", _LIBRARY, "--no-guards", "--no-large", "--no-times"]
    run = _run("run.py", *options, "--names", names)
    report = run.stdout[-8000:]
    assert run.returncode == 0, report
    assert f"{len(checks)} passed, 0 failed, 0 skipped, 0 left out" in report


@pytest.mark.parametrize(
    ("fault", "found"),
    turn_of_commit(
        "faults",
        [("ReadsBehind", "heap-buffer-overflow"), ("WritesBehindShared", "index 64 out of bounds")],
        "tests/gpu/",
        "tests/sanitizers/",
    ),
)
def test_a_fault_is_found(fault: str, found: str) -> None:
    run = _run("faulty_kernels.py", _LIBRARY, fault)
    assert run.returncode != 0
    assert found in run.stdout
