"""Loops of TensorFlow 1 that became While ops: TfExt_FunctionalizeGraphDef and its Python."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import old_loops
import pytest
import tensorflow as tf
from c_client import Client, ClientError, Graph, tensorflow_dir
from graph_api import GraphApi
from old_loops import MODELS, SHAPE, v1
from sampling import of_commit
from tensorflow.python.framework.graph_to_function_def import graph_to_function_def

import tensorflow_ext as tfe
from tensorflow_ext._runtime import _library

API = GraphApi(str(_library.PATH))
# The smallest model.
SMALL = "plain"
LOOP_OPS = {"Enter", "Exit", "NextIteration", "LoopCond"}


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(tensorflow_dir(), _library.PATH)


def all_ops(graph_def: Any) -> set[str]:
    nodes = [*graph_def.node]
    for function in graph_def.library.function:
        nodes += function.node_def
    return {node.op for node in nodes}


def imported(client: Client, graph_def: Any) -> Graph:
    return client.import_graph(graph_def.SerializeToString())


def graph_of(build: Callable[[], Any]) -> Any:
    with tf.Graph().as_default() as graph, old_loops.control_flow(1):
        build()
    return graph.as_graph_def()


# Each commit runs some of the models, the release check all.
@pytest.mark.parametrize("name", of_commit("loops", sorted(MODELS), 4))
def test_gradients(client: Client, name: str) -> None:
    """First and second order, in C; the forward values are the same to the last bit."""
    old = old_loops.old(name)
    functional = tfe.functionalize_graph_def(old.graph_def)
    assert not all_ops(functional) & LOOP_OPS
    assert not [op for op in all_ops(functional) if op.startswith("TensorArray")]
    assert tfe.functionalize_graph_def(functional) == functional
    assert tfe.functionalize_graph_def(old.graph_def) == functional

    graph = imported(client, functional)
    (dx,) = graph.gradients(["y:0"], ["x:0"], ["dy:0"])
    assert dx is not None
    both = graph.gradients([dx], ["x:0", "dy:0"], ["ddx:0"])
    seconds = [name for name in both if name is not None]
    y, first, *rest = graph.run(["y:0", dx, *seconds], old.feeds)
    np.testing.assert_array_equal(y, old.y)
    np.testing.assert_allclose(first, old.dx, rtol=1e-5, atol=1e-6)
    for found, expected in zip(rest, old_loops.second(name, old.feeds), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", of_commit("python", ["scan", "branch_in_loop"]))
def test_python(name: str) -> None:
    """Python differentiates the result, to second order, as it does not the loops themselves."""
    old = old_loops.old(name)
    with tf.Graph().as_default() as graph, v1.Session() as session:
        v1.import_graph_def(tfe.functionalize_graph_def(old.graph_def), name="")
        x, y, dy, ddx = map(graph.get_tensor_by_name, ("x:0", "y:0", "dy:0", "ddx:0"))
        (dx,) = tf.gradients(y, x, dy)
        found = session.run([y, dx, *tf.gradients(dx, [x, dy], ddx)], old.feeds)
    np.testing.assert_array_equal(found[0], old.y)
    np.testing.assert_allclose(found[1], old.dx, rtol=1e-5, atol=1e-6)
    for value, expected in zip(found[2:], old_loops.second(name, old.feeds), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)


def test_names_and_settings() -> None:
    """Nodes outside loops keep their names; loops keep their settings."""
    old = old_loops.old("nested").graph_def
    functional = tfe.functionalize_graph_def(old)
    before, after = ({node.name: node for node in graph.node} for graph in (old, functional))
    # The frames are while/while_context and while/while/while_context.
    outside = [name for name in before if not name.startswith("while/")]
    assert set(outside) <= set(after)
    exits = {"while/Exit", "while/Exit_1"}
    assert {after[name].op for name in exits} == {"Identity"}
    (loop,) = (node for node in functional.node if node.op == "StatelessWhile")
    assert loop.attr["parallel_iterations"].i == 3
    assert loop.attr["_lower_using_switch_merge"].b


def test_two_graphs_in_one(client: Client) -> None:
    """The functions of two graphs have different names, even if their loops do not."""
    graphs = [graph_of(lambda k=k: tf.identity(loop(k), name=f"y{k}")) for k in (2.0, 3.0)]
    both = Graph(client)
    for index, graph_def in enumerate(map(tfe.functionalize_graph_def, graphs)):
        for node in graph_def.node:
            node.name = f"{index}/{node.name}"
            node.input[:] = [f"{index}/{value}" for value in node.input]
        both.add(graph_def.SerializeToString())
    assert both.run(["0/y2.0:0", "1/y3.0:0"], {}) == [16, 81]


def loop(factor: float) -> tf.Tensor:
    return v1.while_loop(
        lambda i, _: i < 4, lambda i, v: (i + 1, v * factor), [0, tf.constant(1.0)]
    )[1]


def test_only_what_outputs_need(client: Client) -> None:
    """A graph that has Python's gradients loses them if the outputs need none."""
    y, _, dx = old_loops.build(MODELS["scan"])
    whole = y.graph.as_graph_def()
    message = "TensorArrayGradV3.*a gradient that Python added.*outputs that you need"
    with pytest.raises(tf.errors.UnimplementedError, match=message):
        tfe.functionalize_graph_def(whole)
    with pytest.raises(tf.errors.UnimplementedError, match=message):
        tfe.functionalize_graph_def(whole, [dx.name])
    kept = tfe.functionalize_graph_def(whole, ["y:0", "dy"])
    assert {"x", "y", "dy"} <= {node.name for node in kept.node}
    assert "ddx" not in {node.name for node in kept.node}
    assert imported(client, kept).gradients(["y:0"], ["x:0"], ["dy:0"]) != [None]


