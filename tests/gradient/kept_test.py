"""Gradients of functions that draw random numbers or write to what they read.

The forward pass runs once, in a default session, and the gradient belongs to its values.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import Graph
from graph_api import GraphApi
from graphs import CLIENT, add_call, client_error, gradient, graph_def_of, graph_of, in_threads
from tensorflow.core.framework import graph_pb2, node_def_pb2

from tensorflow_ext._runtime import _library

v1 = tf.compat.v1
API = GraphApi(str(_library.PATH))
FAILED_PRECONDITION, UNIMPLEMENTED = 9, 12
X = np.array([0.3, -1.2, 0.8, 2.0])
STEPS = 3


def draw(x: tf.Tensor) -> tf.Tensor:
    return 1.0 + tf.random.uniform(tf.shape(x), dtype=x.dtype)


@tf.function
def call(x: tf.Tensor) -> tf.Tensor:
    return x * draw(x)


@tf.function
def returns_its_draw(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    r = tf.random.uniform(tf.shape(x), dtype=x.dtype)
    return x * r, r


@tf.function
def nested(x: tf.Tensor) -> tf.Tensor:
    y = tf.cond(x[0] > 0, lambda: call(x) * draw(x), lambda: x)
    _, y = tf.while_loop(lambda i, _: i < STEPS, lambda i, y: (i + 1, call(y)), [0, y])
    return y * draw(y)


def branch(x: tf.Tensor, first: float = 0.0) -> tf.Tensor:
    return tf.cond(x[0] > first, lambda: x * draw(x), lambda: x * draw(x) * draw(x))


def case(x: tf.Tensor, index: int) -> tf.Tensor:
    branches = [lambda: x * draw(x), lambda: 2 * x, lambda: call(x) * draw(x)]
    return tf.switch_case(tf.constant(index), branches)


def loop(x: tf.Tensor, body: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    _, y = tf.while_loop(lambda i, _: i < STEPS, lambda i, y: (i + 1, body(y)), [0, x])
    return y


def loop_in_loop(x: tf.Tensor) -> tf.Tensor:
    return loop(x, lambda y: loop(y, lambda z: z * draw(z)) * draw(y))


def loop_of_branches(x: tf.Tensor) -> tf.Tensor:
    return loop(x, lambda y: tf.cond(y[0] > 0.5, lambda: y * draw(y), lambda: call(y)))


def rows(x: tf.Tensor) -> tf.Tensor:
    return tf.map_fn(lambda row: row * draw(row), x)


def generator(x: tf.Tensor) -> tf.Tensor:
    state = tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[3], shared_name="state", name="state")
    start = tf.raw_ops.AssignVariableOp(
        resource=state, value=tf.constant([1, 2, 3], tf.int64), name="start"
    )
    with tf.control_dependencies([start]):
        return _generated(tf.identity(x), state)


@tf.function
def _generated(x: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
    return x * tf.raw_ops.StatefulUniform(
        resource=state, algorithm=1, shape=tf.shape(x), dtype=x.dtype
    )


@tf.function(jit_compile=True)
def compiled(x: tf.Tensor) -> tf.Tensor:
    return x * draw(x)


# Functions y of degree one in each element of x, so x dy/dx = y for the draws of one run.
OF_DEGREE_ONE: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "call": call,
    "returns_its_draw": lambda x: returns_its_draw(x)[0],
    "nested": nested,
    "then": branch,
    "else": lambda x: branch(x, first=1.0),
    "case_0": lambda x: case(x, 0),
    "case_1": lambda x: case(x, 1),
    "case_2": lambda x: case(x, 2),
    "loop": lambda x: loop(x, lambda y: y * draw(y)),
    "loop_of_calls": lambda x: loop(x, call),
    "loop_in_loop": loop_in_loop,
    "loop_of_branches": loop_of_branches,
    "rows": rows,
    "generator": generator,
    "compiled": compiled,
}


@pytest.mark.parametrize("name", OF_DEGREE_ONE)
def test_the_draws_of_the_forward_pass(name: str) -> None:
    def build() -> None:
        x = v1.placeholder(tf.float64, X.shape, name="x")
        y = tf.identity(OF_DEGREE_ONE[name](x), name="y")
        tf.multiply(y, y, name="square")
        tf.ones_like(y, name="dy")

    graph = graph_of(build)
    dy = gradient(graph, "y:0", "x:0", "dy:0")
    # d(y y)/dx = 2 y y / x, and its derivative is 2 y y / x^2.
    square = gradient(graph, "square:0")
    second = gradient(graph, square)
    for _ in range(2):
        y, by_x, by_square, by_second = graph.run(["y:0", dy, square, second], {"x:0": X})
        np.testing.assert_allclose(X * by_x, y, rtol=1e-12)
        np.testing.assert_allclose(X * by_square, 2 * y * y, rtol=1e-12)
        np.testing.assert_allclose(X * X * by_second, 2 * y * y, rtol=1e-12)
    again = graph.run(["y:0"], {"x:0": X})[0]
    assert (name in ("case_1", "generator")) == np.array_equal(y, again)


def of(name: str) -> None:
    x = v1.placeholder(tf.float64, X.shape, name="x")
    tf.identity(OF_DEGREE_ONE[name](x), name="y")


def content(graph: Graph) -> tuple[node_def_pb2.NodeDef, set[str]]:
    """The call, and the names of the functions."""
    found = graph_pb2.GraphDef.FromString(graph.graph_def())
    (call,) = (node for node in found.node if node.op in ("StatefulPartitionedCall", "If", "While"))
    return call, {function.signature.name for function in found.library.function}


@pytest.mark.parametrize("name", ["nested", "then", "loop_of_branches", "compiled"])
def test_a_session_that_has_the_node(name: str) -> None:
    graph = graph_of(lambda: of(name))
    graph.run(["y:0"], {"x:0": X})
    before = content(graph)
    with client_error(FAILED_PRECONDITION, "RandomUniform.* a session has this .*InlineCalls"):
        gradient(graph, "y:0")
    assert content(graph) == before
    # The branches and loops of the copy are new.
    (y,) = API.inline_calls(graph, ["y:0"])
    dy = gradient(graph, y)
    y_value, by_x = graph.run([y, dy], {"x:0": X})
    np.testing.assert_allclose(X * by_x, y_value, rtol=1e-12)


def test_a_function_that_returns_its_draw() -> None:
    """Nothing must change, so a session may have the node."""

    def build() -> None:
        returns_its_draw(v1.placeholder(tf.float64, X.shape, name="x"))

    graph = graph_of(build)
    call = "StatefulPartitionedCall"
    graph.run([f"{call}:0"], {"x:0": X})
    dy = gradient(graph, f"{call}:0")
    r, by_x = graph.run([f"{call}:1", dy], {"x:0": X})
    np.testing.assert_array_equal(by_x, r)


def read(v: tf.Tensor) -> tf.Tensor:
    return tf.raw_ops.ReadVariableOp(resource=v, dtype=tf.float64)


@tf.function
def scales_and_updates(x: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    """x v^2, and v grows by 1 between the two reads."""
    before = read(v)
    tf.raw_ops.AssignAddVariableOp(resource=v, value=tf.ones_like(x))
    return x * before * (read(v) - 1.0)


def in_a_branch(x: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return tf.cond(x[0] > 0, lambda: scales_and_updates(x, v), lambda: x)


def in_a_loop(x: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    """x v^2 (v + 1)^2 (v + 2)^2."""
    return loop(x, lambda y: scales_and_updates(y, v))


@tf.function  # which orders the reads and writes
def overwrites(x: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    """x v x: the second iteration reads what the first one has written."""

    def body(y: tf.Tensor) -> tf.Tensor:
        before = read(v)
        tf.raw_ops.AssignVariableOp(resource=v, value=y)
        return y * before

    _, y = tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, body(y)), [0, x])
    return y


@dataclasses.dataclass(frozen=True)
class Update:
    """y = x factor(v, x), its derivative by the reads of v, and v afterwards."""

    body: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
    factor: Callable[[Any, Any], Any] = lambda v, _: v**2
    slope: Callable[[Any, Any], Any] = lambda v, _: 2 * v
    after: Callable[[Any, Any], Any] = lambda v, _: v + 1


UPDATES = {
    "call": Update(scales_and_updates),
    "branch": Update(in_a_branch),
    "branch_in_call": Update(tf.function(in_a_branch)),
    "loop": Update(
        tf.function(in_a_loop),
        lambda v, _: (v * (v + 1) * (v + 2)) ** 2,
        lambda v, _: 2 * v * (v + 1) * (v + 2) * (3 * v**2 + 6 * v + 2),
        lambda v, _: v + STEPS,
    ),
    "overwrites": Update(overwrites, lambda v, x: v * x, lambda v, x: x + v, lambda v, x: x * v),
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_of_what_the_function_reads(name: str) -> None:
    update = UPDATES[name]
    graph = graph_of(lambda: add_call(update.body, X.shape))
    by_x, by_v = graph.gradients(["y:0"], ["x:0", "v:0"], [])
    v = np.array([1.5, 0.2, -0.7, 1.0])
    factor, slope = update.factor(v, X), update.slope(v, X)
    for _ in range(2):
        graph.run([], {"value:0": v}, targets=["assign"])
        found = graph.run(["y:0", str(by_x), str(by_v)], {"x:0": X})
        for value, expected in zip(found, [X * factor, factor, X * slope], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-12)
        # The forward pass has run once.
        np.testing.assert_array_equal(graph.run(["now:0"], {})[0], update.after(v, X))


def test_a_branch_that_reads_before_the_function_writes() -> None:
    @tf.function
    def body(x: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
        y = tf.cond(x[0] > 0, lambda: x * x * read(v), lambda: x)
        tf.raw_ops.AssignAddVariableOp(resource=v, value=tf.ones_like(x))
        return y

    graph = graph_of(lambda: add_call(body, X.shape))
    with client_error(UNIMPLEMENTED, "AssignAddVariableOp.* writes to a resource"):
        gradient(graph, "y:0")


def test_what_cannot_return_more() -> None:
    def build() -> None:
        x = v1.placeholder(tf.float64, X.shape, name="x")
        body = tf.function(draw).get_concrete_function(tf.TensorSpec([], tf.float64))
        body.add_to_graph()
        mapped = tf.raw_ops.MapDefun(
            arguments=[x], captured_inputs=[], output_types=[tf.float64], output_shapes=[[]], f=body
        )
        tf.identity(mapped[0] * x, name="y")
        row = tf.function(call).get_concrete_function(tf.TensorSpec([], tf.float64))
        row.add_to_graph()
        mapped = tf.raw_ops.MapDefun(
            arguments=[x], captured_inputs=[], output_types=[tf.float64], output_shapes=[[]], f=row
        )
        tf.identity(mapped[0], name="z")

    graph = graph_of(build)
    assert gradient(graph, "y:0")
    with client_error(UNIMPLEMENTED, "RandomUniform.* hand it in as an argument"):
        gradient(graph, "z:0")


def test_many_threads() -> None:
    serialized = graph_def_of(lambda: of("nested")).SerializeToString()

    def differentiate() -> None:
        graph = CLIENT.import_graph(serialized)
        dy = gradient(graph, "y:0")
        y, by_x = graph.run(["y:0", dy], {"x:0": X})
        np.testing.assert_allclose(X * by_x, y, rtol=1e-12)

    in_threads(differentiate)
