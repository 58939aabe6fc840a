# SPDX-License-Identifier: Apache-2.0
"""Models that Python saves: the C API's gradients against those of Python's tapes.

Environment: PARITY_LIBRARY  libtensorflow_ext.so
"""

import dataclasses
import importlib
import inspect
import itertools
import os
import pathlib
import re

import keras
import numpy as np
import prepare
import pytest
import python_gradients
from model import Model
from parity import Outcome, deviation, run_client

LIBRARY = os.environ["PARITY_LIBRARY"]
HERE = pathlib.Path(__file__).absolute().parent
MODULES = [
    importlib.import_module(path.stem)
    for path in sorted(HERE.glob("models_*.py"))
    if path.stem != "models_test"
]

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


CASES = [
    Case(model, dtype)
    for module in MODULES
    for model in module.MODELS
    for dtype in model.types
]


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Outcome]]:
    """For each case to be tested, one for each signature; all in one client process."""
    python_gradients.register()
    found: dict[str, list[Outcome]] = {}
    for item in request.session.items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        case = parameters.get("case")
        if case is None or case.id in found:
            continue
        folder = tmp_path_factory.mktemp(case.id)
        try:
            tasks = prepare.tasks(case.model, case.dtype, folder)
            found[case.id] = [Outcome(case, task) for task in tasks]
        except Exception as error:  # one broken model must not hide the others
            problem = f"cannot be saved: {type(error).__name__}: {error}"
            found[case.id] = [Outcome(case, problems=[problem])]
    run_client(list(itertools.chain(*found.values())), LIBRARY, None)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_first_order(case: Case, outcomes: dict[str, list[Outcome]]) -> None:
    for outcome in outcomes[case.id]:
        if case.model.error is not None:
            assert case.model.error in outcome.result.get("error", "no error")
            continue
        _require([*outcome.problems, outcome.result.get("error")])
        labels = outcome.task["labels"][: len(outcome.task["xs"])]
        found, expected = outcome.result["first"], outcome.task["first"]
        missing = [x for x, g in zip(labels, found, strict=True) if g is None]
        assert missing == [
            x for x, g in zip(labels, expected, strict=True) if g is None
        ]
        _compare(case, labels, found, expected)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.model.error is None], ids=lambda case: case.id
)
def test_second_order(case: Case, outcomes: dict[str, list[Outcome]]) -> None:
    for outcome in outcomes[case.id]:
        result = outcome.result
        errors = [result.get("error"), result.get("second_error")]
        _require([*outcome.problems, *errors])
        expected = outcome.task["second"]
        # A function in Python has zeros where a gradient does not depend on an
        # argument.
        found = [
            np.zeros_like(e) if f is None and e is not None else f
            for f, e in zip(result["second"], expected, strict=True)
        ]
        _compare(case, outcome.task["labels"], found, expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_calls_inlined(case: Case, outcomes: dict[str, list[Outcome]]) -> None:
    for outcome in outcomes[case.id]:
        _require([*outcome.problems, outcome.result.get("inlined_error")])
        labels = outcome.task["labels"][: len(outcome.task["xs"])]
        found, expected = outcome.result["inlined"], outcome.task["first"]
        assert [g is None for g in found] == [g is None for g in expected]
        if not case.model.random:
            _compare(case, labels, found, expected)
            continue
        arrays = [gradient for gradient in found if gradient is not None]
        assert all(np.isfinite(gradient).all() for gradient in arrays)
        assert any(gradient.any() for gradient in arrays)


def _require(problems: list[str | None]) -> None:
    for problem in problems:
        if problem is not None:
            pytest.fail(problem, pytrace=False)


def _compare(
    case: Case,
    labels: list[str],
    found: list[np.ndarray | None],
    expected: list[np.ndarray | None],
) -> None:
    tolerance = case.model.tolerance or ROUNDOFFS * np.finfo(case.dtype).eps / 2
    sizes: dict[str, float] = {}
    for label, f, e in zip(labels, found, expected, strict=True):
        if f is None or e is None:
            assert f is None or not f.any(), label
            continue
        assert f.dtype == e.dtype, label
        sizes[label] = deviation(f, e)
    assert not {label: d for label, d in sizes.items() if not d <= tolerance}
    assert any(e is not None and e.any() for e in expected)


# What stands in no model of the tables.
OTHER_LAYERS = {
    "Equalization": "which Keras takes for a cycle in float",
    "FlaxLayer JaxLayer TorchModuleWrapper": "of other backends",
    "Input InputLayer InputSpec Layer Wrapper": "not layers by themselves",
    "TFSMLayer": "a SavedModel within another",
    "AugMix CutMix MixUp RandAugment RandomColorDegeneration RandomContrast RandomCrop "
    "RandomElasticTransform RandomErasing RandomGaussianBlur RandomGrayscale RandomHue "
    "RandomInvert RandomPerspective RandomPosterization RandomSaturation RandomShear "
    "RandomSharpness RandomTranslation RandomZoom Solarization": "drawn from, as those "
    "of `augmented` are",
}


def test_every_layer_of_keras_is_in_a_model() -> None:
    sources = "".join(inspect.getsource(module) for module in MODULES)
    used = set(re.findall(r"\blayers\.(\w+)", sources))
    public = {name for name in dir(keras.layers) if name[0].isupper()}
    classes = {getattr(keras.layers, name) for name in used & public}
    unused = {n for n in public if getattr(keras.layers, n) not in classes}
    assert unused == set(" ".join(OTHER_LAYERS).split())
