"""Models that Python saves: the C API's gradients against those of Python's tapes."""

import sys

import comparing
import parity_eager
import pytest
import python_gradients
import sampling
from c_client import Client
from comparing import CASES, IN_LANGUAGES, Case, Outcomes


def every_case(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    # tensorflow_ext, which own_models uses for its layers, registers its own gradients.
    if "tensorflow_ext" not in sys.modules:
        python_gradients.register()
    return comparing.outcomes_of(request, tmp_path_factory)


@pytest.fixture(scope="module")
def programs(outcomes: Outcomes) -> dict[str, Outcomes]:
    return comparing.outcomes_of_programs(outcomes)


@every_case(CASES)
def test_first_order(case: Case, outcomes: Outcomes) -> None:
    comparing.check_first_order(case, outcomes)


@every_case([case for case in CASES if case.in_second_order])
def test_second_order(case: Case, outcomes: Outcomes) -> None:
    comparing.check_second_order(case, outcomes)


@every_case([case for case in CASES if case.inlined])
def test_calls_inlined(case: Case, outcomes: Outcomes) -> None:
    comparing.check_calls_inlined(case, outcomes)


@pytest.fixture(scope="module")
def eager_client(outcomes: Outcomes) -> Client:
    return parity_eager.new_client()  # Not before Python's gradients in `outcomes`.


@every_case([case for case in CASES if case.in_eager_mode])
def test_eager_mode(case: Case, outcomes: Outcomes, eager_client: Client) -> None:
    comparing.check_eager_mode(case, outcomes, eager_client)


@sampling.every_turn(IN_LANGUAGES)
def test_languages(language: str, case: Case, programs: dict[str, Outcomes]) -> None:
    comparing.check_first_order(case, programs[language])
    if case.in_second_order:
        comparing.check_second_order(case, programs[language])
