"""Files that older versions wrote still give the same numbers.

VERSION.zip holds the files of a version. write.py writes it, and reading.py reads it.
"""

import json
import pathlib
import zipfile

import keras
import numpy as np
import pytest
import reading

_ARCHIVES = sorted(pathlib.Path(__file__).absolute().parent.glob("*.zip"))


@pytest.fixture(scope="module", params=_ARCHIVES, ids=lambda path: path.stem)
def folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> pathlib.Path:
    """The files that a version wrote."""
    folder = tmp_path_factory.mktemp("old files")
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(folder)
    return folder


# In 0.1.0, C took the gradients of the ops in place of the model's own. Python took these.
_OF_PYTHON = {
    "module_in_c: custom, gradient x": "module: custom, gradient x",
    "module_in_c: custom, gradient w": "module: custom, gradient weight",
}


def compare(found: reading.Numbers, folder: pathlib.Path, name: str) -> None:
    """Fails if the numbers differ from those stored under this name."""
    prefix = f"{name}: "
    with np.load(folder / "numbers.npz") as stored:
        expected = {
            what.removeprefix(prefix): stored[_OF_PYTHON.get(what, what)]
            for what in stored
            if what.startswith(prefix)
        }
    assert len(expected) > 10
    assert found.keys() == expected.keys()
    for what, value in expected.items():
        assert found[what].dtype == value.dtype, what
        # TensorFlow's own ops add in another order on another machine.
        scale = max(1.0, np.abs(value).max(initial=0))
        np.testing.assert_allclose(found[what], value, rtol=0, atol=2e-6 * scale, err_msg=what)


def skip_if_of_a_newer_keras(file: pathlib.Path) -> None:
    """Keras itself cannot load a layer with arguments that it does not know yet."""
    with zipfile.ZipFile(file) as archive:
        layers = json.loads(archive.read("config.json"))["config"]["layers"]
    written = next(layer["config"] for layer in layers if layer["class_name"] == "Dense")
    unknown = written.keys() - keras.layers.Dense(1).get_config().keys()
    if unknown:
        pytest.skip(f"Keras {keras.__version__} has a Dense without {sorted(unknown)}")


def test_old_files_exist() -> None:
    assert _ARCHIVES


@pytest.mark.parametrize("name", reading.READERS)
def test_old_files_give_the_same_numbers(folder: pathlib.Path, name: str) -> None:
    if name == "keras_file":
        skip_if_of_a_newer_keras(folder / "model.keras")
    compare(reading.READERS[name](folder), folder, name)


def test_changed_numbers_are_found(folder: pathlib.Path) -> None:
    found = reading.module(folder)
    found["custom, output y"] = found["custom, output y"] * 1.0001
    with pytest.raises(AssertionError, match="custom, output y"):
        compare(found, folder, "module")
    del found["custom, output y"]
    with pytest.raises(AssertionError):
        compare(found, folder, "module")


def test_changed_weights_are_found(folder: pathlib.Path) -> None:
    """The numbers depend on the files' contents, not on the models that the program builds."""
    (folder / "empty").mkdir()
    model = reading.old_models.keras_model()
    model.save_weights(folder / "empty" / "model.weights.h5")
    with pytest.raises(AssertionError, match="Mismatched"):
        compare(reading.keras_weights(folder / "empty"), folder, "keras_weights")
