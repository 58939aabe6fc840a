"""Training with tapes from several threads, with tapes and gradients built with AddressSanitizer,
LeakSanitizer and ThreadSanitizer.
"""

import os
import pathlib
import subprocess

import pytest
import sanitized_process
from commit_sampling import turn_of_commit

_PROGRAMS = {
    sanitizer: pathlib.Path(os.environ[f"TAPE_STEPS_{sanitizer.upper()}"]).absolute()
    for sanitizer in ("address", "thread")
}
_THREADS = 4
# TAPE_STEPS=10000 takes some minutes.
_STEPS = int(os.environ.get("TAPE_STEPS", "40"))


def _run(folder: pathlib.Path, sanitizer: str, *op: str) -> subprocess.CompletedProcess[str]:
    # The tables of gradients, which static initializers fill, stay until the process ends.
    suppressions = folder / "suppressions"
    suppressions.write_text("leak:call_init\n")
    return sanitized_process.run(
        sanitizer,
        _PROGRAMS[sanitizer],
        _THREADS,
        _STEPS,
        *op,
        ASAN_OPTIONS="detect_leaks=1",
        LSAN_OPTIONS=f"suppressions={suppressions}",
    )


@pytest.mark.parametrize("sanitizer", _PROGRAMS)
def test_no_faults(tmp_path: pathlib.Path, sanitizer: str) -> None:
    run = _run(tmp_path, sanitizer)
    assert run.returncode == 0, run.stdout[-8000:]
    assert f"{_STEPS} steps: " in run.stdout


@pytest.mark.parametrize(
    ("sanitizer", "op", "report", "function"),
    turn_of_commit(
        "tapes",
        [
            ("address", "Copy", "LeakSanitizer: detected memory leaks", "LeakingGradient"),
            ("address", "CopyHost", "heap-buffer-overflow", "BeyondGradient"),
            ("thread", "DeepCopy", "data race", "CountingGradient"),
        ],
        "tests/sanitizers/",
    ),
)
def test_a_fault_is_found(
    tmp_path: pathlib.Path, sanitizer: str, op: str, report: str, function: str
) -> None:
    run = _run(tmp_path, sanitizer, op)
    assert run.returncode != 0
    assert report in run.stdout, run.stdout[-8000:]
    assert function in run.stdout
