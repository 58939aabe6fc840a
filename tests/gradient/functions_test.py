"""Effects of function calls' gradients on the graph's library of functions, and their
compilation by XLA.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import ClientError, Graph
from graphs import gradient, graph_def_of, imported, value
from tensorflow.core.framework import function_pb2, graph_pb2
from tensorflow.python.framework.function import Defun

X = np.array([1.0, 2.0, 3.0])


def calling(build: Callable[[Any], Any]) -> graph_pb2.GraphDef:
    """A graph with the placeholder x and the result y."""
    return graph_def_of(
        lambda: tf.identity(build(tf.compat.v1.placeholder(tf.float64, [None], name="x")), name="y")
    )


def functions(graph: Graph) -> dict[str, function_pb2.FunctionDef]:
    library = graph_pb2.GraphDef.FromString(graph.graph_def()).library
    return {function.signature.name: function for function in library.function}


def derivative(graph: Graph) -> np.ndarray:
    return value(graph, gradient(graph, "y:0"))(X)


@tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
def third_power(x: Any) -> Any:
    return x * x * x


def cube(x: Any) -> Any:
    """An If with the same function for both branches."""
    function = third_power.get_concrete_function()
    return tf.raw_ops.StatelessIf(
        cond=x[0] > 0, input=[x], Tout=[tf.float64], then_branch=function, else_branch=function
    )[0]


def call_in_branch(x: Any) -> Any:
    return tf.cond(x[0] > 0, lambda: third_power(x), lambda: x)


def test_a_function_is_differentiated_once() -> None:
    graph = imported(calling(lambda x: cube(x) + cube(2.0 * x)))
    before = functions(graph)
    np.testing.assert_allclose(derivative(graph), 3 * X**2 + 24 * X**2)
    once = functions(graph)
    np.testing.assert_allclose(derivative(graph), 27 * X**2)
    assert functions(graph).keys() == once.keys()
    assert len(once) == len(before) + 1
    assert before.items() <= once.items(), "the functions stay as they are"


def test_the_same_function_has_the_same_gradient_everywhere() -> None:
    graph_def = calling(cube)
    graphs = [imported(graph_def) for _ in range(2)]
    for graph in graphs:
        derivative(graph)
    assert functions(graphs[0]) == functions(graphs[1])


def test_a_session_sees_the_gradient_functions() -> None:
    graph = imported(calling(cube))
    np.testing.assert_allclose(graph.run(["y:0"], {"x:0": X})[0], X**3)
    np.testing.assert_allclose(derivative(graph), 3 * X**2)


def test_side_effects_do_not_happen_twice() -> None:
    def prints(x: Any) -> Any:
        tf.print("once", x)
        return x * x

    graph = imported(calling(lambda x: tf.cond(x[0] > 0, lambda: prints(x), lambda: x)))
    before = functions(graph)
    np.testing.assert_allclose(derivative(graph), 2 * X)
    added = [f for name, f in functions(graph).items() if name not in before]
    assert added
    assert not [node for f in added for node in f.node_def if "Print" in node.op]


@pytest.mark.parametrize("build", [cube, call_in_branch])
def test_a_gradient_that_the_library_names_is_called(build: Callable[[Any], Any]) -> None:
    graph_def = calling(build)
    names = [function.signature.name for function in graph_def.library.function]
    (name,) = (name for name in names if "third_power" in name)

    @tf.function
    def tenfold(x: Any, dy: Any) -> Any:
        return 10.0 * x * dy

    spec = tf.TensorSpec([None], tf.float64)
    gradient = tenfold.get_concrete_function(spec, spec).function_def
    graph_def.library.function.append(gradient)
    graph_def.library.gradient.add(function_name=name, gradient_func=gradient.signature.name)
    graph = imported(graph_def)
    np.testing.assert_allclose(derivative(graph), 10 * X)


def test_calls_are_inlined() -> None:
    graph = imported(calling(lambda x: call_in_branch(call_in_branch(x))))
    before = functions(graph)
    np.testing.assert_allclose(derivative(graph), 9 * X**8)
    added = [f for name, f in functions(graph).items() if name not in before]
    assert added
    assert not [node for f in added for node in f.node_def if "Call" in node.op]


def test_a_function_that_calls_itself_is_refused() -> None:
    graph_def = calling(call_in_branch)
    branches = {
        node.attr["then_branch"].func.name for node in graph_def.node if node.op == "StatelessIf"
    }
    for function in graph_def.library.function:
        for node in function.node_def:
            if function.signature.name in branches and node.op == "PartitionedCall":
                node.attr["f"].func.name = function.signature.name
    graph = imported(graph_def)
    with pytest.raises(ClientError, match="' calls itself"):
        derivative(graph)


def test_an_error_names_the_way_to_the_op() -> None:
    def inner(x: Any) -> Any:
        single = tf.cast(x, tf.float32)
        quantized = tf.raw_ops.QuantizeV2(
            input=single, min_range=0.0, max_range=single[0], T=tf.quint8
        )
        return tf.cast(quantized.output_max, tf.float64)

    graph = imported(calling(lambda x: tf.cond(x[0] > 0, lambda: inner(x), lambda: x)))
    with pytest.raises(ClientError, match=r"'cond'.*StatelessIf.*function '.*QuantizeV2"):
        derivative(graph)


def with_version_1(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A StatelessIf of a function with control flow of TensorFlow 1."""

    def built(x: Any) -> Any:
        tf.compat.v1.disable_control_flow_v2()
        try:
            function = Defun(tf.float64)(build)
            function.add_to_graph(tf.compat.v1.get_default_graph())
        finally:
            tf.compat.v1.enable_control_flow_v2()
        return tf.raw_ops.StatelessIf(
            cond=True, input=[x], Tout=[tf.float64], then_branch=function, else_branch=function
        )[0]

    return built


