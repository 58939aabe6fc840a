# SPDX-License-Identifier: Apache-2.0
"""Gradients with one fault each: check_gradient names it, and where it is."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext.testing import GradientError, GradientReport, check_gradient

_RNG = np.random.default_rng(5)
_X = _RNG.uniform(0.5, 2, (2, 3))
_LARGE = _RNG.uniform(0.5, 2, (50, 40))
_COMPLEX = _X + 1j * _X[::-1]


def with_gradient(forward: Callable, backward: Callable) -> Callable:
    """A function with that gradient, whatever the right one is."""

    @tf.custom_gradient
    def function(*inputs: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        return forward(*inputs), lambda *upstreams: backward(*inputs, *upstreams)

    return function


# dy, whose derivative is said to be 2 dy.
_pass_on = with_gradient(tf.identity, lambda _, dy: 2 * dy)
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


_FAULTS = {
    "factor": Fault(
        with_gradient(tf.sin, lambda x, dy: 1.001 * tf.cos(x) * dy),
        _X,
        1,
        "differences",
        "inputs",
        "6 of 6 slopes are others",
    ),
    "factor, float": Fault(
        with_gradient(tf.sin, lambda x, dy: 1.001 * tf.cos(x) * dy),
        _X.astype(np.float32),
        1,
        "differences",
        "inputs",
        "slopes are others",
    ),
    "factor, half": Fault(
        with_gradient(tf.sin, lambda x, dy: 1.2 * tf.cos(x) * dy),
        _X.astype(np.float16),
        1,
        "differences",
        "inputs",
        "slopes are others",
    ),
    "factor, by a variable": Fault(
        with_gradient(tf.sin, lambda x, dy: 1.01 * tf.cos(x) * dy),
        [tf.Variable(_X)],
        1,
        "differences",
        "inputs[0]",
        "slopes are others",
    ),
    "missing term": Fault(
        lambda x: with_gradient(lambda x: x * tf.sin(x), lambda x, dy: tf.sin(x) * dy)(
            x["a"][0]
        ),
        {"a": (_X,)},
        1,
        "differences",
        "inputs['a'][0]",
        "slopes are others",
    ),
    "second of several inputs": Fault(
        with_gradient(tf.multiply, lambda x, y, dy: (y * dy, -x * dy)),
        [_X, _X[::-1].copy()],
        1,
        "differences",
        "inputs[1]",
        "slopes are others",
    ),
    "conjugate": Fault(
        with_gradient(tf.sin, lambda x, dy: tf.cos(x) * dy),
        _COMPLEX,
        1,
        "differences",
        "inputs",
        "12 of 12 slopes are others",
    ),
    "conjugate, of a real input": Fault(
        with_gradient(
            lambda x: tf.complex(x, x * x),
            lambda x, dy: tf.math.real(dy) - 2 * x * tf.math.imag(dy),
        ),
        _X,
        1,
        "differences",
        "inputs",
        "slopes are others",
    ),
    "second order": Fault(
        with_gradient(tf.sin, lambda x, dy: _cos_up(x) * dy),
        _X,
        2,
        "differences",
        "inputs",
        "slopes are others",
    ),
    "second order, by the upstream gradient": Fault(
        with_gradient(tf.sin, lambda x, dy: tf.cos(x) * _pass_on(dy)),
        _X,
        2,
        "differences",
        "upstream of outputs",
        "slopes are others",
        {"forward": False},
    ),
    "third order": Fault(
        with_gradient(
            tf.sin,
            lambda x, dy: (
                with_gradient(tf.cos, lambda x, dz: -dz * _sin_half(x))(x) * dy
            ),
        ),
        _X,
        3,
        "differences",
        "inputs",
        "slopes are others",
        {"order": 3, "modes": ["eager"], "batched": False, "forward": False},
    ),
    "bits": Fault(
        with_gradient(tf.sin, _random_bits),
        _X,
        1,
        "same bits twice",
        "inputs",
        "two runs differ",
    ),
    "shape": Fault(
        with_gradient(tf.sin, lambda x, dy: tf.reduce_sum(tf.cos(x) * dy)),
        _X,
        1,
        "gradient",
        "inputs",
        "shape (), expected (2, 3)",
    ),
    "type": Fault(
        with_gradient(tf.sin, lambda x, dy: tf.cast(tf.cos(x) * dy, tf.float32)),
        _X,
        1,
        "gradient",
        "inputs",
        "type float32, expected float64",
    ),
    "None": Fault(
        with_gradient(tf.multiply, lambda x, y, dy: (y * dy, None)),
        [_X, _X[::-1].copy()],
        1,
        "differences",
        "inputs[1]",
        "no gradient (None), 6 of 6 slopes are others",
    ),
    "None, where one is required": Fault(
        lambda x, y: tf.sin(x) + tf.stop_gradient(0 * y),
        [_X, _X],
        1,
        "differences",
        "inputs[1]",
        "but one is required",
        {"require": ["inputs[1]"]},
    ),
    "zeros": Fault(
        lambda x: x + tf.stop_gradient(tf.sin(x)),
        _X,
        1,
        "differences",
        "inputs",
        "slopes are others",
    ),
    "on a kink": Fault(
        with_gradient(
            tf.nn.relu, lambda x, dy: tf.where(x < 0, tf.zeros_like(x), 1.5 * dy)
        ),
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
        "1 of 1 slopes are others",
    ),
    "large inputs alone": Fault(
        with_gradient(
            lambda x: x * x, lambda x, dy: 2 * tf.where(abs(x) > 1e4, 1e4, x) * dy
        ),
        np.float64([1, 1e3, 2e4]),
        1,
        "differences",
        "inputs",
        "1 of 3 slopes are others; [2]: ",
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
        _X,
        1,
        "in tf.function",
        "inputs",
        "is not what the tape gives in eager mode",
    ),
    "one output alone": Fault(
        _without_zeros,
        _X,
        1,
        "one output alone",
        "inputs of outputs[0]",
        "is not what the tape gives",
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
        with_gradient(tf.sin, _fails), _X, 1, "gradient", "all", "KeyError: 'no such'"
    ),
    "no gradient of the gradient": Fault(
        with_gradient(tf.sin, lambda x, dy: with_gradient(tf.cos, _fails)(x) * dy),
        _X,
        2,
        "gradient",
        "all",
        "KeyError: 'no such'",
        {"forward": False, "batched": False},
    ),
}
_sin_half = with_gradient(tf.sin, lambda x, dy: tf.cos(x) * dy / 2)


def _report(fault: Fault) -> GradientReport:
    options = {"raise_error": False, **fault.options}
    return check_gradient(fault.function, fault.inputs, **options)


@pytest.mark.parametrize("name", _FAULTS)
def test_fault_is_found(name: str) -> None:
    fault = _FAULTS[name]
    report = _report(fault)
    first = report.failures[0] if report.failures else None
    assert first, report
    assert first.order == fault.order, report
    assert first.check == fault.check, report
    assert first.subject == fault.subject, report
    assert fault.text in first.text, report


def test_error_names_the_worst_element() -> None:
    fault = _FAULTS["one element of many"]
    with pytest.raises(
        GradientError, match=r"order 1, differences.*\[31, 7\]"
    ) as raised:
        check_gradient(fault.function, fault.inputs, order=1, modes=["eager"])
    report = raised.value.report
    worst = report.failures[0].worst
    assert worst is not None
    assert worst.index == "[31, 7]"
    assert worst.analytic / worst.numeric == pytest.approx(1.001, abs=1e-6)
    assert worst.step is not None
    assert not report.passed
    assert isinstance(raised.value, AssertionError)


def test_variable_has_its_value_after_a_fault() -> None:
    variable = tf.Variable(_X)
    wrong = with_gradient(tf.sin, lambda x, dy: 2 * tf.cos(x) * dy)
    with pytest.raises(GradientError, match="variable"):
        check_gradient(lambda x: x * wrong(variable), _X)
    np.testing.assert_array_equal(variable.numpy(), _X)


def test_wrong_forward_mode_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def gradient(op: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
        (x,) = op.inputs
        return _pass_on(dy) * tf.math.log(x) / (1 - x)

    entry = {**ops.gradient_registry._registry["Spence"], "type": gradient}
    monkeypatch.setitem(ops.gradient_registry._registry, "Spence", entry)
    report = check_gradient(
        tf.math.special.spence, _X, 1, batched=False, raise_error=False
    )
    assert [f.check for f in report.failures] == ["forward mode"], report
    assert "forward and reverse mode differ" in str(report)


def test_wrong_vectorization_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(pfor_input: Any) -> Any:
        return pfor.wrap(2 * tf.sinh(pfor_input.stacked_input(0)), True)

    monkeypatch.setitem(pfor._pfor_converter_registry, "Sinh", wrong)
    function = with_gradient(
        tf.sin,
        lambda x, dy: tf.cos(x) * dy + tf.sinh(dy) - (tf.exp(dy) - tf.exp(-dy)) / 2,
    )
    report = check_gradient(function, _X, 1, raise_error=False, forward=False)
    assert [f.check for f in report.failures] == ["batched gradient"], report


def test_what_cannot_be_vectorized_is_a_note_unless_required() -> None:
    def backward(x: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
        product = tf.numpy_function(np.multiply, [dy, np.cos(x)], [tf.float64])
        return tf.ensure_shape(product, x.shape)

    function = with_gradient(tf.sin, backward)
    options = {"order": 1, "modes": ["eager"], "forward": False, "raise_error": False}
    report = check_gradient(function, _X, **options)
    assert report.passed, report
    assert "not possible" in str(report)
    report = check_gradient(function, _X, batched=True, **options)
    assert [f.check for f in report.failures] == ["batched gradient"], report


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": 0}, "order=0; expected 1 or more"),
        ({"modes": ["graph"]}, r"modes=\['graph'\]; expected some of eager, function"),
        ({"modes": []}, r"modes=\[\]"),
        ({"elements": 0}, "elements=0"),
        ({"directions": -1}, "directions=-1"),
        ({"step": 0.0}, "step=0.0"),
        ({"require": ["x"]}, r"require=\['x'\]; expected some of \['inputs'\]"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_gradient(tf.sin, _X, **options)


def test_nothing_to_differentiate() -> None:
    with pytest.raises(ValueError, match="no input is floating or complex"):
        check_gradient(lambda x: tf.cast(x, tf.float32), np.int32([1]))
    with pytest.raises(ValueError, match="no floating or complex tensor"):
        check_gradient(lambda x: tf.cast(x, tf.int32), _X)
