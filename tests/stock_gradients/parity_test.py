# SPDX-License-Identifier: Apache-2.0
"""Every case of a family of ops: the C API's gradients against the reference.

Environment:
  PARITY_FAMILY  one of covered_ops.FAMILIES, whose modules are cases_FAMILY*.py
  PARITY_LIBRARY  libtensorflow_ext.so
  PARITY_KERNELS  libcsr_kernels.so, where the family needs it
"""

import os

import numpy as np
import pytest
from covered_ops import NO_SECOND_ORDER, OPS
from parity import HERE, Case, Outcome, load_cases, run_cases

FAMILY = os.environ["PARITY_FAMILY"]
MODULES = sorted(path.stem for path in HERE.glob(f"cases_{FAMILY}*.py"))
CASES = load_cases(MODULES)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """By the case's id; all in one client process."""
    library, kernels = os.environ["PARITY_LIBRARY"], os.environ.get("PARITY_KERNELS")
    return {outcome.case.id: outcome for outcome in run_cases(CASES, library, kernels)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_gradients(case: Case, outcomes: dict[str, Outcome]) -> None:
    problems = outcomes[case.id].problems
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.mark.parametrize("op", [op for op in OPS[FAMILY] if op not in NO_SECOND_ORDER])
def test_second_order_was_compared(op: str, outcomes: dict[str, Outcome]) -> None:
    """Of every op, some second-order gradient that is not zero."""
    second_orders = [
        gradient
        for outcome in outcomes.values()
        if outcome.case.op == op and outcome.case.second_order is not None
        for gradient in outcome.result.get("second") or ()
        if gradient is not None
    ]
    assert any(np.any(gradient != 0) for gradient in second_orders)
