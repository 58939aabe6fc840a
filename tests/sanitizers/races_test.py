# SPDX-License-Identifier: Apache-2.0
"""Every op from many threads, built with ThreadSanitizer."""

import re

import kernels


def test_no_op_races() -> None:
    run = kernels.run("thread", "races.py")
    report = run.stdout[-8000:]
    assert run.returncode == 0, report
    summary = re.search(r"(\d+) calls from", report)
    assert summary, report
    assert int(summary[1]) > 100


def test_a_race_is_found() -> None:
    run = kernels.run("thread", "races.py", "--only", "TfExtFaulty>Race")
    assert run.returncode != 0
    assert "data race" in run.stdout
