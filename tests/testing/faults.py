"""Functions whose gradients have one fault each, and the expected findings."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

_RNG = np.random.default_rng(5)
X = _RNG.uniform(0.5, 2, (2, 3))
_LARGE = _RNG.uniform(0.5, 2, (50, 40))


def with_gradient(forward: Callable, backward: Callable) -> Callable:
    """A function with that gradient, right or wrong."""

    @tf.custom_gradient
    def function(*inputs: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        return forward(*inputs), lambda *upstreams: backward(*inputs, *upstreams)

    return function


def sin_with(backward: Callable) -> Callable:
    return with_gradient(tf.sin, backward)


# dy, with the wrong derivative 2 dy.
pass_on = with_gradient(tf.identity, lambda _, dy: 2 * dy)
# cos(x), with the wrong derivative sin(x).
_cos_up = with_gradient(tf.cos, lambda x, dy: tf.sin(x) * dy)


@dataclasses.dataclass(frozen=True)
class Fault:
    """A function with a fault, and the finding that reports it."""

    function: Callable
    inputs: Any = dataclasses.field(default_factory=lambda: X)
    _: dataclasses.KW_ONLY
    order: int = 1
    check: str = "differences"
    subject: str = "inputs"
    text: str = "slopes differ"
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


_sin_half = sin_with(lambda x, dy: tf.cos(x) * dy / 2)
_cos_half = with_gradient(tf.cos, lambda x, dy: -dy * _sin_half(x))
_missing_term = with_gradient(lambda x: x * tf.sin(x), lambda x, dy: tf.sin(x) * dy)
_without_zeros = sin_with(lambda x, dy: tf.cos(x) * dy * dy / dy)

FAULTS = {
    "factor": Fault(sin_with(lambda x, dy: 1.001 * tf.cos(x) * dy), text="6 of 6 slopes differ"),
    "factor, float": Fault(sin_with(lambda x, dy: 1.001 * tf.cos(x) * dy), X.astype(np.float32)),
    "factor, half": Fault(sin_with(lambda x, dy: 1.2 * tf.cos(x) * dy), X.astype(np.float16)),
    "factor, by a variable": Fault(
        sin_with(lambda x, dy: 1.01 * tf.cos(x) * dy), [tf.Variable(X)], subject="inputs[0]"
    ),
    "missing term": Fault(
        lambda x: _missing_term(x["a"][0]), {"a": (X,)}, subject="inputs['a'][0]"
    ),
    "second of several inputs": Fault(
        with_gradient(tf.multiply, lambda x, y, dy: (y * dy, -x * dy)),
        [X, X[::-1].copy()],
        subject="inputs[1]",
    ),
    "conjugate": Fault(
        sin_with(lambda x, dy: tf.cos(x) * dy), X + 1j * X[::-1], text="12 of 12 slopes differ"
    ),
    "conjugate, of a real input": Fault(
        with_gradient(
            lambda x: tf.complex(x, x * x),
            lambda x, dy: tf.math.real(dy) - 2 * x * tf.math.imag(dy),
        )
    ),
    "second order": Fault(sin_with(lambda x, dy: _cos_up(x) * dy), order=2),
    "second order, by the upstream gradient": Fault(
        sin_with(lambda x, dy: tf.cos(x) * pass_on(dy)),
        order=2,
        subject="upstream of outputs",
        options={"forward": False},
    ),
    "third order": Fault(
        sin_with(lambda x, dy: _cos_half(x) * dy),
        order=3,
        options={"order": 3, "modes": ["eager"], "batched": False, "forward": False},
    ),
    "bits": Fault(sin_with(_random_bits), check="same bits twice", text="two runs differ"),
    "shape": Fault(
        sin_with(lambda x, dy: tf.reduce_sum(tf.cos(x) * dy)),
        check="gradient",
        text="shape (), expected (2, 3)",
    ),
    "type": Fault(
        sin_with(lambda x, dy: tf.cast(tf.cos(x) * dy, tf.float32)),
        check="gradient",
        text="type float32, expected float64",
    ),
    "None": Fault(
        with_gradient(tf.multiply, lambda x, y, dy: (y * dy, None)),
        [X, X[::-1].copy()],
        subject="inputs[1]",
        text="no gradient (None), 6 of 6 slopes differ",
    ),
    "None, where one is required": Fault(
        lambda x, y: tf.sin(x) + tf.stop_gradient(0 * y),
        [X, X],
        subject="inputs[1]",
        text="but one is required",
        options={"require": ["inputs[1]"]},
    ),
    "zeros": Fault(lambda x: x + tf.stop_gradient(tf.sin(x))),
    "on a kink": Fault(
        with_gradient(tf.nn.relu, lambda x, dy: tf.where(x < 0, tf.zeros_like(x), 1.5 * dy)),
        np.float64([-1, 0]),
        text="[1] is on a kink, but the gradient is not between",
    ),
    "beside a kink": Fault(
        with_gradient(tf.nn.relu, lambda x, dy: tf.where(x < 1e-6, 0 * dy, dy)),
        np.float64([1e-7]),
        text="1 of 1 slopes differ",
    ),
    "large inputs alone": Fault(
        with_gradient(lambda x: x * x, lambda x, dy: 2 * tf.where(abs(x) > 1e4, 1e4, x) * dy),
        np.float64([1, 1e3, 2e4]),
        text="1 of 3 slopes differ; [2]: ",
    ),
    "one element of many": Fault(sin_with(_late), _LARGE, text="; [31, 7]: ", options={"order": 1}),
    "tf.function": Fault(
        sin_with(_in_functions), check="in tf.function", text="differs from eager mode"
    ),
    "value in tf.function": Fault(
        lambda x: tf.sin(x) + (0 if tf.executing_eagerly() else 1e-3),
        check="value in tf.function",
        subject="outputs",
        text="differs from eager mode",
    ),
    "upstream gradients that do not add up": Fault(
        with_gradient(tf.identity, lambda _, dy: tf.clip_by_value(dy, -2.0, 2.0)),
        check="forward mode",
        text="forward and reverse mode differ",
        options={"surrogate": True, "upstreams": 3 * X},
    ),
    "one output alone": Fault(
        lambda x: [tf.cos(x), _without_zeros(x)],
        check="one output alone",
        subject="inputs of outputs[0]",
        text="differs from zeros for the others",
    ),
    "not a number": Fault(
        lambda x: tf.where(x < 1, tf.acos(x), x),
        np.float64([0.5, 2]),
        check="gradient",
        text="nan at [1], one of 1",
    ),
    "infinite output": Fault(
        tf.math.log, np.float64([1, 0]), check="output", subject="outputs", text="-inf at [1]"
    ),
    "no gradient": Fault(
        sin_with(_fails), check="gradient", subject="all", text="KeyError: 'no such'"
    ),
    "no gradient of the gradient": Fault(
        sin_with(lambda x, dy: with_gradient(tf.cos, _fails)(x) * dy),
        order=2,
        check="gradient",
        subject="all",
        text="KeyError: 'no such'",
        options={"forward": False, "batched": False},
    ),
}