def loop(x: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]


def test_branches_of_version_1_in_a_function() -> None:
    build = with_version_1(lambda x: tf.cond(x[0] > 0, lambda: x**3, lambda: x))
    graph = imported(calling(build))
    (function,) = functions(graph).values()
    assert "Merge" in {node.op for node in function.node_def}
    np.testing.assert_allclose(derivative(graph), 3 * X**2)


def test_a_loop_of_version_1_in_a_function_is_refused() -> None:
    graph = imported(calling(with_version_1(loop)))
    with pytest.raises(ClientError, match="belongs to a TensorFlow 1 loop"):
        derivative(graph)


def test_a_loop_of_TF_NewWhile_has_gradients_of_this_library_in_it() -> None:
    def part(build: Callable[..., Any]) -> bytes:
        with tf.Graph().as_default() as graph:
            placeholder = tf.compat.v1.placeholder
            results = build(placeholder(tf.float64, [], "x0"), placeholder(tf.float64, [3], "x1"))
            for k, result in enumerate(results):
                tf.identity(result, name=f"y{k}")
            return graph.as_graph_def().SerializeToString()

    one = np.array(1.0)
    add = tf.raw_ops.AddN
    cond = part(lambda i, _: [i < 3.0])
    body = part(lambda i, y: [add(inputs=[i, one]), tf.raw_ops.IdentityN(input=[-y])[0]])
    with tf.Graph().as_default() as start:
        tf.compat.v1.placeholder(tf.float64, [], "i")
        tf.compat.v1.placeholder(tf.float64, [3], "x")
    graph = imported(start.as_graph_def())
    ys = graph.while_loop(["i:0", "x:0"], cond, body)
    names = graph.gradients(ys, ["i:0", "x:0"], [])
    values = graph.run([n for n in names if n], {"i:0": np.array(0.0), "x:0": X})
    np.testing.assert_allclose(values[1], -np.ones(3))


def any_number_of_times(x: Any) -> Any:
    return tf.while_loop(lambda y: tf.norm(y) < 9.0, lambda y: y * (1 + x), [x])[0]


def up_to_a_variable(x: Any) -> Any:
    return tf.while_loop(lambda y: tf.norm(y) < 99.0, lambda y: y * x, [x], maximum_iterations=3)[0]


@pytest.mark.parametrize("build", [loop, up_to_a_variable])
def test_xla_compiles_the_gradient_of_a_loop_with_a_bound(build: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(compiled(build), 4 * X**3)


def test_xla_refuses_a_loop_without_a_bound() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="fixed tensor list size"):
        compiled(any_number_of_times)


def compiled(build: Callable[[Any], Any]) -> np.ndarray:
    """The derivative, its graph compiled by XLA."""
    graph = imported(calling(build))
    names = graph.gradients(["y:0"], ["x:0"], [])
    graph_def = graph_pb2.GraphDef.FromString(graph.graph_def())
    function = tf.compat.v1.wrap_function(
        lambda x: tf.import_graph_def(graph_def, {"x:0": x}, names),
        [tf.TensorSpec(X.shape, tf.float64)],
    )
    return tf.function(function, jit_compile=True)(tf.constant(X))[0].numpy()
