"""check_gradient: its arguments, its modes and its report."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensorflow_ext.testing import Outcome, check_gradient

_X = np.random.default_rng(2).uniform(0.3, 0.9, (2, 3))
_QUICK: dict[str, Any] = {"order": 1, "batched": False, "forward": False}

# Order 2 has one output, the gradient, and is not batched unless requested.
_FIRST_ORDER = (
    "value in tf.function",
    "one output alone",
    "batched gradient",
    "batched forward mode",
)


def _checks(report: Any) -> set[str]:
    return {finding.check for finding in report.findings}


def test_every_way_is_checked_by_default() -> None:
    report = check_gradient(lambda x: (tf.sin(x) * x, tf.exp(x)), _X)
    for order in (1, 2):
        assert {f.check for f in report.findings if f.order == order} == {
            "same bits twice",
            "differences",
            "in tf.function",
            "of tf.function",
            "forward mode",
            *(_FIRST_ORDER if order == 1 else []),
        }
    assert {f.subject for f in report.findings if f.order == 2} >= {
        "inputs",
        "upstream of outputs[0]",
        "upstream of outputs[1]",
    }
    assert all(f.outcome is Outcome.PASSED for f in report.findings)


def test_all_orders_are_batched_on_request() -> None:
    report = check_gradient(tf.sin, _X, order=3, batched=True)
    batched = [f.order for f in report.findings if f.check == "batched gradient"]
    assert batched == [1, 2, 3]


def test_compiled_by_xla() -> None:
    report = check_gradient(tf.sin, _X, 2, modes=["eager", "xla"], batched=False)
    assert {"compiled by XLA", "value compiled by XLA"} <= _checks(report)
    assert "in tf.function" not in _checks(report)


def test_function_that_python_cannot_trace() -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(x) * float(x.numpy().shape[0])

    assert check_gradient(function, _X, modes=["eager"], batched=False).passed
    report = check_gradient(function, _X, batched=False, raise_error=False)
    assert [f.check for f in report.failures][:1] == ["value in tf.function"]


def test_upstream_gradients_of_the_user() -> None:
    upstreams = [2 * _X, None, np.float64(3)]

    def function(x: tf.Tensor) -> list[Any]:
        return [tf.sin(x), None, tf.reduce_sum(x)]

    report = check_gradient(function, _X, upstreams=upstreams, **_QUICK)
    np.testing.assert_array_equal(report.upstreams[1, "outputs[0]"], 2 * _X)
    assert report.upstreams[1, "outputs[2]"] == 3
    with pytest.raises(ValueError, match=r"1 upstream gradients; expected 2"):
        check_gradient(function, _X, upstreams=[_X], **_QUICK)
    with pytest.raises(ValueError, match=r"shape \(\); expected \(2, 3\), the shape of out"):
        check_gradient(function, _X, upstreams=[0.0, 0.0], **_QUICK)


@pytest.mark.parametrize("modes", [["function"], ["xla"]])
def test_function_that_needs_a_graph(modes: list[str]) -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        if tf.executing_eagerly():
            raise AssertionError("not eagerly")
        return tf.sin(x)

    assert check_gradient(function, _X, modes=modes, batched=False).passed


def test_variables_that_a_function_reads() -> None:
    factor = tf.Variable(_X, name="factor")
    constant = tf.Variable(_X, trainable=False, name="constant")

    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(x * factor) * constant

    report = check_gradient(function, _X)
    names = {f.subject for f in report.findings if f.check == "differences"}
    assert "variable factor:0" in names
    assert "variable constant:0" not in names
    np.testing.assert_array_equal(factor.numpy(), _X)
    report = check_gradient(function, _X, variables=[constant], **_QUICK)
    assert "variable constant:0" in str(report)
    assert "variable factor:0" not in str(report)


def test_variable_as_input() -> None:
    report = check_gradient(tf.multiply, [tf.Variable(_X), _X])
    names = [f.subject for f in report.findings if f.check == "differences"]
    assert {"inputs[0]", "inputs[1]"} <= set(names)


def test_layer_of_keras() -> None:
    layer = keras.layers.Dense(2, activation="tanh")
    report = check_gradient(layer, _X.astype(np.float32), **_QUICK)
    assert len([f for f in report.findings if f.check == "differences"]) == 3
    # The variables are float, so the differences are too.
    assert report.settings["differences in"] == "float32"


@pytest.mark.parametrize(
    ("dtype", "differences"),
    [
        (tf.float16, "float64"),
        (tf.bfloat16, "float64"),
        (tf.float32, "float64"),
        (tf.float64, "float64"),
        (tf.complex64, "complex128"),
    ],
)
def test_differences_are_in_double(dtype: tf.DType, differences: str) -> None:
    report = check_gradient(lambda x: x * x, tf.cast(_X, dtype), **_QUICK)
    assert report.settings["gradients in"] == dtype.name
    assert report.settings["differences in"] == differences


def test_differences_are_in_the_type_that_a_function_takes() -> None:
    half = tf.constant(0.5)
    report = check_gradient(lambda x: x * half, _X.astype(np.float32), **_QUICK)
    assert report.settings["differences in"] == "float32"


def test_function_that_differs_in_double() -> None:
    report = check_gradient(lambda x: x * x.dtype.size, np.float32(_X), **_QUICK)
    assert report.settings["differences in"] == "float32"


def test_graphs_are_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="check_gradient runs eagerly"):
        check_gradient(tf.sin, _X)


def test_integers_and_fixed_inputs_are_skipped() -> None:
    def function(x: tf.Tensor, n: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return x * tf.cast(n, x.dtype) + tf.stop_gradient(y)

    inputs = [_X, np.int32(3), _X]
    assert not check_gradient(function, inputs, raise_error=False, **_QUICK).passed
    report = check_gradient(function, inputs, fixed=["inputs[2]"], **_QUICK)
    alone = [f.subject for f in report.findings if f.message == "left alone"]
    assert alone == ["inputs[1]", "inputs[2]"]
    of_one_name = check_gradient(function, inputs, fixed="inputs[2]", **_QUICK)
    assert str(of_one_name) == str(report)


def test_surrogate_gradient_starts_at_order_2() -> None:
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x) + tf.stop_gradient(tf.sign(x) - tf.tanh(x))

    assert not check_gradient(function, _X, raise_error=False, **_QUICK).passed
    report = check_gradient(function, _X, surrogate=True)
    assert {f.order for f in report.findings if f.check == "differences"} == {2}


def test_kinks_and_jumps_are_named() -> None:
    x = np.float64([-1, 0, 1e-9, 1])
    text = str(check_gradient(tf.nn.relu, x))
    assert "a step crosses a kink at 1 of 4, first [1]" in text
    assert "the gradient is between them" in text
    assert "not judged: 1 of 4, first [1], on a jump" in text


def test_edge_of_the_domain_is_named() -> None:
    report = check_gradient(lambda x: x * tf.sqrt(x), np.float64([0, 1]), **_QUICK)
    assert "at the edge of the domain" in str(report)


def test_large_input_is_sampled() -> None:
    calls = []

    def function(x: tf.Tensor) -> tf.Tensor:
        calls.append(x)
        return tf.sin(x)

    x = np.random.default_rng(1).normal(size=100_000)
    report = check_gradient(function, x, modes=["eager"], elements=4, **_QUICK)
    assert "6 slopes of 100000 elements" in str(report)
    assert len(calls) < 40
