"""Gradients of other libraries, written as formulas and as tables: they reach every client,
mistakes are errors that name the line, and no registration ends the process.

Environment: LIBRARIES  the libraries of formula_op_types.cc, faulty_formulas.cc,
                        outside_formulas.cc and outside_tables.cc
             FAULTY     faulty_formulas.cc itself
"""

import os
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import ClientError
from graphs import CLIENT, gradient, unary_graph
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.ops import gen_functional_ops

import tensorflow_ext
from tensorflow_ext import gradients
from tensorflow_ext._runtime import _library

FAILED_PRECONDITION, UNIMPLEMENTED = 9, 12
LINES = pathlib.Path(os.environ["FAULTY"]).read_text().splitlines()
X = np.array([0.5, -0.25, 0.75])


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """Loads the libraries in C; Python has the same ones."""
    before = gradients.function_def("Erfc", T=tf.float64)
    for library in os.environ["LIBRARIES"].split():
        CLIENT.load(library)
    refused = _library.take_registration_errors()
    assert len(refused) == 2, refused
    for line in refused:
        assert "Op Erfc has a gradient already" in line
        assert "TFEXT_REGISTER_STAND_IN" in line
    assert _library.take_registration_errors() == []
    assert gradients.function_def("Erfc", T=tf.float64) == before
    gradients.register_all()


def error_of(op: str) -> ClientError:
    graph = unary_graph(op, tf.float64)
    nodes = graph.nodes()
    with pytest.raises(ClientError) as caught:
        graph.gradients(["f:0"], ["x:0"], ["u:0"])
    assert graph.nodes() == nodes, "nodes were left behind"
    return caught.value


MISTAKES = {
    "UnsetFactor": "node 'Mul' of op Mul: argument 1 is a Value that was never",
    "UnsetFactors": "a Value that was never assigned is used",
    "UnsetArgument": "Exp: none of its inputs is a Value that was assigned",
    "UnsetAmongArguments": "node 'AddN' of op AddN: argument 0 is a Value that",
    "UnsetShape": "a Value that was never assigned is used",
    "TwoNumbers": "Maximum of two numbers has no known type",
    "ReturnsTwice": "returns a second time",
    "ReturnsNothing": "returns nothing",
    "ReturnsTooMuch": "returns 2 gradients for the 1 inputs",
    "ReturnsAnotherType": "input 0 'x' has type int64 where double, the input's type, is expected",
    "FloatConstant": "node 'Mul' of op Mul: .* DT_DOUBLE vs. DT_FLOAT",
    "UnknownOp": "'Nonexistent' of op Faulty>Nonexistent: the op is not registered",
    "UnknownNodeAttribute": "node 'Exp' of op Exp: the op has no attribute 'sharp",
    "OpWithoutOutput": "op NoOp has no output",
    "NoSuchInput": "input 3 does not exist; Faulty>NoSuchInput has 1",
    "NoSuchArgument": "no input 'z'",
    "NoSuchOutput": "output -1 does not exist; Faulty>NoSuchOutput has 1",
    "NoSuchAttribute": "Faulty>NoSuchAttribute has no attribute 'sharpness'",
    "AttributeOfAnotherKind": "attribute 'scale' of .* is 1: .*float.*bool",
    "NoSuchAttributeOfOp": "Faulty>NoSuchAttributeOfOp has no attribute 'U'",
    "ConstantOfStrings": "a constant cannot have type string",
    "AfterNothing": "After: a Value was never assigned",
    "Throws": "throws: no table for this scale",
    "ThrowsANumber": "throws something that is not a std::exception",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_an_error_that_names_op_node_and_line(name: str) -> None:
    op = f"Faulty>{name}"
    for _ in range(2):
        error = error_of(op)
        assert error.code == FAILED_PRECONDITION
        message = str(error)
        assert f"In the gradient of {op}: " in message
        assert re.search(MISTAKES[name], message), message
    with pytest.raises(tf.errors.OpError) as raised:
        gradients.function_def(op, T=tf.float64)
    assert str(raised.value) == message
    if name == "ReturnsNothing":  # the mistake has no line
        return
    found = re.search(r"faulty_formulas\.cc:(\d+): ", message)
    assert found, message
    line = int(found[1])
    # The line of the mistaken statement; a node's line may be that of any of its parts.
    marked = next(i for i, text in enumerate(LINES, 1) if f"mistake: {name}" in text)
    assert line in (marked - 1, marked)
    assert line == marked or "mistake" not in LINES[line - 1]


def test_unsupported_gradients_keep_their_error_code() -> None:
    error = error_of("Faulty>IsUnimplemented")
    assert error.code == UNIMPLEMENTED
    assert "scale=1 is not supported" in str(error)


def test_a_constant_of_one_type_fails_only_for_other_types() -> None:
    assert gradient(unary_graph("Faulty>FloatConstant", tf.float32), "f:0", "x:0", "u:0")


def test_a_formula_reads_and_writes_attributes() -> None:
    function = gradients.function_def("Outside>Formula", T=tf.float32, scale=2.5)
    nodes = {node.op: node for node in function.node_def}
    assert nodes["Sum"].attr["keep_dims"].b
    assert nodes["Split"].attr["num_split"].i == 3
    constants = [
        tf.make_ndarray(node.attr["value"].tensor).tolist()
        for node in function.node_def
        if node.op == "Const"
    ]
    assert 2.5 in constants


def in_c(op: str) -> np.ndarray:
    graph = unary_graph(op, tf.float64)
    (value,) = graph.run([gradient(graph, "f:0", "x:0", "u:0")], {"x:0": X, "u:0": np.ones(3)})
    return value


def in_function_runtime(op: str) -> np.ndarray:
    function = attr_value_pb2.NameAttrList(name=op)
    function.attr["T"].type = tf.float64.as_datatype_enum
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float64, [3])
        (gradient,) = gen_functional_ops.symbolic_gradient(
            [x, tf.ones_like(x)], [tf.float64], function
        )
        return session.run(gradient, {x: X})


