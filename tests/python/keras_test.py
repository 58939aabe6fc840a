"""Functions of this package in layers of Keras 3 and of Keras 2: a saved and loaded model computes
the same bits, by the same functions.
"""

import contextlib
import inspect
import itertools
import pathlib
import sys
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

import commands
import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from commit_sampling import turn_of_commit

import tensorflow_ext as tfe
from tensorflow_ext import _keras

_X = (np.random.default_rng(0).normal(size=(5, 4)) * 2).astype(np.float32)

FUNCTIONS = tfe.ops.FUNCTIONS


def _is_activation(function: Callable) -> bool:
    """Functions of one tensor, with defaults for all other arguments, that keep the shape."""
    _, *rest = inspect.signature(function).parameters.values()
    if any(parameter.default is inspect.Parameter.empty for parameter in rest):
        return False
    output = function(tf.constant(_X))
    return isinstance(output, tf.Tensor) and output.shape == _X.shape


ACTIVATIONS = [name for name in FUNCTIONS if _is_activation(FUNCTIONS[name])]

every_keras = pytest.mark.parametrize("k", [keras, tf_keras], ids=["keras", "tf_keras"])
every_function = pytest.mark.parametrize("name", FUNCTIONS)
every_activation = pytest.mark.parametrize("name", ACTIVATIONS)


def _named(k: ModuleType, *names: str) -> contextlib.AbstractContextManager[None]:
    """Custom objects for loading, because tf_keras 2.18 saves functions by bare names."""
    if k is keras or ">" in k.saving.serialize_keras_object(tfe.gelu)["config"]:
        return contextlib.nullcontext()
    return k.saving.custom_object_scope({name: FUNCTIONS[name] for name in names})


def test_activations() -> None:
    assert {"gelu", "mish", "relu", "hardshrink", "reverse_gradient"} <= {*ACTIVATIONS}


@every_keras
@every_function
def test_registered_name(k: ModuleType, name: str) -> None:
    function = FUNCTIONS[name]
    assert k.saving.get_registered_name(function) == f"tensorflow_ext>{name}"
    config = k.saving.serialize_keras_object(function)
    with _named(k, name):
        assert k.saving.deserialize_keras_object(config) is function


@every_keras
@every_activation
def test_activation_by_its_name(k: ModuleType, name: str) -> None:
    function = k.activations.get(f"tensorflow_ext>{name}")
    assert function is FUNCTIONS[name]
    dense = k.layers.Dense(3, activation=f"tensorflow_ext>{name}")
    with _named(k, name):
        assert k.layers.Dense.from_config(dense.get_config()).activation is function


def _model(k: ModuleType) -> Any:
    """A model with two outputs of each activation."""
    inputs = k.layers.Input(_X.shape[1:])
    outputs = []
    for name in ACTIVATIONS:
        dense = k.layers.Dense(3, FUNCTIONS[name], bias_initializer="normal", name=f"dense_{name}")
        outputs.append(dense(inputs))
        outputs.append(k.layers.Activation(f"tensorflow_ext>{name}", name=name)(inputs))
    model = k.Model(inputs, outputs)
    model.compile("sgd", ["mse"] * len(outputs), run_eagerly=True)
    return model


@every_keras
def test_saving(k: ModuleType, tmp_path: pathlib.Path) -> None:
    """A loaded model, its weights and its SavedModel compute the same bits."""
    model, with_weights = _model(k), _model(k)
    expected = model(_X)
    model.save(tmp_path / "model.keras")
    with _named(k, *ACTIVATIONS):
        loaded = k.models.load_model(tmp_path / "model.keras")
    for name in ACTIVATIONS:
        for layer in (name, f"dense_{name}"):
            assert loaded.get_layer(layer).activation is FUNCTIONS[name]
    targets = [np.zeros_like(y) for y in expected]
    assert loaded.evaluate(_X, targets, verbose=0) == model.evaluate(_X, targets, verbose=0)

    model.save_weights(tmp_path / "model.weights.h5")
    with_weights.load_weights(tmp_path / "model.weights.h5")
    model.export(str(tmp_path / "model"))
    exported = tf.saved_model.load(str(tmp_path / "model"))
    for found in (loaded(_X), with_weights(_X), exported.serve(_X)):
        for y, right in zip(found, expected, strict=True):
            np.testing.assert_array_equal(y, right)


