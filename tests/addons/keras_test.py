"""Keras finds this package's functions under TensorFlow Addons' names when it loads a model, and
saves them under their own names.
"""

import json
import pathlib
import re
import zipfile
from collections.abc import Callable
from types import ModuleType
from typing import Any

import keras
import numpy as np
import processes
import pytest
import tensorflow as tf
import tf_keras

import tensorflow_ext as tfe
from tensorflow_ext import _old_layers, addons, layers

_X = (np.random.default_rng(0).normal(size=(5, 4)) * 2).astype(np.float32)

every_keras = pytest.mark.parametrize("k", [keras, tf_keras], ids=["keras", "tf_keras"])
every_function = pytest.mark.parametrize("name", addons.FUNCTIONS)


def test_functions() -> None:
    assert {"gelu", "hardshrink", "lisht", "mish", "softshrink", "tanhshrink"} <= {
        *addons.FUNCTIONS
    }


def _old_model(k: ModuleType, name: str, path: pathlib.Path) -> Any:
    """Saves a model whose file names TensorFlow Addons' function instead of this package's; returns
    the model.
    """
    model = k.Sequential(
        [
            k.layers.Input(_X.shape[1:]),
            k.layers.Dense(3, activation=getattr(tfe, name)),
            k.layers.Activation(getattr(tfe, name)),
        ]
    )

    def rename(config: bytes) -> bytes:
        # tf_keras 2.18 saves a function by its bare name if it has one of that name itself.
        own_name = rf'"(tensorflow_ext>)?{name}"'.encode()
        return re.sub(own_name, f'"Addons>{name}"'.encode(), config)

    _save_changed(model, path, rename)
    assert _config(path).count("Addons>") >= 2
    return model


def _save_changed(model: Any, path: pathlib.Path, change: Callable[[bytes], bytes]) -> None:
    """Saves a model, and changes the configuration in its file."""
    own = path.with_name("own.keras")
    model.save(own)
    with zipfile.ZipFile(own) as source, zipfile.ZipFile(path, "w") as target:
        for entry in source.namelist():
            content = source.read(entry)
            target.writestr(entry, change(content) if entry == "config.json" else content)


def _config(path: pathlib.Path) -> str:
    with zipfile.ZipFile(path) as file:
        return json.dumps(json.loads(file.read("config.json")))


@every_keras
@every_function
def test_model(k: ModuleType, name: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "old.keras"
    model = _old_model(k, name, path)
    loaded = k.models.load_model(path)
    assert loaded.layers[0].activation is getattr(tfe, name)
    assert loaded.layers[1].activation is getattr(tfe, name)
    if name != "rrelu":  # random
        np.testing.assert_array_equal(loaded(_X), model(_X))
    loaded.save(tmp_path / "new.keras")
    config = _config(tmp_path / "new.keras")
    assert re.search(rf'"(tensorflow_ext>)?{name}"', config)
    assert "Addons" not in config


def _old_model_of_layers(path: pathlib.Path) -> Any:
    """Does the same for TensorFlow Addons' layers."""
    words = keras.Input((3,), dtype="int32")
    frames = [keras.Input((4, 5, 2)) for _ in range(2)]
    bags = layers.EmbeddingBag(4, 2, combiner="mean")(words)
    sizes = dict.fromkeys(("kernel_size", "max_displacement", "stride_1", "stride_2", "pad"), 1)
    costs = layers.CorrelationCost(**sizes, data_format="channels_first")(frames)
    waves = layers.Snake(keras.initializers.Constant(0.5))(bags)
    shares = layers.Sparsemax(axis=1)(waves)
    outputs = [layers.GELU(approximate=False)(shares), costs]
    model = keras.Model([words, *frames], outputs)

    def change(content: bytes) -> bytes:
        config = json.loads(content)
        for layer in config["config"]["layers"]:
            _as_addons_wrote_it(layer)
        return json.dumps(config).encode()

    _save_changed(model, path, change)
    return model


def _as_addons_wrote_it(layer: dict[str, Any]) -> None:
    if layer["registered_name"] is None:
        return
    layer["module"] = None
    layer["registered_name"] = f"Addons>{layer['class_name']}"
    for name in ("sparse_gradients", "per_channel"):
        layer["config"].pop(name, None)
    if layer["class_name"] == "EmbeddingBag":
        layer["config"]["mask_zero"] = True


def test_layers(tmp_path: pathlib.Path) -> None:
    model = _old_model_of_layers(tmp_path / "old.keras")
    loaded = keras.models.load_model(tmp_path / "old.keras")
    kinds = {type(layer) for layer in loaded.layers}
    assert {getattr(layers, name) for name in _old_layers.LAYERS} <= kinds
    rng = np.random.default_rng(0)
    frames = rng.normal(size=(2, 2, 4, 5, 2)).astype(np.float32)
    # 0 counts: TensorFlow Addons' mask_zero did not skip it.
    inputs = [np.array([[0, 1, 2], [3, 0, 0]], np.int32), *frames]
    for found, expected in zip(loaded(inputs), model(inputs), strict=True):
        np.testing.assert_array_equal(found, expected)
    loaded.save(tmp_path / "new.keras")
    assert "Addons" not in _config(tmp_path / "new.keras")


@every_keras
@every_function
def test_names(k: ModuleType, name: str) -> None:
    function = getattr(tfe, name)
    assert k.saving.get_registered_name(function) == f"tensorflow_ext>{name}"
    # Files of TensorFlow 2.11 and earlier give an activation in this form.
    config = {"name": "dense", "units": 3, "activation": f"Addons>{name}"}
    assert k.layers.Dense.from_config(config).activation is function


def test_defaults() -> None:
    """The layers of TensorFlow Addons."""
    x = tf.constant(_X)
    np.testing.assert_array_equal(tfe.gelu(x), tfe.gelu(x, approximate=True))
    for shrink in (tfe.hardshrink, tfe.softshrink):
        np.testing.assert_array_equal(shrink(x), shrink(x, lower=-0.5, upper=0.5))


def test_a_name_that_is_taken() -> None:
    """Computes what TensorFlow Addons computes."""
    program = """
        import keras
        import tf_keras
        import tensorflow as tf

        def theirs(x):
            return 2 * x

        for k in (keras, tf_keras):
            k.saving.register_keras_serializable("Addons", "mish")(theirs)
        import tensorflow_ext.addons
        for k in (keras, tf_keras):
            assert k.saving.get_registered_object("Addons>mish") is theirs
            assert k.saving.get_registered_object("Addons>gelu")
        print("fine")
    """
    assert "fine" in processes.run(program)


def test_nothing_is_registered_by_default() -> None:
    program = """
        import keras
        import tensorflow_ext
        assert not keras.saving.get_registered_object("Addons>mish")
        import tensorflow_ext.addons
        assert keras.saving.get_registered_object("Addons>mish") is tensorflow_ext.mish
        import tf_keras
        assert tf_keras.activations.get("Addons>mish") is tensorflow_ext.mish
        print("fine")
    """
    assert "fine" in processes.run(program)
