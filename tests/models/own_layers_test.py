# SPDX-License-Identifier: Apache-2.0
"""Models with the layers and functions of tensorflow_ext that Python saves: the C API's
gradients against those of Python's tapes.

Environment: PARITY_LIBRARY  libtensorflow_ext.so
"""

import os

import comparing
import own_models
import pytest
from comparing import Case, Outcomes

CASES = comparing.cases_of([own_models])

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Outcomes:
    library = os.environ["PARITY_LIBRARY"]
    return comparing.outcomes_of(request, tmp_path_factory, library)


@every_case
def test_first_order(case: Case, outcomes: Outcomes) -> None:
    comparing.check_first_order(case, outcomes)


@every_case
def test_second_order(case: Case, outcomes: Outcomes) -> None:
    comparing.check_second_order(case, outcomes)


@every_case
def test_calls_inlined(case: Case, outcomes: Outcomes) -> None:
    comparing.check_calls_inlined(case, outcomes)
