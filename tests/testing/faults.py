# SPDX-License-Identifier: Apache-2.0
"""Functions whose gradients have one fault each, and how these are to be found."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

_RNG = np.random.default_rng(5)
X = _RNG.uniform(0.5, 2, (2, 3))
_LARGE = _RNG.uniform(0.5, 2, (50, 40))
_COMPLEX = X + 1j * X[::-1]


def with_gradient(forward: Callable, backward: Callable) -> Callable:
    """A function with that gradient, whatever the right one is."""

    @tf.custom_gradient
    def function(*inputs: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        return forward(*inputs), lambda *upstreams: backward(*inputs, *upstreams)

    return function


# dy, whose derivative is said to be 2 dy.
pass_on = with_gradient(tf.identity, lambda _, dy: 2 * dy)
# cos(x), whose derivative is said to be sin(x).
_cos_up = with_gradient(tf.cos, lambda x, dy: tf.sin(x) * dy)


@dataclasses.dataclass(frozen=True)
class Fault:
    """A function with a fault, and how it is to be found."""

    function: Callable
    inputs: Any
    order: int  # At which it shows.
    check: str
    subject: str
    text: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def _random_bits(x: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
    return tf.cos(x) * dy * (1 + 1e-15 * tf.random.uniform(x.shape, 1, 9, x.dtype))


def _in_functions(x: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
    return tf.cos(x) * dy * (1 if tf.executing_eagerly() else 1.001)


def _fails(*_: tf.Tensor) -> tf.Tensor:
    raise KeyError("no such")


def _late(x: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
    late = np.zeros(x.shape)
    late[31, 7] = 1e-3
    return tf.cos(x) * dy * (1 + late)


def _without_zeros(x: tf.Tensor) -> list[tf.Tensor]:
    odd = with_gradient(tf.sin, lambda x, dy: tf.cos(x) * dy * dy / dy)
    return [tf.cos(x), odd(x)]


FAULTS = {
    "factor": Fault(
        with_gradient(tf.sin, lambda x, dy: 1.001 * tf.cos(x) * dy),
        X,
        1,
        "differences",
        "inputs",
        "6 of 6 slopes differ",
    ),
    "factor, float": Fault(
        with_gradient(tf.sin, lambda x, dy: 1.001 * tf.cos(x) * dy),
        X.astype(np.float32),
        1,
        "differences",
        "inputs",
        "slopes differ",
    ),
    "factor, half": Fault(
        with_gradient(tf.sin, lambda x, dy: 1.2 * tf.cos(x) * dy),
        X.astype(np.float16),
        1,
        "differences",
        "inputs",
        "slopes differ",
    ),
    "factor, by a variable": Fault(
        with_gradient(tf.sin, lambda x, dy: 1.01 * tf.cos(x) * dy),
        [tf.Variable(X)],
        1,
        "differences",
        "inputs[0]",
        "slopes differ",
    ),
    "missing term": Fault(
        lambda x: with_gradient(lambda x: x * tf.sin(x), lambda x, dy: tf.sin(x) * dy)(x["a"][0]),
        {"a": (X,)},
        1,
        "differences",
        "inputs['a'][0]",
        "slopes differ",
    ),
    "second of several inputs": Fault(
        with_gradient(tf.multiply, lambda x, y, dy: (y * dy, -x * dy)),
        [X, X[::-1].copy()],
        1,
        "differences",
        "inputs[1]",
        "slopes differ",
    ),
    "conjugate": Fault(
        with_gradient(tf.sin, lambda x, dy: tf.cos(x) * dy),
        _COMPLEX,
        1,
        "differences",
        "inputs",
        "12 of 12 slopes differ",
    ),
    "conjugate, of a real input": Fault(
        with_gradient(
            lambda x: tf.complex(x, x * x),
            lambda x, dy: tf.math.real(dy) - 2 * x * tf.math.imag(dy),
        ),
        X,
        1,
        "differences",
        "inputs",
        "slopes differ",
    ),
    "second order": Fault(
        with_gradient(tf.sin, lambda x, dy: _cos_up(x) * dy),
        X,
        2,
        "differences",
        "inputs",
        "slopes differ",
    ),
    "second order, by the upstream gradient": Fault(
        with_gradient(tf.sin, lambda x, dy: tf.cos(x) * pass_on(dy)),
        X,
        2,
        "differences",
        "upstream of outputs",
        "slopes differ",
        {"forward": False},
    ),
    "third order": Fault(
        with_gradient(
            tf.sin, lambda x, dy: with_gradient(tf.cos, lambda x, dz: -dz * _sin_half(x))(x) * dy
        ),
        X,
        3,
        "differences",
        "inputs",
        "slopes differ",
        {"order": 3, "modes": ["eager"], "batched": False, "forward": False},
    ),
    "bits": Fault(
        with_gradient(tf.sin, _random_bits), X, 1, "same bits twice", "inputs", "two runs differ"
    ),
    "shape": Fault(
        with_gradient(tf.sin, lambda x, dy: tf.reduce_sum(tf.cos(x) * dy)),
        X,
        1,
        "gradient",
        "inputs",
        "shape (), expected (2, 3)",
    ),
    "type": Fault(
        with_gradient(tf.sin, lambda x, dy: tf.cast(tf.cos(x) * dy, tf.float32)),
        X,
        1,
        "gradient",
        "inputs",
        "type float32, expected float64",
    ),
    "None": Fault(
        with_gradient(tf.multiply, lambda x, y, dy: (y * dy, None)),
        [X, X[::-1].copy()],
        1,
        "differences",
        "inputs[1]",
        "no gradient (None), 6 of 6 slopes differ",
    ),
    "None, where one is required": Fault(
        lambda x, y: tf.sin(x) + tf.stop_gradient(0 * y),
        [X, X],
        1,
        "differences",
        "inputs[1]",
        "but one is required",
        {"require": ["inputs[1]"]},
    ),
    "zeros": Fault(
        lambda x: x + tf.stop_gradient(tf.sin(x)), X, 1, "differences", "inputs", "slopes differ"
    ),
    "on a kink": Fault(
        with_gradient(tf.nn.relu, lambda x, dy: tf.where(x < 0, tf.zeros_like(x), 1.5 * dy)),
        np.float64([-1, 0]),
        1,
        "differences",
        "inputs",
        "[1] is on a kink, but the gradient is not between",
    ),
    "beside a kink": Fault(
        with_gradient(tf.nn.relu, lambda x, dy: tf.where(x < 1e-6, 0 * dy, dy)),
        np.float64([1e-7]),
        1,
        "differences",
        "inputs",
        "1 of 1 slopes differ",
    ),
    "large inputs alone": Fault(
        with_gradient(lambda x: x * x, lambda x, dy: 2 * tf.where(abs(x) > 1e4, 1e4, x) * dy),
        np.float64([1, 1e3, 2e4]),
        1,
        "differences",
        "inputs",
        "1 of 3 slopes differ; [2]: ",
    ),
    "one element of many": Fault(
        with_gradient(tf.sin, _late),
        _LARGE,
        1,
        "differences",
        "inputs",
        "; [31, 7]: ",
        {"order": 1},
    ),
    "tf.function": Fault(
        with_gradient(tf.sin, _in_functions),
        X,
        1,
        "in tf.function",
        "inputs",
        "differs from eager mode",
    ),
    "value in tf.function": Fault(
        lambda x: tf.sin(x) + (0 if tf.executing_eagerly() else 1e-3),
        X,
        1,
        "value in tf.function",
        "outputs",
        "differs from eager mode",
    ),
    "upstream gradients that do not add up": Fault(
        with_gradient(tf.identity, lambda _, dy: tf.clip_by_value(dy, -2.0, 2.0)),
        X,
        1,
        "forward mode",
        "inputs",
        "forward and reverse mode differ",
        {"surrogate": True, "upstreams": 3 * X},
    ),
    "one output alone": Fault(
        _without_zeros,
        X,
        1,
        "one output alone",
        "inputs of outputs[0]",
        "differs from zeros for the others",
    ),
    "not a number": Fault(
        lambda x: tf.where(x < 1, tf.acos(x), x),
        np.float64([0.5, 2]),
        1,
        "gradient",
        "inputs",
        "nan at [1], one of 1",
    ),
    "infinite output": Fault(
        tf.math.log, np.float64([1, 0]), 1, "output", "outputs", "-inf at [1]"
    ),
    "no gradient": Fault(
        with_gradient(tf.sin, _fails), X, 1, "gradient", "all", "KeyError: 'no such'"
    ),
    "no gradient of the gradient": Fault(
        with_gradient(tf.sin, lambda x, dy: with_gradient(tf.cos, _fails)(x) * dy),
        X,
        2,
        "gradient",
        "all",
        "KeyError: 'no such'",
        {"forward": False, "batched": False},
    ),
}
_sin_half = with_gradient(tf.sin, lambda x, dy: tf.cos(x) * dy / 2)
