"""Compares the C client's gradients of saved models with those of Python's tapes.

Environment:
  MODELS          The modules of the models, as patterns
  PARITY_LIBRARY  libtensorflow_ext.so
"""

import dataclasses
import importlib
import itertools
import os
import pathlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import parity_eager
import prepare
import pytest
import sampling
from c_client import Client
from model import Model, lacking_layers
from parity import Outcome, deviation, run_client, run_program
from protocol import PROGRAMS, find_program

LIBRARY = os.environ["PARITY_LIBRARY"]

# Unit roundoffs, relative to the largest magnitude of the expected gradient. Both sides run the
# same kernels, but Grappler's rewriting and the order of sums differ. Most differ by less than 10;
# long chains of layers amplify that to less than 200.
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
        """True if the case has a second order that runs this time."""
        return (
            self.model.error is None
            and self.model.orders > 1
            and sampling.is_turn_of_commit(f"{self.id} twice", one_in=2)
        )

    @property
    def inlined(self) -> bool:
        """True if the case's calls are inlined this time."""
        return sampling.is_turn_of_commit(f"{self.id} inlined", one_in=2)

    @property
    def in_eager_mode(self) -> bool:
        """True if the case runs in eager mode this time."""
        return sampling.is_turn_of_commit(f"{self.id} eager", one_in=4)


Gradients: TypeAlias = list[np.ndarray | None]
# The cases by id, one for each signature.
Outcomes: TypeAlias = dict[str, list[Outcome]]


def _types(model: Model) -> Sequence[str]:
    """The type that the model runs this time, or all types."""
    return sampling.turn(model.name, model.types)


def _in_languages(cases: Sequence[Case]) -> list[tuple[str, Case]]:
    """Every second model, in one type and one language, and those of `every_program`."""
    in_one_type = [case for case in cases if case.dtype == _types(case.model)[0]]
    in_every = [case for case in in_one_type if case.model.every_program]
    chosen = [
        case
        for case in in_one_type
        if case not in in_every and sampling.is_turn(case.model.name, one_in=2)
    ]
    in_every_program = [(language, case) for case in in_every for language in PROGRAMS]
    return [*in_every_program, *sampling.in_languages(chosen)]


_FOLDER = pathlib.Path(__file__).absolute().parent
MODULES = [
    importlib.import_module(path.stem)
    for pattern in os.environ["MODELS"].split()
    for path in sorted(_FOLDER.glob(pattern))
    if not path.stem.endswith("_test")
]
# Each commit runs other models, one in so many, and the release check all. The solvers and special
# functions of TensorFlow Probability take longest.
_ONE_IN = {"probability_models": 8}
_MODELS = [
    m
    for module in MODULES
    for m in vars(module).values()
    if isinstance(m, Model)
    and sampling.is_turn_of_commit(f"{m.name} model", _ONE_IN.get(module.__name__, 4))
]
_ALL = [Case(model, dtype) for model in _MODELS for dtype in _types(model)]
# The cases that this Keras cannot save.
UNSAVED = [case for case in _ALL if lacking_layers() and case.dtype in case.model.newer_keras]
CASES = [case for case in _ALL if case not in UNSAVED]
IN_LANGUAGES = _in_languages(CASES)


def outcomes_of(request: pytest.FixtureRequest, folders: pytest.TempPathFactory) -> Outcomes:
    """The outcomes of the cases that run here, from one client process."""
    found: Outcomes = {}
    for item in request.session.items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        case: Any = parameters.get("case")
        # pytest puts another object into an empty list: no case may be due at this commit.
        if not hasattr(case, "id") or case.id in found:
            continue
        folder = folders.mktemp(case.id)
        try:
            tasks = prepare.tasks(
                case.model, case.dtype, folder, case.in_second_order, case.inlined
            )
            found[case.id] = [Outcome(case, task) for task in tasks]
        except Exception as error:  # a broken model must not hide the others
            problem = f"cannot be saved: {type(error).__name__}: {error}"
            found[case.id] = [Outcome(case, problems=[problem])]
    run_client(list(itertools.chain(*found.values())), LIBRARY, None)
    return found


def outcomes_of_programs(outcomes: Outcomes) -> dict[str, Outcomes]:
    """The outcomes of each language's models, from its program."""
    found: dict[str, Outcomes] = {}
    for language in PROGRAMS:
        own = [case.id for other, case in IN_LANGUAGES if other == language]
        known = {name: outcomes[name] for name in own if name in outcomes}
        every = list(itertools.chain(*known.values()))
        if not every:
            continue
        rest = iter(run_program(every, find_program(language), LIBRARY))
        found[language] = {name: [next(rest) for _ in of_case] for name, of_case in known.items()}
    return found


def check_first_order(case: Case, outcomes: Outcomes) -> None:
    for outcome in outcomes[case.id]:
        if case.model.error is not None:
            assert case.model.error in outcome.result.get("error", "no error")
            continue
        _require([*outcome.problems, outcome.result.get("error")])
        _check_first(case, outcome, outcome.result["first"])


def check_second_order(case: Case, outcomes: Outcomes) -> None:
    for outcome in outcomes[case.id]:
        result = outcome.result
        if case.model.second_error is not None:
            assert case.model.second_error in result.get("second_error", "no error")
            continue
        _require([*outcome.problems, result.get("error"), result.get("second_error")])
        expected = outcome.task["second"]
        _compare(case, outcome.task["labels"], _filled(result["second"], expected), expected)


def check_calls_inlined(case: Case, outcomes: Outcomes) -> None:
    for outcome in outcomes[case.id]:
        _require([*outcome.problems, outcome.result.get("inlined_error")])
        _check_first(case, outcome, outcome.result["inlined"])


def check_eager_mode(case: Case, outcomes: Outcomes, client: Client) -> None:
    """The model's functions run as ops, or op by op."""
    ways = sampling.turn(case.id, ("functions", "op by op"))
    for outcome, way in itertools.product(outcomes[case.id], ways):
        _require(list(outcome.problems))
        result = parity_eager.eager_results(client, outcome.task, inlined=way == "op by op")
        _require([result.get("error")])
        # A loop returns its constants, too, so a tape gives zeros for one without a gradient.
        pairs = zip(result["first"], outcome.task["first"], strict=True)
        first = [f if f is not None and (e is not None or f.any()) else None for f, e in pairs]
        _check_first(case, outcome, first)
        if outcome.task["second_order"]:
            eager = dataclasses.replace(outcome, result=result)
            check_second_order(case, {case.id: [eager]})


def _check_first(case: Case, outcome: Outcome, found: Gradients) -> None:
    """Compares gradients of first order with Python's, which must lack the same ones."""
    labels = outcome.task["labels"][: len(outcome.task["xs"])]
    expected = outcome.task["first"]
    for label, f, e in zip(labels, found, expected, strict=True):
        missing = e is None or (f is None and not e.any())
        assert (f is None) == missing, label
    if not case.model.random:
        _compare(case, labels, _filled(found, expected), expected)
        return
    arrays = [gradient for gradient in found if gradient is not None]
    assert all(np.isfinite(gradient).all() for gradient in arrays)
    assert any(gradient.any() for gradient in arrays)


def _filled(found: Gradients, expected: Gradients) -> Gradients:
    """The gradients with zeros for missing ones, as a function in Python returns them."""
    return [
        np.zeros_like(e) if f is None and e is not None else f
        for f, e in zip(found, expected, strict=True)
    ]


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
