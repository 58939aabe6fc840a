"""A gradient whose shape differs from its input's is an error in every client.

faulty_ops.cc holds the ops.
"""

import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import commands
import numpy as np
import pytest
import tensorflow as tf
from c_client import Graph
from graphs import client_error, graph_of
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import ops as framework_ops

import tensorflow_ext as tfe
from tensorflow_ext import gradients, raw_ops
from tensorflow_ext._runtime import _shape_checks

v1 = tf.compat.v1
FAULTY_OPS = pathlib.Path(os.environ["FAULTY_OPS"]).absolute()
MODULE = tf.load_op_library(str(FAULTY_OPS))
gradients.register_all()
# Messages, as regular expressions.
X_IS_SUMMED = re.escape(
    "the gradient of input 0 ('x') has shape [] where the input has shape [3]; "
    "node 'dx' of op Sum in the definition makes it"
)
SUMMED = f"In the gradient of Faulty>Summed: {X_IS_SUMMED}"
NOT_SUMMED = "In the gradient of Faulty>NotSummed: " + re.escape(
    "the gradient of input 1 ('y') has shape [2,3] where the input has shape [3]; "
    "node 'dy' of op Mul in the definition makes it"
)
WRONG_UPSTREAM = re.escape(
    "the upstream gradient of output 0 has shape [2] where the output has shape [3]"
)


@pytest.fixture
def switched_on() -> Iterator[None]:
    assert gradients.check_shapes(True) is False
    yield
    gradients.check_shapes(False)


def slope(op: Any, *inputs: Any, upstream: Any = None) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = op(*inputs)
    return tape.gradient(y, inputs, upstream)


# ----- Eager. -----


def test_eager() -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match=SUMMED):
        slope(MODULE.faulty_summed, tf.ones([3]))


def test_eager_names_the_input() -> None:
    x, y = tf.ones([2, 3]), tf.ones([3])
    slope(MODULE.faulty_not_summed, x, x)
    with pytest.raises(tf.errors.FailedPreconditionError, match=NOT_SUMMED):
        slope(MODULE.faulty_not_summed, x, y)


def test_eager_blames_an_upstream_gradient_that_is_wrong() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=WRONG_UPSTREAM):
        slope(tfe.reverse_gradient, tf.ones([3]), upstream=tf.ones([2]))


def test_eager_always_checks_only_with_the_switch(switched_on: None) -> None:
    """The attributes of an op have one plan, whose first runs are checked."""
    x, y = tf.ones([2, 3]), tf.ones([3])

    def wrong(scale: tf.Tensor) -> Any:
        return slope(MODULE.faulty_not_summed, x, scale)

    for _ in range(_shape_checks.FIRST + 1):
        wrong(x)
    with pytest.raises(tf.errors.FailedPreconditionError):
        wrong(y)
    gradients.check_shapes(False)
    assert wrong(y)[1].shape == [2, 3]
    gradients.check_shapes(True)
    with pytest.raises(tf.errors.FailedPreconditionError):
        wrong(y)


# ----- Graphs of Python. -----


def traced(op: Any, *shapes: list[int | None] | None) -> Any:
    """The gradients of `op` as a function of inputs of these shapes."""
    specs = [tf.TensorSpec(shape, tf.float32) for shape in shapes]
    return tf.function(lambda *x: slope(op, *x), specs, autograph=False)


def test_function_during_tracing() -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match=SUMMED):
        traced(MODULE.faulty_summed, [3]).get_concrete_function()


def test_v1_graph() -> None:
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [3])
        with pytest.raises(tf.errors.FailedPreconditionError, match=SUMMED):
            tf.gradients(MODULE.faulty_summed(x), x)


def test_function_of_unknown_shapes(switched_on: None) -> None:
    function = traced(MODULE.faulty_summed, None)
    with pytest.raises(tf.errors.InvalidArgumentError, match=SUMMED):
        function(tf.ones([3]))
    # The shapes match by chance.
    gradients.check_shapes(False)
    function = traced(MODULE.faulty_summed, None)
    assert function(tf.ones([3]))[0].shape == []


