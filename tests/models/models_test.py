# SPDX-License-Identifier: Apache-2.0
"""Models that Python saves: the C API's gradients against those of Python's tapes.

Environment: PARITY_LIBRARY  libtensorflow_ext.so
"""

import importlib
import inspect
import os
import pathlib
import re

import comparing
import keras
import pytest
import python_gradients
import turns
from comparing import Case, Outcomes
from model import NEW_LAYERS, lacking_layers

HERE = pathlib.Path(__file__).absolute().parent
MODULES = [
    importlib.import_module(path.stem)
    for path in sorted(HERE.glob("models_*.py"))
    if path.stem != "models_test"
]
CASES = comparing.cases_of(MODULES)
IN_LANGUAGES = comparing.in_languages(CASES)

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    python_gradients.register()
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


def test_models_that_only_a_newer_keras_saves() -> None:
    left_out = comparing.unsaved(MODULES)
    if left_out:
        pytest.skip(f"Keras {keras.__version__} cannot save {', '.join(left_out)}")


def test_layers_that_only_a_newer_keras_has() -> None:
    """They come together, so that one lacking names what no model has been built of."""
    lacking = lacking_layers()
    assert lacking in ([], [*NEW_LAYERS])
    if lacking:
        pytest.skip(f"Keras {keras.__version__} lacks {', '.join(lacking)}")
