"""Every op from many threads, built with ThreadSanitizer."""

import pathlib
import re
import subprocess

import sanitized_process

_HERE = pathlib.Path(__file__).absolute().parent


def _races(*options: object) -> subprocess.CompletedProcess[str]:
    library = _HERE / "libkernels_thread.so"
    return sanitized_process.run("thread", _HERE / "races.py", library, *options)


def test_no_op_races() -> None:
    run = _races()
    report = run.stdout[-8000:]
    assert run.returncode == 0, report
    summary = re.search(r"(\d+) calls from", report)
    assert summary, report
    assert int(summary[1]) > 100


def test_a_race_is_found() -> None:
    run = _races("--only", "TfExtFaulty>Race")
    assert run.returncode != 0
    assert "data race" in run.stdout
