"""TfExt_InlineCalls of gradient/c_api.h, in C and in Python.

Gradients are compared with central differences of what the session computes.
"""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import ClientError, Graph
from graph_api import GraphApi
from graphs import (
    central_differences,
    client_error,
    gradient,
    graph_def_of,
    graph_of,
    imported,
    in_threads,
    value,
)
from tensorflow.core.framework import graph_pb2

from tensorflow_ext import gradients, raw_ops
from tensorflow_ext._runtime import _library

v1 = tf.compat.v1
API = GraphApi(str(_library.PATH))
X = np.array([0.3, -1.2, 0.8, 2.0])


def placeholder(*shape: int) -> tf.Tensor:
    return v1.placeholder(tf.float64, shape or [4], name="x")


def inlined(graph: Graph, tensor: str) -> str:
    (found,) = API.inline_calls(graph, [tensor])
    return found


def nodes(graph: Graph) -> list[Any]:
    return list(graph_pb2.GraphDef.FromString(graph.graph_def()).node)


@tf.function
def inner(x: tf.Tensor) -> tf.Tensor:
    return tf.sin(x) * x


@tf.function
def branches(x: tf.Tensor) -> tf.Tensor:
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: inner(x), lambda: tf.exp(x))
    _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(y) * x), [0, y])
    return y


