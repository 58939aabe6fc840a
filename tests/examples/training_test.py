"""Programs of each language train as examples/training does in Python."""

import functools
import os
import pathlib

import commands
import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from sampling import of_commit

from tensorflow_ext import sysconfig

_PROGRAMS = dict(pair.split("=") for pair in os.environ["TRAININGS"].split())
_LIBRARY = f"{sysconfig.get_lib()}/libtensorflow_ext.so"


@functools.cache
def _python(name: str) -> tuple[reference.Training, list[float]]:
    training = reference.TRAININGS[name]()
    return training, reference.losses(training)


# Each commit runs one program of each language, the release check both.
_KEYS = [
    f"{language}/{name}"
    for language in sorted({key.partition("/")[0] for key in _PROGRAMS})
    for name in of_commit(language, [*reference.TRAININGS])
]


@pytest.mark.parametrize("key", _KEYS)
def test_trains_as_python_does(key: str, tmp_path: pathlib.Path) -> None:
    name = key.partition("/")[2]
    training, expected = _python(name)
    prefix = [str(tmp_path / "model")] if name == "train_embedding" else []
    environment = {**os.environ, "TENSORFLOW_EXT_LIBRARY": _LIBRARY}
    printed = commands.run(_PROGRAMS[key], *prefix, env=environment)
    assert expected[-1] < expected[0] / 4
    losses = [float(line) for line in printed.splitlines()]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    if prefix:
        _check_checkpoint(prefix[0], training)


def _check_checkpoint(prefix: str, training: reference.Training) -> None:
    reader = tf.train.load_checkpoint(prefix)
    for name, variable in training.variables.items():
        found = reader.get_tensor(f"{name}/.ATTRIBUTES/VARIABLE_VALUE")
        np.testing.assert_allclose(found, variable, rtol=1e-4, atol=1e-6)
    table, kernel, bias = (tf.Variable(tf.zeros_like(v)) for v in training.variables.values())
    adam = keras.optimizers.Adam()
    adam.build([keras.Variable(v) for v in (table, kernel, bias)])
    checkpoint = tf.train.Checkpoint(
        optimizer=adam,
        embedding=tf.train.Checkpoint(table=table),
        head=tf.train.Checkpoint(kernel=kernel, bias=bias),
    )
    checkpoint.read(prefix).expect_partial()
    assert adam.iterations.numpy() == reference.STEPS
    for found, expected in zip(adam.variables, training.optimizer.variables, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    for found, expected in zip((table, kernel, bias), training.variables.values(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
