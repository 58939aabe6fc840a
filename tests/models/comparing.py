# SPDX-License-Identifier: Apache-2.0
"""Compares the C client's gradients of saved models with those of Python's tapes."""

import dataclasses
import itertools
from collections.abc import Sequence
from types import ModuleType
from typing import TypeAlias

import numpy as np
import prepare
import pytest
import turns
from model import Model, lacking_layers
from parity import Outcome, deviation, run_client, run_program
from protocol import PROGRAMS, find_program

# Unit roundoffs, relative to the largest magnitude of the expected gradient. Both
# sides run the same kernels; the order of what they sum differs, and Grappler's
# rewriting. Most come within 10, what a long chain of layers amplifies within 200.
ROUNDOFFS = 2000


@dataclasses.dataclass(frozen=True)
class Case:
    """A model in a type."""

    model: Model
    dtype: str

    @property
    def id(self) -> str:
        return f"{self.model.name}-{self.dtype}"

    @property
    def in_second_order(self) -> bool:
        """True if the case has a second order, and it is its turn."""
        return self.model.error is None and turns.is_turn(f"{self.id} twice", one_in=3)

    @property
    def inlined(self) -> bool:
        """True if it is the case's turn to have its calls inlined."""
        return turns.is_turn(f"{self.id} inlined", one_in=2)


Gradients: TypeAlias = list[np.ndarray | None]
# For each case by its id, one for each signature.
Outcomes: TypeAlias = dict[str, list[Outcome]]


def cases_of(modules: Sequence[ModuleType]) -> list[Case]:
    """Of the tables of these modules, less those of `unsaved`."""
    left_out = unsaved(modules)
    cases = _all_cases(modules)
    return [case for case in cases if case.id not in left_out]


def unsaved(modules: Sequence[ModuleType]) -> list[str]:
    """The cases that this Keras cannot save."""
    if not lacking_layers():
        return []
    cases = _all_cases(modules)
    return [case.id for case in cases if case.dtype in case.model.newer_keras]


def _all_cases(modules: Sequence[ModuleType]) -> list[Case]:
    return [
        Case(model, dtype)
        for module in modules
        for model in module.MODELS
        for dtype in _types(model)
    ]


def _types(model: Model) -> Sequence[str]:
    """The one that is the model's turn, or all."""
    return turns.turn(model.name, model.types)


def outcomes_of(
    request: pytest.FixtureRequest, folders: pytest.TempPathFactory, library: str
) -> Outcomes:
    """Of the cases that are to be tested; all in one client process, which loads
    `library`."""
    found: Outcomes = {}
    for item in request.session.items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        case = parameters.get("case")
        if case is None or case.id in found:
            continue
        folder = folders.mktemp(case.id)
        try:
            tasks = prepare.tasks(
                case.model, case.dtype, folder, case.in_second_order, case.inlined
            )
            found[case.id] = [Outcome(case, task) for task in tasks]
        except Exception as error:  # one broken model must not hide the others
            problem = f"cannot be saved: {type(error).__name__}: {error}"
            found[case.id] = [Outcome(case, problems=[problem])]
    run_client(list(itertools.chain(*found.values())), library, None)
    return found


def in_languages(cases: Sequence[Case]) -> list[tuple[str, Case]]:
    """One model in two, in one type and one language."""
    in_one_type = [
        case
        for case in cases
        if case.dtype == _types(case.model)[0] and turns.is_turn(case.model.name, one_in=2)
    ]
    return turns.in_languages(in_one_type)


def outcomes_of_programs(
    cases: Sequence[tuple[str, Case]], outcomes: Outcomes, library: str
) -> dict[str, Outcomes]:
    """What the program of each language makes of its models."""
    found: dict[str, Outcomes] = {}
    for language in turns.LANGUAGES:
        own = [case.id for other, case in cases if other == language]
        known = {name: outcomes[name] for name in own if name in outcomes}
        every = list(itertools.chain(*known.values()))
        rest = iter(run_program(every, find_program(PROGRAMS[language]), library))
        found[language] = {name: [next(rest) for _ in of_case] for name, of_case in known.items()}
    return found


def check_first_order(case: Case, outcomes: Outcomes) -> None:
    for outcome in outcomes[case.id]:
        if case.model.error is not None:
            assert case.model.error in outcome.result.get("error", "no error")
            continue
        _require([*outcome.problems, outcome.result.get("error")])
        labels = outcome.task["labels"][: len(outcome.task["xs"])]
        found, expected = outcome.result["first"], outcome.task["first"]
        _require_same_missing(labels, found, expected)
        _compare(case, labels, _filled(found, expected), expected)


def check_second_order(case: Case, outcomes: Outcomes) -> None:
    for outcome in outcomes[case.id]:
        result = outcome.result
        errors = [result.get("error"), result.get("second_error")]
        _require([*outcome.problems, *errors])
        expected = outcome.task["second"]
        found = _filled(result["second"], expected)
        _compare(case, outcome.task["labels"], found, expected)


def check_calls_inlined(case: Case, outcomes: Outcomes) -> None:
    for outcome in outcomes[case.id]:
        _require([*outcome.problems, outcome.result.get("inlined_error")])
        labels = outcome.task["labels"][: len(outcome.task["xs"])]
        found, expected = outcome.result["inlined"], outcome.task["first"]
        _require_same_missing(labels, found, expected)
        if not case.model.random:
            _compare(case, labels, _filled(found, expected), expected)
            continue
        arrays = [gradient for gradient in found if gradient is not None]
        assert all(np.isfinite(gradient).all() for gradient in arrays)
        assert any(gradient.any() for gradient in arrays)


def _filled(found: Gradients, expected: Gradients) -> Gradients:
    """With the zeros that a function in Python has where there is no gradient."""
    return [
        np.zeros_like(e) if f is None and e is not None else f
        for f, e in zip(found, expected, strict=True)
    ]


def _require_same_missing(labels: list[str], found: Gradients, expected: Gradients) -> None:
    for label, f, e in zip(labels, found, expected, strict=True):
        missing = e is None or (f is None and not e.any())
        assert (f is None) == missing, label


def _require(problems: list[str | None]) -> None:
    for problem in problems:
        if problem is not None:
            pytest.fail(problem, pytrace=False)


def _compare(case: Case, labels: list[str], found: Gradients, expected: Gradients) -> None:
    tolerance = case.model.tolerance or ROUNDOFFS * np.finfo(case.dtype).eps / 2
    sizes: dict[str, float] = {}
    for label, f, e in zip(labels, found, expected, strict=True):
        if f is None or e is None:
            assert f is None or not f.any(), label
            continue
        assert f.dtype == e.dtype, label
        sizes[label] = deviation(f, e, whole=True)
    assert not {label: d for label, d in sizes.items() if not d <= tolerance}
    assert any(e is not None and e.any() for e in expected)