def test_a_gradient_of_python_without_arrays(client: Client) -> None:
    """Python's gradient of a loop without TensorArrays is such a loop too, with stacks."""
    y, _, dx = old_loops.build(MODELS[SMALL])
    feeds = {"x:0": old_loops.draw(3, *SHAPE), "dy:0": old_loops.draw(4, *SHAPE)}
    with v1.Session(graph=y.graph) as session:
        expected = session.run(dx, feeds)
    graph = imported(client, tfe.functionalize_graph_def(y.graph.as_graph_def()))
    np.testing.assert_array_equal(graph.run([dx.name], feeds)[0], expected)


def test_side_effects() -> None:
    """A loop with side effects is a While, which has them."""

    def build() -> None:
        total = v1.get_variable("total", initializer=0.0, use_resource=True)

        def body(i: Any, v: Any) -> Any:
            with tf.control_dependencies([total.assign_add(v)]):
                return i + 1, v * 2

        tf.identity(v1.while_loop(lambda i, _: i < 4, body, [0, tf.constant(1.0)])[1], name="y")
        tf.identity(total.read_value(), name="after")

    old = graph_of(build)
    functional = tfe.functionalize_graph_def(old)
    assert "While" in {node.op for node in functional.node}
    for graph_def in (old, functional):
        with tf.Graph().as_default(), v1.Session() as session:
            v1.import_graph_def(graph_def, name="")
            session.run("total/Assign")
            found = [session.run(name) for name in ("y:0", "after:0") * 2]
            assert found == [16, 15, 16, 30]


def test_control_inputs_of_a_loop() -> None:
    """Nodes that run before a loop still do."""

    def build() -> None:
        state = v1.get_variable("state", initializer=2.0, use_resource=True)
        with tf.control_dependencies([state.assign(3.0)]):
            y = v1.while_loop(
                lambda i, _: i < 2,
                lambda i, v: (i + 1, v * state.read_value()),
                [0, tf.constant(1.0)],
            )[1]
        tf.identity(y, name="y")

    with tf.Graph().as_default(), v1.Session() as session:
        v1.import_graph_def(tfe.functionalize_graph_def(graph_of(build)), name="")
        session.run("state/Assign")
        assert session.run("y:0") == 9


def function_with_side_effects(waits: bool) -> Any:
    """A call of a function that must run an assignment in its loop."""
    with tf.Graph().as_default() as graph, old_loops.control_flow(1):
        state = v1.get_variable("state", initializer=2.0, use_resource=True)

        def body(i: Any, v: Any) -> Any:
            add = state.assign_add(v, read_value=False)
            with tf.control_dependencies([add] if waits else []):
                return i + 1, v * 2.0

        with tf.control_dependencies([state.assign(3.0)]):
            results = v1.while_loop(lambda i, _: i < 3, body, [0, tf.constant(1.0)])
        with tf.control_dependencies(results):
            y = state.read_value()
    function = graph_to_function_def(graph, graph.get_operations(), [], [y])
    function.signature.name, function.signature.is_stateful = "f", True
    (add,) = (node.name for node in function.node_def if node.op == "AssignAddVariableOp")
    function.control_ret["add"] = add
    function.signature.control_output.append("add")
    graph_def = graph.as_graph_def()
    del graph_def.node[:]
    graph_def.library.function.append(function)
    call = graph_def.node.add(name="y", op="StatefulPartitionedCall")
    call.attr["Tin"].list.SetInParent()
    call.attr["Tout"].list.type.append(tf.float32.as_datatype_enum)
    call.attr["f"].func.name = "f"
    return graph_def


def test_side_effects_in_a_function(client: Client) -> None:
    old = function_with_side_effects(waits=True)
    functional = tfe.functionalize_graph_def(old)
    (function,) = (f for f in functional.library.function if f.signature.name == "f")
    assert function.signature == old.library.function[0].signature
    assert dict(function.control_ret) == {"add": "while/LoopCond"}
    for graph_def in (old, functional):
        assert imported(client, graph_def).run(["y:0"], {}) == [10]
    message = "function 'f': node 'while/.*' of op AssignAddVariableOp has side effects in a loop"
    with pytest.raises(tf.errors.UnimplementedError, match=message):
        tfe.functionalize_graph_def(function_with_side_effects(waits=False))


