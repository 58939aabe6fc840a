"""Every layer of Keras is in a model, or in a list with a reason."""

import inspect
import re

import keras
import pytest
from comparing import MODULES, UNSAVED
from model import NEW_LAYERS, lacking_layers

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


def test_every_layer_is_in_a_model() -> None:
    sources = "".join(inspect.getsource(module) for module in MODULES)
    used = set(re.findall(r"\blayers\.(\w+)", sources))
    public = {name for name in dir(keras.layers) if name[0].isupper()}
    classes = {getattr(keras.layers, name) for name in used & public}
    unused = {n for n in public if getattr(keras.layers, n) not in classes}
    assert unused == set(" ".join(OTHER_LAYERS).split())


def test_models_that_only_a_newer_keras_saves() -> None:
    if UNSAVED:
        names = ", ".join(case.id for case in UNSAVED)
        pytest.skip(f"Keras {keras.__version__} cannot save {names}")


def test_layers_that_only_a_newer_keras_has() -> None:
    """A version of Keras has all of these layers or none; the skip names those in no model."""
    lacking = lacking_layers()
    assert lacking in ([], [*NEW_LAYERS])
    if lacking:
        pytest.skip(f"Keras {keras.__version__} lacks {', '.join(lacking)}")
