# SPDX-License-Identifier: Apache-2.0
"""TfExt_AddGradients of gradient/c_api.h: what TF_AddGradients has no answer to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import ClientError, Graph
from graph_api import GraphApi
from graphs import graph_def_of, graph_of, value

import tensorflow_ext as tfext
from tensorflow_ext import _attributes, _library

v1 = tf.compat.v1
INVALID_ARGUMENT, UNIMPLEMENTED = 3, 12
ZEROS = 1
API = GraphApi(str(_library.PATH))


def placeholder(name: str = "x", shape: Any = ()) -> tf.Tensor:
    return v1.placeholder(tf.float64, shape, name=name)


def one_leads_to_another() -> None:
    x = placeholder()
    y = tf.tanh(x, name="y")
    tf.multiply(x, y, name="z")
    placeholder("w", (3,))
    v1.get_variable("v", [2], tf.float64, v1.zeros_initializer(), use_resource=True)
    v1.placeholder(tf.resource, [], name="handle")
    tf.constant([1, 2], name="number")


def test_one_y_on_the_way_to_another() -> None:
    graph = graph_of(one_leads_to_another)
    (gradient,) = API.add_gradients(graph, ["y:0", "z:0"], ["x:0"])
    assert gradient is not None
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
    [("x:7", "has 1 outputs, there is none of index 7"), ("x:-1", "of index -1")],
)
def test_bad_tensors_are_errors(tensor: str, message: str) -> None:
    graph = graph_of(one_leads_to_another)
    calls: list[Callable[[], Any]] = [
        lambda: API.add_gradients(graph, [tensor], ["x:0"]),
        lambda: API.add_gradients(graph, ["z:0"], [tensor]),
        lambda: API.add_gradients(graph, ["z:0"], ["x:0"], [tensor]),
    ]
    for call in calls:
        with pytest.raises(ClientError, match=message) as error:
            call()
        assert error.value.code == INVALID_ARGUMENT


def test_zeros_of_a_handle_of_unknown_type() -> None:
    graph = graph_of(one_leads_to_another)
    with pytest.raises(ClientError, match=r"'handle:0'.*VarHandleOp") as error:
        API.add_gradients(graph, ["y:0"], ["handle:0"], unconnected=ZEROS)
    assert error.value.code == INVALID_ARGUMENT
    with pytest.raises(ClientError, match=r"unconnected: expected.*got 7"):
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
    with pytest.raises(ClientError, match=r"loop of TF_NewWhile.*all its outputs") as error:
        API.add_gradients(graph, [y], ["x:0"])
    assert error.value.code == UNIMPLEMENTED
    # The graph is still good for others.
    (gradient,) = API.add_gradients(graph, ["a:0"], ["x:0"])
    assert gradient is not None
    assert value(graph, gradient)(np.float64(2)) == 1


def test_all_outputs_of_a_loop() -> None:
    graph = two_variables()
    outputs = graph.while_loop(["a:0", "a:0"], *LOOP)
    (gradient,) = API.add_gradients(graph, outputs, ["x:0"])
    assert gradient is not None
    # One iteration negates both, or none does.
    assert value(graph, gradient)(np.float64(-2)) == -2
    assert value(graph, gradient)(np.float64(2)) == 2


def test_imported_loops_are_an_error() -> None:
    def build() -> None:
        x = placeholder()
        v1.disable_control_flow_v2()
        try:
            y = v1.while_loop(lambda y: y < 9, lambda y: y * 2, [x])
        finally:
            v1.enable_control_flow_v2()
        tf.identity(y, name="y")

    graph = graph_of(build)
    with pytest.raises(ClientError, match="belongs to a loop of TensorFlow 1") as error:
        API.add_gradients(graph, ["y:0"], ["x:0"])
    assert error.value.code == UNIMPLEMENTED


def test_a_loop_elsewhere() -> None:
    def build() -> None:
        v1.disable_control_flow_v2()
        try:
            one = tf.constant(1.0, tf.float64)
            factor = v1.while_loop(lambda y: y < 9, lambda y: y * 2, [one])
        finally:
            v1.enable_control_flow_v2()
        tf.multiply(tf.square(placeholder()), factor, name="y")

    graph = graph_of(build)
    (gradient,) = API.add_gradients(graph, ["y:0"], ["x:0"])
    assert gradient is not None
    assert value(graph, gradient)(np.float64(3)) == 2 * 3 * 16


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
def test_an_upstream_gradient_that_is_handed_on(op: Callable[..., tf.Tensor]) -> None:
    def build() -> None:
        op(placeholder(), name="y")
        placeholder("dy")

    graph = graph_of(build)
    (gradient,) = API.add_gradients(graph, ["y:0"], ["x:0"], ["dy:0"])
    assert gradient is not None
    assert graph.run([gradient], {"dy:0": np.float64(7)}) == [7]


def test_tensors_of_another_graph() -> None:
    graph, other = graph_of(one_leads_to_another), graph_of(one_leads_to_another)
    name = {"y": "y:0", "x": "x:0", "dx": "y:0"}
    for argument in name:
        tensors = {
            key: (other if key == argument else graph)._outputs([tensor])
            for key, tensor in name.items()
        }
        with (
            pytest.raises(
                ClientError, match=rf"^{argument}\[0\]: operation '.' is not of this"
            ) as error,
            graph._client.status() as status,
        ):
            API._library.TfExt_AddGradients(
                graph._graph,
                None,
                tensors["y"],
                1,
                tensors["x"],
                1,
                tensors["dx"],
                status,
                graph._outputs(["x:0"]),
                0,
            )
        assert error.value.code == INVALID_ARGUMENT
    with (
        pytest.raises(ClientError, match=r"outputs\[0\]: operation 'y' is not of this"),
        graph._client.status() as status,
    ):
        API._library.TfExt_InlineCalls(
            graph._graph, other._outputs(["y:0"]), 1, graph._outputs(["x:0"]), status
        )


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
        with (
            pytest.raises(ClientError, match=r"buffer.*is NULL.*TF_NewBuffer") as error,
            graph_of(one_leads_to_another)._client.status() as status,
        ):
            call(status)
        assert error.value.code == INVALID_ARGUMENT
