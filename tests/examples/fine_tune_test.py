# SPDX-License-Identifier: Apache-2.0
"""A model that Keras exported trains in other languages as it does in Python."""

import pathlib
import shutil

import keras
import model as fine_tune
import numpy as np
import pytest
import tensorflow as tf

STEPS = 100
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("data")
    fine_tune.Data(STEPS).write(folder)
    return folder


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("exported") / "model"
    fine_tune.make_model().export(folder, verbose=False)
    return folder


def _train(training: fine_tune.Training, data: fine_tune.Data) -> list[float]:
    """Trains in Python; returns the losses."""
    return [
        float(training.step(tf.constant(x), tf.constant(labels)))
        for x, labels in zip(data.x, data.labels, strict=True)
    ]


@pytest.fixture(scope="module")
def python(exported: pathlib.Path) -> tuple[list[float], dict[str, np.ndarray]]:
    """Python's losses, and its variables afterwards."""
    training = fine_tune.Training(exported)
    losses = _train(training, fine_tune.Data(STEPS))
    return losses, {v.name: v.numpy() for v in training.variables}


# C and C++ are told how to treat the model's calls of functions. Other languages differentiate the
# model as it is.
_WAYS = [
    (language, options)
    for language in fine_tune.PROGRAMS
    for options in ([[], ["calls"]] if language in ("C++", "C") else [[]])
]


@pytest.mark.parametrize(
    ("language", "options"), _WAYS, ids=lambda x: x if isinstance(x, str) else "".join(x)
)
def test_trains_as_python_does(
    language: str,
    options: list[str],
    exported: pathlib.Path,
    data: pathlib.Path,
    python: tuple[list[float], dict[str, np.ndarray]],
    tmp_path: pathlib.Path,
) -> None:
    model = tmp_path / "model"
    shutil.copytree(exported, model)
    expected, variables = python
    losses = list(fine_tune.train_in_program(language, model, data, options))

    assert len(losses) == STEPS
    assert expected[-1] < expected[0] / 4
    np.testing.assert_allclose(losses, expected, rtol=TOLERANCE, atol=0)

    # Python loads the checkpoint that the model's own saver wrote.
    loaded = fine_tune.Training(model)
    assert {v.name for v in loaded.variables} == variables.keys()
    for variable in loaded.variables:
        value = variables[variable.name]
        scale = np.abs(value).max()
        np.testing.assert_allclose(variable.numpy(), value, 0, TOLERANCE * scale)


@pytest.mark.parametrize("language", fine_tune.PROGRAMS)
def test_leaves_fixed_variables_alone(language: str, tmp_path: pathlib.Path) -> None:
    network = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(16, activation="silu"),  # brings a gradient of its own
            keras.layers.BatchNormalization(),
            keras.layers.Dense(10),
        ]
    )
    data = fine_tune.Data(3)
    network(data.x[0], training=True)  # moves the averages
    network.export(tmp_path / "model", verbose=False)
    data.write(tmp_path)
    training = fine_tune.Training(tmp_path / "model")
    expected = _train(training, data)
    losses = list(fine_tune.train_in_program(language, tmp_path / "model", tmp_path))
    np.testing.assert_allclose(losses, expected, rtol=TOLERANCE, atol=0)
    loaded = fine_tune.Training(tmp_path / "model")
    assert len(loaded.model.variables) == 8 > len(loaded.variables) == 6
    for variable, value in zip(loaded.model.variables, training.model.variables, strict=True):
        np.testing.assert_allclose(variable, value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("language", fine_tune.PROGRAMS)
def test_errors_name_the_problem(language: str, tmp_path: pathlib.Path) -> None:
    class Doubled(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, "x")])
        def double(self, x: tf.Tensor) -> tf.Tensor:
            return 2 * x

    module = Doubled()
    tf.saved_model.save(module, str(tmp_path / "model"), module.double)
    fine_tune.Data(2).write(tmp_path)
    with pytest.raises(RuntimeError, match="trainable variable"):
        list(fine_tune.train_in_program(language, tmp_path / "model", tmp_path))
    with pytest.raises(RuntimeError, match="Could not find SavedModel"):
        list(fine_tune.train_in_program(language, tmp_path / "none", tmp_path))


@pytest.mark.parametrize("language", fine_tune.PROGRAMS)
def test_data_of_another_shape(
    language: str, exported: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    shutil.copytree(exported, tmp_path / "model")
    data = fine_tune.Data(2)
    data.x = data.x[..., :63]
    data.write(tmp_path)
    with pytest.raises(RuntimeError, match="expected 64 for each"):
        list(fine_tune.train_in_program(language, tmp_path / "model", tmp_path))
