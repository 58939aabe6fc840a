# SPDX-License-Identifier: Apache-2.0
"""Bad input against kernels built with AddressSanitizer and UBSan."""

import re

import kernels
import pytest

_CALLS = 24_000


def test_every_op_refuses_or_computes() -> None:
    run = kernels.run("address", "fuzz.py", "--count", str(_CALLS))
    report = run.stdout[-8000:]
    assert run.returncode == 0, report
    summary = re.search(
        r"(\d+) ops, (\d+) calls: (\d+) accepted, (\d+) refused", report
    )
    assert summary, report
    _, calls, accepted, refused = map(int, summary.groups())
    assert calls >= _CALLS
    # Neither all right nor all wrong: both sides of the checks are reached.
    assert accepted > calls / 10
    assert refused > calls / 10
    print(summary.group())


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("ReadBeyond", "AddressSanitizer: heap-"),  # a gap, or what was freed
        ("Overflow", "signed integer overflow"),
    ],
)
def test_a_fault_is_found(fault: str, found: str) -> None:
    run = kernels.run("address", "fuzz.py", "--only", f"TfExtFaulty>{fault}")
    assert run.returncode != 0
    assert found in run.stdout
