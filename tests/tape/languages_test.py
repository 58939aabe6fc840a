"""GradientTape of Java and Rust gives what Python's does; the examples of all languages with an
eager mode train as Python does.
"""

import gzip
import os
import pathlib

import commands
import numpy as np
import pytest
import tensorflow as tf
from sampling import of_commit

from tensorflow_ext import sysconfig

_LIBRARY = f"{sysconfig.get_lib()}/libtensorflow_ext.so"
_ENVIRONMENT = {**os.environ, "TENSORFLOW_EXT_LIBRARY": _LIBRARY}
_DIGITS = pathlib.Path("examples/digits.csv.gz")
IMAGES, HIDDEN, STEPS, RATE = 256, 32, 200, 0.5
TOLERANCE = 1e-6


def _programs(variable: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in os.environ[variable].split())


_USE_TAPE, _TRAIN = _programs("USE_TAPE"), _programs("TRAIN_EAGERLY")

# By both programs, with x = [1, 2, 3] and w = [4, 5, 6].
_X, _W = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
_ZEROS = np.zeros(3)
_TENSORS = {
    "list": [_X, _W],
    "unconnected": [_ZEROS],
    "upstream": [2 * _X * _W + _W * _X],
    "same": [_X, _X],
    "persistent_1": [2 * _X],
    "persistent_2": [3 * _X**2],
    "second_order": [6 * _X],
    "jacobian": [np.diag(2 * _X * _W)],
    "jacobians": [np.diag(2 * _X * _W), np.diag(_X**2)],
    "jvp": [2 * _X * _W],
    "jvps": [2 * _X * _W, 2 * _W**2],
    "variable": [2 * _W * _X],
    "variables": [2 * _W * _X, _ZEROS],
    "no_variables": [_ZEROS],
    "slices": [_X, np.array([2.0, 0.0, 2.0]), np.array([3.0])],
    "not_slices": [_W[[2, 0, 2]]],
    "reasons": [np.array([0.0, len("the gradient of op Mul is dense")])],
    "summed_slices": [np.array([_X[0] * _W[0] + _X[2] * _W[2], _X[1] * _W[1]]), np.array([2, 0])],
    "stopped": [2 * _X * _X**2],
    "reset": [-np.ones(3)],
    "asynchronous": [2 * _W],
}
_ERRORS = {
    "unwatched": (
        "x[0] is no tensor that the tape watches. Watch it before the ops run that lead to y"
    ),
    "not_persistent": (
        "A Jacobian takes a gradient for each element of y. Make the tape persistent"
    ),
    "shape": "dy[0]: expected double[3] as of y[0], got double[]",
    "integers": (
        "x[0] has the type int32, which has no gradient; expected floating point or complex "
        "numbers, or the handle of a variable"
    ),
    "no_gradient": (
        "No gradient defined for op: KmeansPlusPlusInitialization. Write one in C++ "
        "(REGISTER_OP_GRADIENT) and load its library, or register one in C "
        "(TfExt_RegisterGradient), or stop the tape while the op runs"
    ),
    "used_up": (
        "The tape is used up: it gave its gradient. Make it persistent to ask for more than one, "
        "or reset it to record anew"
    ),
    "unconnected_jacobian": "TfExt>TapeJacobian: y does not depend on x[0]",
    "tangents": "TfExt>TapeJvp: expected a tangent for each x: 1, got 0",
}
# Errors that Rust's compiler finds, or that cannot happen there.
_ERRORS_OF_JAVA = {
    "closed": "The gradient tape is closed.",
    "no_y": "GradientTape: y: expected at least one tensor, got none",
    "graph": (
        "GradientTape: expected an eager session, got a graph; Graph.addGradients adds the "
        "gradients of a graph"
    ),
}


def _run(program: str, lines: str = "") -> list[str]:
    return commands.run(program, input=lines, env=_ENVIRONMENT).splitlines()


@pytest.mark.parametrize("language", _USE_TAPE)
def test_gives_gradients_and_errors(language: str) -> None:
    tensors: dict[str, np.ndarray] = {}
    errors: dict[str, str] = {}
    for line in _run(_USE_TAPE[language]):
        name, _, rest = line.partition(" ")
        if name.endswith("!"):
            # The text of Rust's status begins with its code.
            errors[name[:-1]] = rest.partition(": ")[2] if language == "Rust" else rest
        else:
            tensors[name] = np.array(rest.split(), float)
    assert errors == {**_ERRORS, **(_ERRORS_OF_JAVA if language == "Java" else {})}
    expected = {**_TENSORS, "mish": [_mish_gradient()]}
    assert tensors.keys() == expected.keys()
    for name, values in expected.items():
        flat = np.concatenate([value.ravel() for value in values])
        np.testing.assert_allclose(tensors[name], flat, rtol=1e-12, err_msg=name)


def _mish_gradient() -> np.ndarray:
    x = tf.constant(_X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * tf.tanh(tf.math.softplus(x))
    return tape.gradient(y, x).numpy()


def _train_in_python(lines: str) -> list[float]:
    data = np.loadtxt(lines.splitlines()[:IMAGES], np.int32, delimiter=",")
    images, digits = tf.constant(data[:, :64] / 16), tf.constant(data[:, 64])
    weights = [
        tf.Variable((np.sin(np.arange(rows * columns) + 1.0) / 5).reshape(rows, columns))
        for rows, columns in ((64, HIDDEN), (HIDDEN, 10))
    ]
    losses = []
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(images @ weights[0]) @ weights[1]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(digits, logits))
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(RATE * gradient)
        losses.append(float(loss))
    return losses


@pytest.fixture(scope="module")
def digits() -> str:
    return gzip.decompress(_DIGITS.read_bytes()).decode()


@pytest.fixture(scope="module")
def python(digits: str) -> list[float]:
    return _train_in_python(digits)


# Each commit runs two languages, the release check all.
@pytest.mark.parametrize("language", of_commit("trains", [*_TRAIN], 2))
def test_trains_as_python_does(language: str, digits: str, python: list[float]) -> None:
    losses = np.array(_run(_TRAIN[language], digits), float)
    assert len(losses) == STEPS
    assert losses[-1] < losses[0] / 10
    np.testing.assert_allclose(losses, python, rtol=TOLERANCE, atol=0)
