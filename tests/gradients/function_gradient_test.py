# SPDX-License-Identifier: Apache-2.0
"""What gradients of function calls do to the graph's library of functions.

Environment: PARITY_LIBRARY  libtensorflow_ext.so
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import Client, ClientError, Graph, tensorflow_dir
from tensorflow.core.framework import function_pb2, graph_pb2

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(tensorflow_dir(), os.environ["PARITY_LIBRARY"])


def graph_of(build: Callable[[Any], Any]) -> graph_pb2.GraphDef:
    """A graph with the placeholder x and the result y."""
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float64, [None], name="x")
        tf.identity(build(x), name="y")
        return graph.as_graph_def()


def imported(client: Client, graph_def: graph_pb2.GraphDef) -> Graph:
    return client.import_graph(graph_def.SerializeToString())


def functions(graph: Graph) -> dict[str, function_pb2.FunctionDef]:
    library = graph_pb2.GraphDef.FromString(graph.graph_def()).library
    return {function.signature.name: function for function in library.function}


def derivative(graph: Graph) -> np.ndarray:
    (name,) = graph.gradients(["y:0"], ["x:0"], [])
    assert name is not None
    (value,) = graph.run([name], {"x:0": X})
    return value


@tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
def third_power(x: Any) -> Any:
    return x * x * x


def cube(x: Any) -> Any:
    """An If with the same function for both branches."""
    function = third_power.get_concrete_function()
    return tf.raw_ops.StatelessIf(
        cond=x[0] > 0,
        input=[x],
        Tout=[tf.float64],
        then_branch=function,
        else_branch=function,
    )[0]


def call_in_branch(x: Any) -> Any:
    return tf.cond(x[0] > 0, lambda: third_power(x), lambda: x)


def test_a_function_is_differentiated_once(client: Client) -> None:
    graph = imported(client, graph_of(lambda x: cube(x) + cube(2.0 * x)))
    before = functions(graph)
    np.testing.assert_allclose(derivative(graph), 3 * X**2 + 24 * X**2)
    once = functions(graph)
    np.testing.assert_allclose(derivative(graph), 27 * X**2)
    assert functions(graph).keys() == once.keys()
    assert len(once) == len(before) + 1
    assert before.items() <= once.items(), "the functions stay as they are"


def test_the_same_function_has_the_same_gradient_everywhere(client: Client) -> None:
    graph_def = graph_of(cube)
    graphs = [imported(client, graph_def) for _ in range(2)]
    for graph in graphs:
        derivative(graph)
    assert functions(graphs[0]) == functions(graphs[1])


def test_a_session_sees_the_gradient_functions(client: Client) -> None:
    graph = imported(client, graph_of(cube))
    np.testing.assert_allclose(graph.run(["y:0"], {"x:0": X})[0], X**3)
    np.testing.assert_allclose(derivative(graph), 3 * X**2)


def test_side_effects_do_not_happen_twice(client: Client) -> None:
    def prints(x: Any) -> Any:
        tf.print("once", x)
        return x * x

    graph = imported(
        client, graph_of(lambda x: tf.cond(x[0] > 0, lambda: prints(x), lambda: x))
    )
    before = functions(graph)
    np.testing.assert_allclose(derivative(graph), 2 * X)
    added = [f for name, f in functions(graph).items() if name not in before]
    assert added
    assert not [node for f in added for node in f.node_def if "Print" in node.op]


@pytest.mark.parametrize("build", [cube, call_in_branch])
def test_a_gradient_that_the_library_names_is_called(
    client: Client, build: Callable[[Any], Any]
) -> None:
    graph_def = graph_of(build)
    names = [function.signature.name for function in graph_def.library.function]
    (name,) = (name for name in names if "third_power" in name)

    @tf.function
    def tenfold(x: Any, dy: Any) -> Any:
        return 10.0 * x * dy

    spec = tf.TensorSpec([None], tf.float64)
    gradient = tenfold.get_concrete_function(spec, spec).function_def
    graph_def.library.function.append(gradient)
    graph_def.library.gradient.add(
        function_name=name, gradient_func=gradient.signature.name
    )
    graph = imported(client, graph_def)
    np.testing.assert_allclose(derivative(graph), 10 * X)


def test_calls_are_inlined(client: Client) -> None:
    graph = imported(client, graph_of(lambda x: call_in_branch(call_in_branch(x))))
    before = functions(graph)
    np.testing.assert_allclose(derivative(graph), 9 * X**8)
    added = [f for name, f in functions(graph).items() if name not in before]
    assert added
    assert not [node for f in added for node in f.node_def if "Call" in node.op]


def test_a_function_that_calls_itself_is_refused(client: Client) -> None:
    graph_def = graph_of(call_in_branch)
    branches = {
        node.attr["then_branch"].func.name
        for node in graph_def.node
        if node.op == "StatelessIf"
    }
    for function in graph_def.library.function:
        for node in function.node_def:
            if function.signature.name in branches and node.op == "PartitionedCall":
                node.attr["f"].func.name = function.signature.name
    graph = imported(client, graph_def)
    with pytest.raises(ClientError, match="' calls itself"):
        derivative(graph)


def test_an_error_names_the_way_to_the_op(client: Client) -> None:
    def inner(x: Any) -> Any:
        return tf.raw_ops.HSVToRGB(images=tf.reshape(x, [1, 3]))

    graph = imported(
        client, graph_of(lambda x: tf.cond(x[0] > 0, lambda: inner(x), lambda: x))
    )
    with pytest.raises(ClientError, match=r"'cond'.*StatelessIf.*function '.*HSVToRGB"):
        derivative(graph)