def ops_in(function: Any) -> set[str]:
    graph = function.get_concrete_function().graph.as_graph_def()
    return {node.op for node in graph.node}


def test_known_shapes_are_not_checked_again(switched_on: None) -> None:
    assert "TfExt>CheckGradientShape" not in ops_in(traced(tfe.relu, [3]))
    assert "TfExt>CheckGradientShape" in ops_in(traced(tfe.relu, [None]))


def test_variable() -> None:
    """The gradient of a handle has the shape of the variable."""
    variable = tf.Variable(tf.zeros([3, 2]))

    @tf.function(autograph=False)
    def function() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(variable.handle)
            y = MODULE.faulty_first_row(variable=variable.handle)
        return tape.gradient(y, variable.handle)

    message = r"input 0 \('variable'\) has shape \[2\] where the input has shape \[3,2\]"
    with pytest.raises(tf.errors.FailedPreconditionError, match=message):
        function.get_concrete_function()


def test_right_gradients_do_not_change(switched_on: None) -> None:
    x, dy = tf.constant([[1.0, -2.0, 3.0]]), tf.constant([[5.0, 7.0, 11.0]])

    def twice(x: tf.Tensor, dy: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            outer.watch([x, dy])
            (first,) = slope(lambda x: tfe.mish(x), x, upstream=dy)
        return first, outer.gradient(first, [x, dy])

    specs = [tf.TensorSpec(None, tf.float32)] * 2
    for compiled in (False, True):
        function = tf.function(twice, specs, autograph=False, jit_compile=compiled)
        assert "TfExt>CheckGradientShape" in ops_in(function)
        tf.nest.map_structure(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), function(x, dy), twice(x, dy)
        )


# The node of Faulty>Summed, for inputs that the op has no kernel for.
def check_node(gradient: Any, shape: Any) -> tf.Tensor:
    return raw_ops.check_gradient_shape(
        gradient,
        shape,
        where="In the gradient of Faulty>Summed: the gradient of input 0 ('x')",
        made_by="node 'dx' of op Sum in the definition makes it",
    )


def test_compiled_by_xla() -> None:
    @tf.function(
        input_signature=[tf.TensorSpec(None, tf.float32)] * 2, jit_compile=True, autograph=False
    )
    def function(x: tf.Tensor, gradient: tf.Tensor) -> tf.Tensor:
        return check_node(gradient, tf.shape(x, out_type=tf.int64))

    x = tf.constant([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(function(x, 2 * x), 2 * x)
    with pytest.raises(tf.errors.InvalidArgumentError, match=SUMMED):
        function(x, 1.0)


@pytest.mark.parametrize("stacked", [False, True])
def test_vectorized(stacked: bool) -> None:
    """A row of x for each iteration, and its gradient or one gradient for all."""

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)] * 2)
    def function(x: tf.Tensor, gradients: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor) -> tf.Tensor:
            shape = tf.shape(tf.gather(x, i), out_type=tf.int64)
            return check_node(tf.gather(gradients, i) if stacked else gradients, shape)

        return tf.vectorized_map(body, tf.range(2), fallback_to_while_loop=False)

    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    expected = x if stacked else [x[0], x[0]]
    np.testing.assert_array_equal(function(x, expected if stacked else x[0]), expected)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Faulty>Summed"):
        function(x, [1.0, 2.0] if stacked else 1.0)


