"""tensorflow_ext.override_gradient: the calls that it refuses, and its messages."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gradient_modes import eager, graph, inside, loop, outside
from tensorflow.core.framework import function_pb2

import tensorflow_ext as tfe

X = tf.constant([-2.0, 0.5, 3.0])


@pytest.mark.parametrize("mode", [eager, outside, inside, graph, loop])
@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (1, TypeError, "input 0 (x) 1; expected a tensor of type float32 and shape"),
        (0.5, TypeError, " 0.5; expected a tensor of type float32 and shape (3,)"),
        (np.ones(3, "f"), TypeError, "a NumPy array of shape (3,); expected a tensor"),
        ("dy", TypeError, " 'dy'; expected a tensor"),
        ([], ValueError, "returned 0 gradients; expected 1, one for each input"),
        ([None, None], ValueError, "returned 2 gradients; expected 1"),
        (tf.ones([3], tf.float64), TypeError, "type float64; expected float32, the type"),
        (tf.ones([2]), ValueError, "shape (2,); expected (3,), the shape of the input"),
        (tf.ones([]), ValueError, "shape (); expected (3,), the shape of the input"),
    ],
)
def test_result(result: Any, error: type[Exception], message: str, mode: Callable) -> None:
    def wrong(op: Any, dy: tf.Tensor) -> Any:
        if isinstance(result, tf.Tensor):
            return tf.constant(result.numpy())
        return result

    with tfe.override_gradient({"Sign": wrong}), pytest.raises(error) as raised:
        mode(tf.sign, X)
    assert message in str(raised.value)
    assert "of Sign" in str(raised.value)
    assert "wrong" in str(raised.value)


def test_result_of_several_inputs() -> None:
    wrong = tfe.override_gradient({"Mul": lambda op, dy: [dy, 1]})
    with wrong, pytest.raises(TypeError, match=r"input 1 \(y\) 1; expected a tensor"):
        eager(lambda x: x * tf.constant(2.0), X)
    single = tfe.override_gradient({"Mul": lambda op, dy: dy})
    with single, pytest.raises(ValueError, match=r"1 gradients; expected 2.*0 \(x\), 1 "):
        eager(lambda x: x * tf.constant(2.0), X)


def test_shape_known_at_run_time() -> None:
    function = tf.function(tf.sign, input_signature=[tf.TensorSpec([3])])
    wrong = tfe.override_gradient({"Sign": lambda op, dy: tf.boolean_mask(dy, dy > 1)})
    with wrong, pytest.raises(tf.errors.InvalidArgumentError, match="gradient_of_Sign"):
        eager(function, X)


@pytest.mark.parametrize(
    ("gradients", "error", "message"),
    [
        (["Sign"], TypeError, "expected a dictionary from op types to gradients"),
        ({1: None}, TypeError, "expected op types, such as 'Sign', not 1"),
        ({"Signn": None}, ValueError, "there is no op 'Signn' (did you mean 'Sign'?)"),
        ({"TfExt>Rellu": None}, ValueError, "did you mean 'TfExt>Relu'"),
        ({"Sign": 3}, TypeError, "the gradient of 'Sign' is 3; expected the name of"),
        ({"Sign": tf.Module}, TypeError, "expected the name of an op, a FunctionDef"),
        ({"Sign": "Signn"}, ValueError, "gradient of 'Sign': there is no op 'Signn'"),
        ({"Sign": "RiscDot"}, ValueError, "the op 'RiscDot' has no gradient"),
        ({"Sign": "MatMul"}, ValueError, "'MatMul' has the inputs (a, b) and 'Sign'"),
        ({"Sign": "TopKV2"}, ValueError, "the same number of inputs"),
        ({"Const": None}, ValueError, "it has no inputs"),
        ({"Print": None, "Assert": None}, ValueError, "it has no outputs"),
        ({"StatelessIf": None}, ValueError, "it calls functions"),
        ({"Assign": None}, ValueError, "a variable of TensorFlow 1 in place"),
        ({"ReadVariableOp": None}, ValueError, "an op that takes the value"),
    ],
)
def test_arguments(gradients: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        tfe.override_gradient(gradients)
    assert message in str(raised.value)
    assert str(raised.value).startswith("override_gradient: ")


def test_mismatched_types() -> None:
    x = tf.constant([1 + 2j])
    replaced = tfe.override_gradient({"Sign": "TfExt>SignStraightThrough"})
    with replaced, pytest.raises(TypeError, match=r"T=complex128.* takes float16, bfloat16"):
        eager(lambda x: tf.raw_ops.Sign(x=x), x)


def test_missing_attribute() -> None:
    replaced = tfe.override_gradient({"Relu": "Reciprocal", "Sign": "Cast"})
    with replaced:
        assert eager(tf.nn.relu, X)[0].shape == (3,)
        with pytest.raises(ValueError, match="'DstT' without a default, and 'Sign' does"):
            eager(tf.sign, X)


def test_mismatched_definition() -> None:
    with pytest.raises(ValueError, match=r"has 0 arguments.*'Sign' it needs 2"):
        tfe.override_gradient({"Sign": function_pb2.FunctionDef()})
    definition = tfe.gradients.function_def("Pack", T=tf.float32, N=2)
    with pytest.raises(ValueError, match=r"arguments|lists of tensors"):
        tfe.override_gradient({"Pack": definition})
    definition = tfe.gradients.function_def("TfExt>SignStraightThrough", T=tf.float32)
    (node,) = (node for node in definition.node_def if "clip" in node.attr)
    node.attr["clip"].placeholder = "clip"  # The op's own, as in a table of FDH::Define.
    replaced = tfe.override_gradient({"Sign": definition})
    with replaced, pytest.raises(ValueError, match="attribute 'clip', which 'Sign' does not"):
        eager(tf.sign, X)


def test_decorates_only_functions() -> None:
    replaced = tfe.override_gradient({"Sign": None})
    with pytest.raises(TypeError, match="decorate a function, such as the `call`"):
        replaced(tf.keras.layers.Layer)
    with pytest.raises(TypeError, match="cannot decorate 3"):
        replaced(3)

    def generator() -> Any:
        yield 1

    async def coroutine() -> None: ...

    for lazy in (generator, coroutine):
        with pytest.raises(TypeError, match="write the `with` block inside"):
            replaced(lazy)
