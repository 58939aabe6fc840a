"""Gradients with one fault each: check_gradient names the fault and its place."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from faults import FAULTS, Fault, X, pass_on, with_gradient
from tensorflow.python.framework import ops
from tensorflow.python.ops.parallel_for import pfor

from tensorflow_ext.testing import GradientError, GradientReport, check_gradient


def _report(fault: Fault) -> GradientReport:
    options = {"raise_error": False, **fault.options}
    return check_gradient(fault.function, fault.inputs, **options)


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str) -> None:
    fault = FAULTS[name]
    report = _report(fault)
    first = report.failures[0] if report.failures else None
    assert first, report
    assert first.order == fault.order, report
    assert first.check == fault.check, report
    assert first.subject == fault.subject, report
    assert fault.text in first.text, report


def test_error_names_the_worst_element() -> None:
    fault = FAULTS["one element of many"]
    with pytest.raises(GradientError, match=r"order 1, differences.*\[31, 7\]") as raised:
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
    variable = tf.Variable(X)
    wrong = with_gradient(tf.sin, lambda x, dy: 2 * tf.cos(x) * dy)
    with pytest.raises(GradientError, match="variable"):
        check_gradient(lambda x: x * wrong(variable), X)
    np.testing.assert_array_equal(variable.numpy(), X)


def test_wrong_forward_mode_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def gradient(op: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
        (x,) = op.inputs
        return pass_on(dy) * tf.math.log(x) / (1 - x)

    entry = {**ops.gradient_registry._registry["Spence"], "type": gradient}
    monkeypatch.setitem(ops.gradient_registry._registry, "Spence", entry)
    report = check_gradient(tf.math.special.spence, X, 1, batched=False, raise_error=False)
    assert [f.check for f in report.failures] == ["forward mode"], report
    assert "forward and reverse mode differ" in str(report)


def test_wrong_vectorization_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(pfor_input: Any) -> Any:
        return pfor.wrap(2 * tf.sinh(pfor_input.stacked_input(0)), True)

    monkeypatch.setitem(pfor._pfor_converter_registry, "Sinh", wrong)
    function = with_gradient(
        tf.sin, lambda x, dy: tf.cos(x) * dy + tf.sinh(dy) - (tf.exp(dy) - tf.exp(-dy)) / 2
    )
    report = check_gradient(function, X, 1, raise_error=False, forward=False)
    assert [f.check for f in report.failures] == ["batched gradient"], report


def test_unvectorizable_functions_are_a_note_unless_required() -> None:
    def backward(x: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
        product = tf.numpy_function(np.multiply, [dy, np.cos(x)], [tf.float64])
        return tf.ensure_shape(product, x.shape)

    function = with_gradient(tf.sin, backward)
    options = {"order": 1, "modes": ["eager"], "forward": False, "raise_error": False}
    report = check_gradient(function, X, **options)
    assert report.passed, report
    assert "not possible" in str(report)
    report = check_gradient(function, X, batched=True, **options)
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
        ({"require": "abc"}, r"require=\['abc'\]; expected some of \['inputs'\]"),
        ({"fixed": "abc"}, r"fixed=\['abc'\]; expected some of \['inputs'\]"),
        ({"require": ["x"]}, r"require=\['x'\]; expected some of \['inputs'\]"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_gradient(tf.sin, X, **options)


def test_nothing_to_differentiate() -> None:
    with pytest.raises(ValueError, match="no input is floating or complex"):
        check_gradient(lambda x: tf.cast(x, tf.float32), np.int32([1]))
    with pytest.raises(ValueError, match="no floating or complex tensor"):
        check_gradient(lambda x: tf.cast(x, tf.int32), X)


def test_upstream_gradients_are_in_the_report() -> None:
    wrong = with_gradient(tf.sin, lambda x, dy: 2 * tf.cos(x) * dy)
    reports = [
        check_gradient(wrong, X, 1, seed=seed, modes=["eager"], raise_error=False)
        for seed in (4, 4, 5)
    ]
    first, same, other = (r.upstreams[1, "outputs"] for r in reports)
    assert first.shape == X.shape
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)
    worst = reports[0].failures[0].worst
    assert worst is not None
    row, column = map(int, worst.index[1:-1].split(", "))
    slope = np.cos(X[row, column]) * first[row, column]
    assert worst.analytic == pytest.approx(2 * slope)
    assert worst.numeric == pytest.approx(slope)
    assert "upstream gradient of order 1, outputs: [" in str(reports[0])