def test_elements_that_were_never_written(client: Client) -> None:
    """They are zeros if the element shape is known, and an error otherwise, as before."""

    def build(shape: list[int] | None) -> Callable[[], None]:
        def add() -> None:
            array = tf.TensorArray(tf.float32, 3, element_shape=shape, infer_shape=False)
            array = v1.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a), [0, array])[1]
            tf.identity(array.read(1), name="y")

        return add

    known, unknown = (
        imported(client, tfe.functionalize_graph_def(graph_of(build(shape))))
        for shape in ([2], None)
    )
    assert known.run(["y:0"], {})[0].tolist() == [0, 0]
    with pytest.raises(ClientError, match="uninitialized tensor but element_shape is not fully"):
        unknown.run(["y:0"], {})


def flow_only_as_control() -> None:
    array = tf.TensorArray(tf.float32, 3)

    def body(i: Any) -> Any:
        with tf.control_dependencies([array.write(i, 1.0).flow]):
            return i + 1

    v1.while_loop(lambda i: i < 3, body, [0])


def split_of_written() -> None:
    array = tf.TensorArray(tf.float32, 9, infer_shape=False)

    def body(i: Any, a: Any) -> Any:
        return i + 1, a.write(i + 5, [1.0]).split(tf.constant([1.0, 2.0]), [1, 1])

    v1.while_loop(lambda i, _: i < 1, body, [0, array])


def flow_elsewhere() -> None:
    array = tf.TensorArray(tf.float32, 3)
    array = v1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, 1.0)), [0, array])[1]
    tf.add(array.flow, 1.0, name="sum")


def handle_elsewhere() -> None:
    array = tf.TensorArray(tf.float32, 3)
    v1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, 1.0)), [0, array])
    tf.raw_ops.VarIsInitializedOp(resource=array.handle, name="asked")


def variable_of_tensorflow_1() -> None:
    total = v1.get_variable("total", initializer=0.0, use_resource=False)

    def body(i: Any) -> Any:
        with tf.control_dependencies([v1.assign_add(total, 1.0)]):
            return i + 1

    v1.while_loop(lambda i: i < 3, body, [0])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (variable_of_tensorflow_1, "of op RefEnter takes a variable of TensorFlow 1 into a loop"),
        (flow_only_as_control, "'while/.*' of op TensorArrayWriteV3: only control inputs use"),
        (split_of_written, "of op TensorArraySplitV3.*that nothing has written to"),
        (flow_elsewhere, "node 'sum' of op AddV2: its input 0 is the flow of TensorArray"),
        (handle_elsewhere, "node 'asked' of op VarIsInitializedOp: its input 0 is the handle"),
    ],
)
def test_refused_loops(build: Callable[[], None], message: str) -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=message):
        tfe.functionalize_graph_def(graph_of(build))


def without(op: str) -> Any:
    """The graph of a loop without its nodes of that op, and without what needs them."""
    graph_def = old_loops.old(SMALL).graph_def
    gone = {node.name for node in graph_def.node if node.op == op}
    for _ in graph_def.node:
        gone |= {n.name for n in graph_def.node if gone & {v.split(":")[0] for v in n.input}}
    kept = [node for node in graph_def.node if node.name not in gone]
    del graph_def.node[:]
    graph_def.node.extend(kept)
    return graph_def


def test_a_loop_without_exit() -> None:
    message = "loop 'while/while_context', which node '.*' enters, has no Exit node"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tfe.functionalize_graph_def(without("Exit"))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message + ".*Outputs in a loop"):
        tfe.functionalize_graph_def(old_loops.old(SMALL).graph_def, ["while/add:0"])


def test_bad_arguments() -> None:
    graph_def = old_loops.old(SMALL).graph_def
    for outputs, message in (
        (["y:0", "nowhere:0"], "'nowhere:0' is no tensor and no node of the graph"),
        (["y:1"], "'y:1' is no tensor.*below the number of the node's outputs"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"outputs: {message}"):
            tfe.functionalize_graph_def(graph_def, outputs)
    garbage = b"\x0a\xffgarbage"
    for content, size, got in ((garbage, len(garbage), "9 bytes"), (None, 0, "NULL")):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=f"a serialized.*GraphDef, got {got}"
        ):
            _library._call(_library._LIBRARY.TfExt_FunctionalizeGraphDef, content, size, None)


def test_nowhere_to_write(client: Client) -> None:
    with pytest.raises(ClientError, match=r"buffer.*is NULL"), client.status() as status:
        ctypes.CDLL(str(_library.PATH)).TfExt_FunctionalizeGraphDef(
            None, ctypes.c_size_t(0), None, None, status
        )


def test_the_refusal_names_both_ways_out(client: Client) -> None:
    graph = imported(client, old_loops.old(SMALL).graph_def)
    with pytest.raises(ClientError) as raised:
        API.add_gradients(graph, ["y:0"], ["x:0"], ["dy:0"])
    for way in ("python -m tensorflow_ext prepare MODEL", "TfExt_FunctionalizeGraphDef"):
        assert way in str(raised.value)