def test_the_node_itself() -> None:
    assert framework_ops._gradient_registry.lookup("TfExt>CheckGradientShape")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected: .* a vector"):
        raw_ops.check_gradient_shape(tf.ones([3]), tf.constant(3, tf.int64), where="", made_by="")
    # Inferred shapes may be wrong, so nothing is an error before it runs.
    function = tf.function(lambda x: check_node(x, [3, 2]))
    function.get_concrete_function(tf.TensorSpec([3], tf.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \[3\] where .*3,2"):
        function(tf.ones([3]))


# ----- C. -----


def c_graph(op: str, *shapes: list[int | None] | None) -> Graph:
    """Placeholders x0, x1, ..., `op` applied to them, called f, and an upstream dy."""

    def build() -> None:
        x = [v1.placeholder(tf.float32, s, f"x{i}") for i, s in enumerate(shapes)]
        y = getattr(MODULE, op)(*x, name="f")
        v1.placeholder(tf.float32, y.shape, "dy")

    return graph_of(build)


def check_nodes(graph: Graph) -> list[str]:
    nodes = graph_pb2.GraphDef.FromString(graph.graph_def()).node
    return [node.name for node in nodes if node.op == "TfExt>CheckGradientShape"]


def test_c() -> None:
    graph = c_graph("faulty_summed", [3])
    before = graph.nodes()
    message = f"node 'f' of op Faulty>Summed: {X_IS_SUMMED}"
    with client_error(tf.errors.FAILED_PRECONDITION, message):
        graph.gradients(["f:0"], ["x0:0"], ["dy:0"])
    assert graph.nodes() == before


def test_c_blames_an_upstream_gradient_that_is_wrong() -> None:
    def build() -> None:
        raw_ops.reverse_gradient(v1.placeholder(tf.float32, [3], "x"), name="f")
        v1.placeholder(tf.float32, [2], "dy")

    with client_error(tf.errors.INVALID_ARGUMENT, WRONG_UPSTREAM):
        graph_of(build).gradients(["f:0"], ["x:0"], ["dy:0"])


def test_c_variable() -> None:
    def build() -> None:
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[3, 2], name="x")
        MODULE.faulty_first_row(variable=handle, name="f")
        v1.placeholder(tf.float32, [2], "dy")

    message = r"has shape \[2\] where .* shape \[3,2\]"
    with client_error(tf.errors.FAILED_PRECONDITION, message):
        graph_of(build).gradients(["f:0"], ["x:0"], ["dy:0"])


def test_c_at_run_time(switched_on: None) -> None:
    graph = c_graph("faulty_not_summed", [None, 3], None)
    dx, dy = graph.gradients(["f:0"], ["x0:0", "x1:0"], ["dy:0"])
    assert len(check_nodes(graph)) == 2
    feeds = {"x0:0": np.ones([2, 3], np.float32), "dy:0": np.ones([2, 3], np.float32)}
    (found,) = graph.run([str(dx)], feeds)
    np.testing.assert_array_equal(found, np.ones([2, 3]))
    feeds["x1:0"] = np.ones([3], np.float32)
    with client_error(tf.errors.INVALID_ARGUMENT, NOT_SUMMED):
        graph.run([str(dy)], feeds)


def test_c_adds_nothing_if_off_or_all_shapes_are_known(switched_on: None) -> None:
    graph = c_graph("featured_reshaped", [3])
    graph.gradients(["f:0"], ["x0:0"], ["dy:0"])
    assert not check_nodes(graph)
    gradients.check_shapes(False)
    graph = c_graph("featured_reshaped", None)
    graph.gradients(["f:0"], ["x0:0"], ["dy:0"])
    assert not check_nodes(graph)
    gradients.check_shapes(True)
    (again,) = graph.gradients(["f:0"], ["x0:0"], ["dy:0"])
    (second,) = graph.gradients([str(again)], ["dy:0"], ["x0:0"])
    assert len(check_nodes(graph)) == 2  # one of them checks dy
    x, dy = np.array([1, 2], np.float32), np.array([3, 5], np.float32)
    found = graph.run([str(again), str(second)], {"x0:0": x, "dy:0": dy})
    np.testing.assert_array_equal(found, [dy, x])


def test_environment() -> None:
    """The processes are forked after the import of TensorFlow, which takes most of the time."""
    program = """
import os
import tensorflow
for value, on in (("1", True), ("0", False), ("", False)):
    if os.fork() == 0:
        os.environ["TFEXT_CHECK_GRADIENTS"] = value
        from tensorflow_ext import gradients
        from tensorflow_ext._runtime import _shape_checks
        assert _shape_checks.Due.always is on
        assert gradients.check_shapes(False) is on
        os._exit(0)
    assert os.wait()[1] == 0, value
"""
    commands.python("-c", program)
