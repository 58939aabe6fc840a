"""TfExt_AddGradients of gradient/c_api.h, in cases that TF_AddGradients cannot handle."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import Graph
from graph_api import GraphApi
from graphs import CLIENT, client_error, graph_def_of, graph_of, value

import tensorflow_ext as tfext
from tensorflow_ext._runtime import _attributes, _library

v1 = tf.compat.v1
ZEROS = 1
API = GraphApi(str(_library.PATH))


def placeholder(name: str = "x", shape: Any = ()) -> tf.Tensor:
    return v1.placeholder(tf.float64, shape, name=name)


def gradient_by_x(graph: Graph, *ys: str, dys: Sequence[str] = ()) -> str:
    """The gradient that TfExt_AddGradients adds; there must be one."""
    (found,) = API.add_gradients(graph, ys, ["x:0"], dys)
    assert found is not None
    return found


def one_leads_to_another() -> None:
    x = placeholder()
    y = tf.tanh(x, name="y")
    tf.multiply(x, y, name="z")
    placeholder("w", (3,))
    v1.get_variable("v", [2], tf.float64, v1.zeros_initializer(), use_resource=True)
    v1.placeholder(tf.resource, [], name="handle")
    tf.constant([1, 2], name="number")


def test_one_y_that_depends_on_another() -> None:
    graph = graph_of(one_leads_to_another)
    gradient = gradient_by_x(graph, "y:0", "z:0")
    x = np.float64(0.7)
    slope = 1 - np.tanh(x) ** 2
    expected = slope + np.tanh(x) + x * slope
    np.testing.assert_allclose(value(graph, gradient)(x), expected)


def test_unconnected_tensors() -> None:
    graph = graph_of(one_leads_to_another)
    xs = ["w:0", "x:0", "v:0", "handle:0", "number:0"]
    found = API.add_gradients(graph, ["y:0"], xs)
    assert [gradient is None for gradient in found] == [True, False, True, True, True]
    xs.remove("handle:0")
    found = API.add_gradients(graph, ["y:0"], xs, unconnected=ZEROS)
    names = [name for name in found if name is not None]
    assert len(names) == 4
    graph.run([], {}, targets=["v/Assign"])
    feeds = {"x:0": np.float64(0), "w:0": np.ones(3)}
    w, x, v, number = graph.run(names, feeds)
    np.testing.assert_array_equal(w, np.zeros(3))
    assert x == 1
    np.testing.assert_array_equal(v, np.zeros(2))
    np.testing.assert_array_equal(number, np.zeros(2, np.int32))


@pytest.mark.parametrize(
    ("tensor", "message"),
    [("x:7", "has 1 outputs, but output 7 was requested"), ("x:-1", "output -1 was")],
)
def test_bad_tensors_are_errors(tensor: str, message: str) -> None:
    graph = graph_of(one_leads_to_another)
    calls: list[Callable[[], Any]] = [
        lambda: API.add_gradients(graph, [tensor], ["x:0"]),
        lambda: API.add_gradients(graph, ["z:0"], [tensor]),
        lambda: API.add_gradients(graph, ["z:0"], ["x:0"], [tensor]),
    ]
    for call in calls:
        with client_error(tf.errors.INVALID_ARGUMENT, message):
            call()


def test_zeros_of_a_handle_of_unknown_type() -> None:
    graph = graph_of(one_leads_to_another)
    with client_error(tf.errors.INVALID_ARGUMENT, r"'handle:0'.*VarHandleOp"):
        API.add_gradients(graph, ["y:0"], ["handle:0"], unconnected=ZEROS)
    with client_error(tf.errors.INVALID_ARGUMENT, r"unconnected: expected.*got 7"):
        API.add_gradients(graph, ["y:0"], ["x:0"], unconnected=7)


def negated() -> None:
    for i in range(2):
        tf.negative(placeholder(f"x{i}"), name=f"y{i}")


def is_negative() -> None:
    x0, _ = placeholder("x0"), placeholder("x1")
    tf.less(x0, tf.constant(0.0, tf.float64), name="y0")


LOOP = [graph_def_of(build).SerializeToString() for build in (is_negative, negated)]


def two_variables() -> Graph:
    def build() -> None:
        tf.identity(placeholder(), name="a")
        tf.constant(0.0, tf.float64, name="zero")

    return graph_of(build)


def test_some_outputs_of_a_loop() -> None:
    graph = two_variables()
    _, y = graph.while_loop(["zero:0", "a:0"], *LOOP)
    with client_error(tf.errors.UNIMPLEMENTED, r"loop \(TF_NewWhile in C.*all its outputs"):
        API.add_gradients(graph, [y], ["x:0"])
    # The graph still works for other gradients.
    assert value(graph, gradient_by_x(graph, "a:0"))(np.float64(2)) == 1


def test_all_outputs_of_a_loop() -> None:
    graph = two_variables()
    outputs = graph.while_loop(["a:0", "a:0"], *LOOP)
    slope = value(graph, gradient_by_x(graph, *outputs))
    # One iteration negates both, or none does.
    assert slope(np.float64(-2)) == -2
    assert slope(np.float64(2)) == 2


def old_loop(start: tf.Tensor) -> tf.Tensor:
    """Doubles a number until it is 9 or more, by TensorFlow 1's loop."""
    v1.disable_control_flow_v2()
    try:
        return v1.while_loop(lambda y: y < 9, lambda y: y * 2, [start])
    finally:
        v1.enable_control_flow_v2()


