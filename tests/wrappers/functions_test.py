"""The functions beside the typed ops of Go, Rust and Java: they load the library, and add gradients
where the binding's own function fails."""

import functools
import os
import pathlib

import commands
import numpy as np
import pytest
import tensorflow as tf
from sampling import of_commit

from tensorflow_ext import sysconfig

_PROGRAMS = dict(pair.split("=") for pair in os.environ["USE_WRAPPERS"].split())
_VARIABLE = "TENSORFLOW_EXT_LIBRARY"
_LIBRARY = f"{sysconfig.get_lib()}/libtensorflow_ext.so"
# The values of the programs.
_X, _W = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
_GRADIENTS = {
    "several": [_W, _X, _W],
    "unconnected": [None, 2 * _X, None],
    "all_unconnected": [None, None],
    "y_itself": [np.ones(3)],
    "upstream": [2 * _X * _W + _W * _X],
    # The upstream gradient is x, which has no part in the gradient of y.
    "upstream_of_x": [2 * _X * _X, None],
    "by_upstream": [2 * _X],
}
_TRAINING_ERRORS = {
    "same_name": "names: 'x' cannot name a node, or the graph has such a node",
    "not_finite": "CosineDecay: initial_learning_rate must be a number",
    "no_file": "/nowhere/model",
}
_ERRORS = {
    "Go": {
        "no_x": "tfext.Gradients: xs[0] is no tensor",
        "upstream_number": "tfext.Gradients: expected no upstream gradient or one for each y: 1",
        "same_variable": 'train.Minimize: variables[1]: "x:0" is no tensor of the graph, or',
        "not_made": "train.SGD{}: expected the result of train.NewSGD, which has the defaults",
        "not_finite": "SGD: CosineDecay: expected numbers that are finite",
        "no_initializer": 'initializer of "x": expected one such as train.NewGlorotUniform()',
        "no_file": "/nowhere/model",
    },
    "Java": {
        "eager": "Gradients.add: expected tensors of a graph, got one of an eager session",
        "no_y": "Gradients.add: ys: expected at least one tensor",
        "upstream_number": "Gradients.add: upstream: expected none or one for each y: 1, got 2",
        "twice": "Saver.add: 'x' is listed twice; expected each name once",
        "no_variable": "gradients: expected a gradient of at least one variable, got none of 0",
        "other_graph": "'x' is of another graph, or of an eager session",
        "other_y": "Gradients.add: 'Const' is of another graph than ys[0]",
        **_TRAINING_ERRORS,
    },
    "Rust": {
        "upstream_shape": (
            "TfExt>WithUpstream: upstream has shape []; expected the shape of y, [3]"
        ),
        "upstream_number": "gradients: expected an upstream gradient for each y: 1, got 0",
        "missing_x": "gradients: xs: 'Const:1' is no tensor of this graph",
        "other_loss": "minimize: loss: 'Add:0' is no tensor of this graph",
        "other_saver": "add_saver: variables: 'x:0' is no tensor of this graph",
        "descent": "minimize: the loss depends on none of the 1 variables",
        "adadelta": "minimize: the loss depends on none of the 1 variables",
        **_TRAINING_ERRORS,
    },
}

every_language = pytest.mark.parametrize("language", _PROGRAMS)
# Each commit chooses another language, the release check runs all.
one_language = pytest.mark.parametrize("language", of_commit("loads", [*_PROGRAMS]))


def _run(language: str, *arguments: str, **environment: str) -> list[str]:
    """The lines that a program prints, without a library in the environment unless given."""
    inherited = {name: value for name, value in os.environ.items() if name != _VARIABLE}
    program = pathlib.Path(_PROGRAMS[language]).absolute()
    variables = inherited | {"TF_CPP_MIN_LOG_LEVEL": "3"} | environment
    return commands.run(program, *arguments, env=variables).splitlines()