def call(op: str, x: Any) -> Any:
    if op == "TfExt>Mish":
        return tensorflow_ext.mish(x)
    return getattr(tf.raw_ops, op)(x=x)


def taped(op: str) -> Any:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(op, x)
    return tape.gradient(y, x)


def eagerly(op: str) -> np.ndarray:
    return taped(op).numpy()


def in_tf_function(op: str) -> np.ndarray:
    return tf.function(taped)(op).numpy()


def in_tf_gradients(op: str) -> np.ndarray:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float64, [3])
        (gradient,) = tf.gradients(call(op, x), x)
        return session.run(gradient, {x: X})


CLIENTS: list[Callable[[str], np.ndarray]]
CLIENTS = [in_c, in_function_runtime, eagerly, in_tf_function, in_tf_gradients]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("Tanh", 5 + X),
        ("Erfinv", np.full(3, 7.0)),
        ("TfExt>Mish", np.full(3, 11.0)),
        ("Lgamma", np.full(3, 2.0)),
    ],
)
def test_a_stand_in_reaches_every_client(
    client: Callable[[str], np.ndarray], op: str, expected: np.ndarray
) -> None:
    asked_for = _library.Registries.GRADIENT_ASKED_FOR
    assert asked_for in _library.registries(op)
    if op == "Tanh" and client is eagerly:
        # TensorFlow keeps no input of Tanh, because its own gradient needs none.
        with pytest.raises(tf.errors.UnimplementedError, match="has not kept input 0"):
            client(op)
        return
    np.testing.assert_allclose(client(op), expected)


def test_existing_gradients_stay_unless_replaced() -> None:
    expected = -2 / np.sqrt(np.pi) * np.exp(-(X**2))
    for client in CLIENTS:
        np.testing.assert_allclose(client("Erfc"), expected)


def test_a_table_of_another_library() -> None:
    assert gradient(unary_graph("Outside>Table", tf.float64), "f:0", "x:0", "u:0")
    error = error_of("Outside>Throws")
    assert error.code == FAILED_PRECONDITION
    assert "creator throws: no table of this" in str(error)
    error = error_of("Outside>Refuses")
    assert error.code == UNIMPLEMENTED
    assert "scale is 1.0" in str(error)