def test_imported_loops_are_an_error() -> None:
    graph = graph_of(lambda: tf.identity(old_loop(placeholder()), name="y"))
    with client_error(tf.errors.UNIMPLEMENTED, "belongs to a TensorFlow 1 loop"):
        API.add_gradients(graph, ["y:0"], ["x:0"])


@pytest.mark.parametrize("x", ["x:0", "while/Identity:0"])
def test_inside_of_an_imported_loop(x: str) -> None:
    graph = graph_of(lambda: old_loop(placeholder()))
    with client_error(tf.errors.UNIMPLEMENTED, "y lies in the body.*'while/Merge'"):
        API.add_gradients(graph, ["while/mul:0"], [x])


@pytest.mark.parametrize("x", ["x:0", "loop/Switch:1"])
def test_inside_of_a_loop_of_TF_NewWhile(x: str) -> None:
    graph = two_variables()
    graph.while_loop(["a:0", "a:0"], *LOOP)
    with client_error(tf.errors.UNIMPLEMENTED, "y lies in the body"):
        API.add_gradients(graph, ["loop/body/imported/y0:0"], [x])


def test_a_loop_elsewhere() -> None:
    def build() -> None:
        factor = old_loop(tf.constant(1.0, tf.float64))
        tf.multiply(tf.square(placeholder()), factor, name="y")

    graph = graph_of(build)
    assert value(graph, gradient_by_x(graph, "y:0"))(np.float64(3)) == 2 * 3 * 16


def test_the_same_x_twice() -> None:
    def build() -> None:
        tf.multiply(placeholder("w"), tf.square(placeholder()), name="y")

    graph = graph_of(build)
    found = API.add_gradients(graph, ["y:0"], ["x:0", "w:0", "x:0"])
    names = [name for name in found if name is not None]
    feeds = {"w:0": np.float64(5), "x:0": np.float64(3)}
    assert graph.run(names, feeds) == [30, 9, 30]


@pytest.mark.parametrize(
    "op",
    [
        tfext.ops.round_straight_through,
        lambda x, name: tf.reduce_sum(x, [], name=name),
        lambda x, name: tf.raw_ops.DebugGradientIdentity(input=x, name=name),
    ],
    ids=["by a node", "by known shapes", "as it is"],
)
def test_an_upstream_gradient_that_is_passed_on(op: Callable[..., tf.Tensor]) -> None:
    def build() -> None:
        op(placeholder(), name="y")
        placeholder("dy")

    graph = graph_of(build)
    gradient = gradient_by_x(graph, "y:0", dys=["dy:0"])
    assert graph.run([gradient], {"dy:0": np.float64(7)}) == [7]


@pytest.mark.parametrize("argument", ["y", "x", "dx"])
def test_gradients_of_another_graph(argument: str) -> None:
    graph, other = graph_of(one_leads_to_another), graph_of(one_leads_to_another)

    def outputs(name: str, tensor: str) -> Any:
        return (other if name == argument else graph)._outputs([tensor])

    ys, xs, dxs = outputs("y", "y:0"), outputs("x", "x:0"), outputs("dx", "y:0")
    add, found = API._library.TfExt_AddGradients, graph._outputs(["x:0"])
    message = rf"^{argument}\[0\]: operation '.' belongs to another graph"
    with client_error(tf.errors.INVALID_ARGUMENT, message), graph._client.status() as status:
        add(graph._graph, None, ys, 1, xs, 1, dxs, status, found, 0)


def test_calls_of_another_graph() -> None:
    graph, other = graph_of(one_leads_to_another), graph_of(one_leads_to_another)
    inline, found = API._library.TfExt_InlineCalls, graph._outputs(["x:0"])
    message = r"outputs\[0\]: operation 'y' belongs to another graph"
    with client_error(tf.errors.INVALID_ARGUMENT, message), graph._client.status() as status:
        inline(graph._graph, other._outputs(["y:0"]), 1, found, status)


def test_nowhere_to_write() -> None:
    node = _attributes.to_node_def("TfExt>Relu", {"T": tf.float32}).SerializeToString()
    definition = graph_def_of(one_leads_to_another).SerializeToString()
    library = API._library
    calls: list[Callable[[Any], Any]] = [
        lambda status: library.TfExt_TakeRegistrationErrors(None, status),
        lambda status: library.TfExt_ListOps(None, status),
        lambda status: library.TfExt_GradientFunctionDef(node, len(node), None, status),
        lambda status: library.TfExt_GradientPlan(node, len(node), None, 0, None, status),
        lambda status: library.TfExt_InlineCallsOfGraphDef(
            definition, len(definition), b"y:0", None, None, status
        ),
    ]
    for call in calls:
        expected = client_error(tf.errors.INVALID_ARGUMENT, "buffer.*is NULL.*TF_NewBuffer")
        with expected, CLIENT.status() as status:
            call(status)