@every_activation
def test_function_in_a_lambda_layer(name: str, tmp_path: pathlib.Path) -> None:
    model = keras.Sequential([keras.Input(_X.shape[1:]), keras.layers.Lambda(FUNCTIONS[name])])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(_X), model(_X))


def _run(program: str, legacy: str) -> None:
    """A process that has imported nothing: TensorFlow imports a Keras, too."""
    environment = commands.environment(TF_USE_LEGACY_KERAS=legacy)
    commands.python("-c", textwrap.dedent(program), env=environment)


_ORDERS = [*itertools.product(["keras", "tf_keras", "tensorflow_ext"], ["0", "1"])]


@pytest.mark.parametrize(
    ("first", "legacy"), turn_of_commit("first import", _ORDERS, "tensorflow_ext/_keras")
)
def test_order_of_imports(first: str, legacy: str) -> None:
    """Any order of imports works, and either Keras as TensorFlow's own."""
    _run(
        f"""
        import {first}
        import tensorflow_ext as tfe
        import keras, tf_keras
        for k in (keras, tf_keras):
            assert k.saving.get_registered_name(tfe.gelu) == "tensorflow_ext>gelu"
            assert k.activations.get("tensorflow_ext>gelu") is tfe.gelu
        assert keras.saving.get_registered_object("tensorflow_ext>RoiAlign")
        """,
        legacy,
    )


@pytest.mark.parametrize(
    ("found", "legacy"), turn_of_commit("found", [("keras", "1"), ("tf_keras", "0")])
)
def test_found_before_it_is_imported(found: str, legacy: str) -> None:
    """With the Keras that TensorFlow does not import: a check for its presence does not find this
    package's.
    """
    _run(
        f"""
        import importlib.util, sys
        import tensorflow_ext as tfe
        assert {found!r} not in sys.modules
        assert importlib.util.find_spec({found!r}) is not None
        import {found} as k
        assert k.saving.get_registered_name(tfe.gelu) == "tensorflow_ext>gelu"
        """,
        legacy,
    )


def test_another_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keras on another backend gets no layers of this package, and still works."""
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    monkeypatch.delitem(sys.modules, "tensorflow_ext.layers")
    _keras.register({"mish": tfe.mish})
    assert "tensorflow_ext.layers" not in sys.modules


def test_positional_arguments() -> None:
    """The parameters have the order of Keras, TensorFlow Addons and PyTorch."""
    x = tf.constant(_X)
    np.testing.assert_array_equal(tfe.gelu(x, False), tfe.gelu(x, approximate=False))
    np.testing.assert_array_equal(
        tfe.hardshrink(x, -1.0, 1.5), tfe.hardshrink(x, lower=-1.0, upper=1.5)
    )
    for function in FUNCTIONS.values():
        assert [*inspect.signature(function).parameters][-1] == "name"


def test_embedding_bag_without_weights() -> None:
    table = np.arange(12, dtype=np.float64).reshape(4, 3)
    indices = [[0, 1], [3, 3]]
    for combiner in ("sum", "SUM"):
        bags = tfe.embedding_bag(indices, table, None, combiner)
        np.testing.assert_array_equal(bags, [[3, 5, 7], [18, 20, 22]])
    np.testing.assert_array_equal(
        tfe.embedding_bag(indices, tf.Variable(table), combiner="MEAN"),
        [[1.5, 2.5, 3.5], [9, 10, 11]],
    )


@pytest.mark.parametrize("combiner", ["max", 1, None])
def test_unknown_combiner(combiner: Any) -> None:
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="combiner"):
        tfe.embedding_bag([[0]], [[1.0]], None, combiner)