@tf.function
def outer(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return inner(inner(x)) + branches(x), tf.reduce_sum(x)


def nested() -> None:
    y, total = outer(placeholder() * 2.0)
    tf.reduce_sum(y * y + total, name="loss")


def test_bodies_take_the_place_of_calls() -> None:
    graph = graph_of(nested)
    before = nodes(graph)
    value(graph, "loss:0")(X)  # the session has seen the graph by now
    loss = inlined(graph, "loss:0")
    after = nodes(graph)
    assert after[: len(before)] == before
    added = {node.op for node in after[len(before) :]}
    assert not added & {"PartitionedCall", "StatefulPartitionedCall"}
    assert {"Sin", "StatelessIf", "StatelessWhile"} <= added
    assert value(graph, loss)(X) == value(graph, "loss:0")(X)


def test_bodies_keep_the_devices_of_calls() -> None:
    def build() -> None:
        with v1.device("/device:CPU:0"):
            y = inner(placeholder())
        tf.identity(y, name="y")

    graph = graph_of(build)
    y = inlined(graph, "y:0")
    devices = {node.op: node.device for node in nodes(graph) if node.op in ("Sin", "Mul")}
    assert devices == dict.fromkeys(("Sin", "Mul"), "/device:CPU:0")
    np.testing.assert_allclose(value(graph, y)(X), np.sin(X) * X)


@pytest.mark.parametrize("inline", [False, True])
def test_gradients_of_both_orders(inline: bool) -> None:
    graph = graph_of(nested)
    loss = inlined(graph, "loss:0") if inline else "loss:0"
    first = gradient(graph, loss)
    expected = central_differences(value(graph, loss), X)
    np.testing.assert_allclose(value(graph, first)(X), expected, rtol=1e-8, atol=1e-8)
    second = gradient(graph, first)
    expected = central_differences(lambda x: value(graph, first)(x).sum(), X)
    np.testing.assert_allclose(value(graph, second)(X), expected, rtol=1e-7, atol=1e-7)


@tf.function
def dropped_out(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.dropout(x, 0.5) * x


def random() -> None:
    tf.reduce_sum(dropped_out(placeholder(100)), name="loss")


RANDOM_X = np.linspace(1, 2, 100)


def check_one_draw(loss: np.ndarray, slope: np.ndarray) -> float:
    """Checks that both use one draw: then the loss is homogeneous of order 2 (Euler)."""
    np.testing.assert_allclose(slope @ RANDOM_X / 2, loss)
    return float(loss)


def test_random_numbers_are_drawn_once() -> None:
    graph = graph_of(random)
    loss = inlined(graph, "loss:0")
    fetches = [loss, gradient(graph, loss)]
    losses = {check_one_draw(*graph.run(fetches, {"x:0": RANDOM_X})) for _ in range(3)}
    assert len(losses) == 3


def updating() -> None:
    mean = v1.get_variable("mean", [4], tf.float64, v1.zeros_initializer(), use_resource=True)

    @tf.function
    def normalized(x: tf.Tensor) -> tf.Tensor:
        y = x * x * (1 + mean)
        mean.assign_add(x)
        return y

    tf.reduce_sum(normalized(placeholder()), name="loss")
    v1.group(mean.initializer, name="init")
    tf.identity(mean.read_value(), name="mean_now")


def without_waiting_results() -> graph_pb2.GraphDef:
    """`updating` with a function whose side effects are only in its control_ret."""
    graph_def = graph_def_of(updating)
    for function in graph_def.library.function:
        results = {name.partition(":")[0] for name in function.ret.values()}
        for node in function.node_def:
            if node.name in results:
                node.input[:] = [name for name in node.input if name[0] != "^"]
    return graph_def


@pytest.mark.parametrize("waiting", [True, False])
def test_side_effects_happen_with_the_results(waiting: bool) -> None:
    graph = imported(graph_def_of(updating) if waiting else without_waiting_results())
    loss = inlined(graph, "loss:0")
    fetches = [loss, gradient(graph, loss)]
    graph.run([], {}, targets=["init"])
    for k in range(3):
        found, slope = graph.run(fetches, {"x:0": X})
        np.testing.assert_allclose(found, np.sum(X * X * (1 + k * X)))
        np.testing.assert_allclose(slope, 2 * X * (1 + k * X))
        np.testing.assert_allclose(graph.run(["mean_now:0"], {})[0], (k + 1) * X)


def test_tensors_that_no_call_reaches_stay() -> None:
    graph = graph_of(nested)
    before = graph.nodes()
    assert API.inline_calls(graph, ["x:0"]) == ["x:0"]
    assert graph.nodes() == before
    found = API.inline_calls(graph, ["x:0", "loss:0", "loss:0"])
    assert found[0] == "x:0"
    assert len(set(found)) == 3


def test_control_edges_from_outside() -> None:
    def build() -> None:
        x = placeholder()
        with tf.control_dependencies([v1.assert_positive(x)]):
            tf.identity(inner(x), name="y")

    graph = graph_of(build)
    y = inlined(graph, "y:0")
    with pytest.raises(ClientError, match="did not hold element-wise"):
        value(graph, y)(X)
    np.testing.assert_allclose(value(graph, y)(abs(X)), np.sin(abs(X)) * abs(X))


def with_function(name: str) -> tuple[graph_pb2.GraphDef, Any]:
    """A graph of a placeholder x and one function, sin(x) x."""
    graph_def = graph_def_of(nested)
    body = next(f for f in graph_def.library.function if "inner" in f.signature.name)
    graph_def = graph_pb2.GraphDef(versions=graph_def.versions)
    function = graph_def.library.function.add()
    function.CopyFrom(body)
    function.attr.clear()
    function.signature.name = name
    x = graph_def.node.add(name="x", op="Placeholder")
    x.attr["dtype"].type = tf.float64.as_datatype_enum
    return graph_def, function


def make_call(node: Any, function: str) -> None:
    node.op = "PartitionedCall"
    node.attr.clear()
    node.attr["Tin"].list.type.append(tf.float64.as_datatype_enum)
    node.attr["Tout"].list.type.append(tf.float64.as_datatype_enum)
    node.attr["f"].func.name = function


def test_functions_named_like_ops() -> None:
    # TF_GraphCopyFunction allows this.
    graph_def, _ = with_function("Waves")
    graph_def.node.add(name="y", op="Waves", input=["x"])
    graph = imported(graph_def)
    y = inlined(graph, "y:0")
    slope = value(graph, gradient(graph, y))(X)
    np.testing.assert_allclose(slope, np.sin(X) + X * np.cos(X))


def test_a_function_that_calls_itself_is_an_error() -> None:
    graph_def, function = with_function("Endless")
    call = function.node_def[0]
    make_call(call, "Endless")
    for node in function.node_def:
        for i, name in enumerate(node.input):
            node.input[i] = name.replace(f"{call.name}:y:", f"{call.name}:output:")
    make_call(graph_def.node.add(name="y", input=["x"]), "Endless")
    # TF_GraphImportGraphDef aborts the process on such a graph.
    with pytest.raises(tf.errors.UnimplementedError, match="'Endless' calls itself"):
        _library.inline_calls(graph_def.SerializeToString(), ["y:0"])


def test_many_threads_inline_at_once() -> None:
    graph = graph_of(nested)
    found = in_threads(lambda: inlined(graph, "loss:0"))
    assert len(set(found)) == 8
    values = graph.run(found, {"x:0": X})
    assert {float(v) for v in values} == {float(value(graph, "loss:0")(X))}


@pytest.mark.parametrize(
    ("tensor", "message"),
    [("x:7", "has 1 outputs, but output 7 was requested"), ("x:-1", "output -1 was")],
)
def test_bad_tensors_are_errors(tensor: str, message: str) -> None:
    with client_error(tf.errors.INVALID_ARGUMENT, message):
        API.inline_calls(graph_of(nested), [tensor])


# ---- In Python


def test_python_inlines() -> None:
    graph = v1.Graph()
    with graph.as_default():
        random()
        loss, same = gradients.inline_calls(["loss:0", "x:0"], graph)
        assert same.name == "x:0"
        (slope,) = v1.gradients(loss, [graph.get_tensor_by_name("x:0")])
    assert "StatefulPartitionedCall" not in {
        op.type for op in loss.graph.get_operations() if op.name.startswith("inlined")
    }
    with v1.Session(graph=graph) as session:
        check_one_draw(*session.run([loss, slope], {"x:0": RANDOM_X}))


def test_python_refuses_eager_tensors() -> None:
    with pytest.raises(ValueError, match="eager"):
        gradients.inline_calls([tf.constant(1.0)])


@pytest.mark.parametrize("outputs", ["z:0", "x:9", "x:0 y:0"])
def test_bad_outputs_of_a_graph_def(outputs: str) -> None:
    serialized = graph_def_of(nested).SerializeToString()
    with pytest.raises(tf.errors.InvalidArgumentError, match="is no tensor of"):
        _library.inline_calls(serialized, [outputs])
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected a serialized"):
        _library.inline_calls(b"no graph", [outputs])


# ---- As an op, for clients that cannot call a library's functions


def test_the_op_matches_the_function() -> None:
    """A client that can only import a GraphDef combines both graphs."""
    serialized = graph_def_of(random).SerializeToString()
    nodes, inlined = raw_ops.inline_calls(serialized, ["loss:0", "x:0"])
    expected, names = _library.inline_calls(serialized, ["loss:0", "x:0"])
    assert graph_pb2.GraphDef.FromString(nodes.numpy()) == graph_pb2.GraphDef.FromString(expected)
    assert [name.decode() for name in inlined.numpy()] == names
    # Rust's strings hold no bytes.
    numbers, same = raw_ops.inline_calls(tf.io.decode_raw(serialized, tf.uint8), ["loss:0", "x:0"])
    assert graph_pb2.GraphDef.FromString(
        numbers.numpy().tobytes()
    ) == graph_pb2.GraphDef.FromString(nodes.numpy())
    np.testing.assert_array_equal(same, inlined)
    whole = imported(graph_pb2.GraphDef.FromString(serialized + nodes.numpy()))
    fetches = [names[0], gradient(whole, names[0])]
    check_one_draw(*whole.run(fetches, {"x:0": RANDOM_X}))


def test_the_op_refuses_wrong_inputs() -> None:
    serialized = graph_def_of(nested).SerializeToString()
    wrong = [
        (b"no graph", ["x:0"], "graph_def: expected a serialized tensorflow.GraphDef"),
        (serialized, ["z:0"], "TfExt>InlineCalls: outputs: 'z:0' is no tensor of"),
        ([serialized], ["x:0"], r"'graph_def' has shape \[1\], expected a scalar"),
        (serialized, "x:0", r"'outputs' has shape \[\], expected a vector"),
    ]
    for graph, outputs, message in wrong:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            raw_ops.inline_calls(graph, outputs)
    none, names = raw_ops.inline_calls(serialized, tf.zeros([0], tf.string))
    assert (none.numpy(), list(names.numpy())) == (b"", [])
