# SPDX-License-Identifier: Apache-2.0
"""Models with the layers and functions of tensorflow_ext that Python saves: the C API's
gradients against those of Python's tapes.

Environment: PARITY_LIBRARY  libtensorflow_ext.so
"""

import os

import comparing
import own_models
import pytest
import turns
from comparing import Case, Outcomes

CASES = comparing.cases_of([own_models])
IN_LANGUAGES = comparing.in_languages(CASES)

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    library = os.environ["PARITY_LIBRARY"]
    return comparing.outcomes_of(request, tmp_path_factory, library)


@pytest.fixture(scope="module")
def programs(outcomes: Outcomes) -> dict[str, Outcomes]:
    library = os.environ["PARITY_LIBRARY"]
    return comparing.outcomes_of_programs(IN_LANGUAGES, outcomes, library)


@every_case
def test_first_order(case: Case, outcomes: Outcomes) -> None:
    comparing.check_first_order(case, outcomes)


@pytest.mark.parametrize("case", [c for c in CASES if c.in_second_order], ids=lambda case: case.id)
def test_second_order(case: Case, outcomes: Outcomes) -> None:
    comparing.check_second_order(case, outcomes)


@pytest.mark.parametrize("case", [c for c in CASES if c.inlined], ids=lambda case: case.id)
def test_calls_inlined(case: Case, outcomes: Outcomes) -> None:
    comparing.check_calls_inlined(case, outcomes)


@turns.every_turn(IN_LANGUAGES)
def test_languages(language: str, case: Case, programs: dict[str, Outcomes]) -> None:
    comparing.check_first_order(case, programs[language])
    if case.in_second_order:
        comparing.check_second_order(case, programs[language])