@functools.cache
def _printed(language: str) -> list[list[str]]:
    """The names and values, or errors, that a program prints with the library."""
    return [line.split(" ", 1) for line in _run(language, **{_VARIABLE: _LIBRARY})]


def _load(language: str, *file: str, **environment: str) -> str:
    (line,) = _run(language, "load", *file, **environment)
    return line.removeprefix("load").removeprefix("! ")


@every_language
def test_gradients(language: str) -> None:
    printed = _printed(language)
    errors = {name[:-1]: text for name, text in printed if name.endswith("!")}
    assert set(errors) == set(_ERRORS[language])
    for name, text in _ERRORS[language].items():
        assert text in errors[name]
    tensors = dict(pair for pair in printed if pair[0] in _GRADIENTS)
    assert set(tensors) == set(_GRADIENTS)
    for name, expected in _GRADIENTS.items():
        flat = [["none"] if x is None else x for x in expected]
        found = [x if x == "none" else float(x) for x in tensors[name].split()]
        assert found == [x for part in flat for x in part], name


@pytest.mark.skipif("Rust" not in _PROGRAMS, reason="no Rust: ./run doctor")
def test_minimize_of_the_crate() -> None:
    """Every update waits for all gradients, so 20 steps give these numbers in every run."""
    lines = dict(_printed("Rust"))

    def run(update: str) -> list[float]:
        values, slots = np.array([1.0, 2.0]), np.zeros((2, 2))
        for _ in range(20):
            gradient = 2 * (values[0] * values[1] - 3) * values[::-1]
            if update == "descent":
                values -= 0.05 * gradient
                continue
            slots[0] = 0.5 * slots[0] + 0.5 * gradient**2
            step = np.sqrt((slots[1] + 1e-4) / (slots[0] + 1e-4)) * gradient
            slots[1] = 0.5 * slots[1] + 0.5 * step**2
            values -= 10 * step
        return [*values, 7.0]

    for update in ("descent", "adadelta"):
        found = [float(x) for x in lines[update].split()]
        np.testing.assert_allclose(found, run(update), rtol=1e-12, err_msg=update)


@every_language
def test_minimize(language: str) -> None:
    lines = dict(_printed(language))
    assert float(lines["loss_scale"]) == 0.375  # 3 - 7/4 - (2 * 5/4 + 1)/4
    # As Python names the variables of tf.train.Checkpoint(x=x, optimizer=optimizer).
    inner = [f"inner_optimizer/{name}" for name in ("_iterations", "_learning_rate")]
    names = [f"optimizer/{name}" for name in (*inner, "step_counter", "dynamic_scale")]
    assert lines["saved"].split()[-4:] == names


@every_language
def test_loads(language: str) -> None:
    assert _load(language, **{_VARIABLE: _LIBRARY}) == ""
    assert _load(language, _LIBRARY) == ""


@one_language
def test_says_which_library_is_missing(language: str, tmp_path: pathlib.Path) -> None:
    for environment in ({}, {_VARIABLE: ""}):
        error = _load(language, **environment)
        assert f"the environment variable {_VARIABLE} is" in error
        assert "expected the path of libtensorflow_ext.so" in error
    missing = str(tmp_path / "libtensorflow_ext.so")
    for error in (_load(language, missing), _load(language, **{_VARIABLE: missing})):
        assert missing in error
        assert "expected the path of libtensorflow_ext.so" in error
    assert _VARIABLE in error
    assert "expected the path of libtensorflow_ext.so" in _load(language, "")


@one_language
def test_says_which_file_is_no_such_library(language: str, tmp_path: pathlib.Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library")
    error = _load(language, str(text))
    assert f'"{text}": TensorFlow cannot load this file' in error
    other = f"{tf.sysconfig.get_lib()}/libtensorflow_framework.so.2"
    error = _load(language, other)
    assert f'"{other}": ' in error
    assert "expected libtensorflow_ext.so, but this file brings other ops" in error or (
        "TensorFlow cannot load this file: Cannot parse OpList" in error
    )
