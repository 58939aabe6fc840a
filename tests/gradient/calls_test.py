"""The gradient of ops that call a function, in a default session.

Gradients are compared with central differences of what the session computes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import ClientError, Graph
from graphs import (
    CLIENT,
    add_call,
    central_differences,
    gradient,
    graph_def_of,
    imported,
    in_threads,
)
from tensorflow.core.framework import graph_pb2

v1 = tf.compat.v1
X = np.array([0.3, -1.2, 0.8, 2.0])
V = np.array([1.5, 0.2, -0.7, 1.0])


def calling(build: Callable[..., Any]) -> graph_pb2.GraphDef:
    """The graph of y = build(x, handle of v); dy_1 and dy_2 are upstream gradients."""

    def graph() -> None:
        add_call(build, X.shape)
        for k in (1, 2):
            tf.constant(np.full(X.shape, float(k)), name=f"dy_{k}")

    return graph_def_of(graph)


def check(graph: Graph) -> None:
    """Checks the gradients of y by x and v, and the gradients of these."""
    first = check_order(graph, ["y:0"])
    check_order(graph, first)


def check_order(graph: Graph, ys: list[str]) -> list[str]:
    """Checks the gradients of 1 ys[0] + 2 ys[1] + ... by x and v; returns them."""

    def loss(x: np.ndarray, v: np.ndarray) -> float:
        graph.run([], {"value:0": v}, targets=["assign"])
        return sum(k * y.sum() for k, y in enumerate(graph.run(ys, {"x:0": x}), 1))

    upstream = [f"dy_{k}:0" for k in range(1, len(ys) + 1)]
    found = graph.gradients(ys, ["x:0", "v:0"], upstream)
    gradients = [name for name in found if name is not None]
    assert len(gradients) == 2
    loss(X, V)  # v has the value V afterwards
    by_x, by_v = graph.run(gradients, {"x:0": X})
    assert by_x.dtype == by_v.dtype == np.float64
    close = {"rtol": 1e-7, "atol": 1e-7}
    np.testing.assert_allclose(by_x, central_differences(lambda x: loss(x, V), X), **close)
    np.testing.assert_allclose(by_v, central_differences(lambda v: loss(X, v), V), **close)
    return gradients


def read(handle: tf.Tensor) -> tf.Tensor:
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float64)


@tf.function
def formula(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    return tf.sin(x * read(handle)) * x


@tf.function
def checked(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    """Ops that only their OpDefs mark as stateful run again, too."""
    constants = [
        tf.raw_ops.Empty(shape=[], dtype=tf.float64, init=True),
        tf.raw_ops.StatelessRandomGetAlg(),
        tf.raw_ops.DeviceIndex(device_names=["CPU"]),
        tf.data.Dataset.range(3).reduce(0.0, lambda total, i: total + tf.cast(i, tf.float32)),
        tf.data.Dataset.from_tensor_slices([1.0, 2.0]).take(1).get_single_element(),
        tf.data.Dataset.from_tensors(3.0).get_single_element(),
    ]
    factor = tf.add_n([tf.cast(value, tf.float64) for value in constants])
    return tf.sin(tf.debugging.check_numerics(x, "x") * read(handle) * factor) * x


@tf.function(jit_compile=True)
def compiled(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    return tf.sin(x * read(handle)) * x


@tf.function
def nested(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    y = tf.cond(x[0] > 0, lambda: formula(x, handle), lambda: x)
    _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + formula(x, handle)), [0, y])
    return y * read(handle)


def outside_too(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    return formula(x, handle) * read(handle) + formula(read(handle), handle)


def handle_of_unknown_type(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    # Some bindings omit the handle's data about its variable.
    return formula(x, v1.placeholder_with_default(handle, None))


def on_a_device(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    with tf.device("/device:CPU:0"):
        return formula(x, handle)


def remote(x: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
    function = formula.get_concrete_function(
        tf.TensorSpec(X.shape, tf.float64), tf.TensorSpec([], tf.resource)
    )
    function.add_to_graph()
    (y,) = tf.raw_ops.RemoteCall(
        target="/job:localhost/replica:0/task:0/device:CPU:0",
        args=[x, handle],
        Tout=[tf.float64],
        f=function,
    )
    return y


@pytest.mark.parametrize(
    "build",
    [formula, checked, compiled, nested, outside_too, handle_of_unknown_type, on_a_device, remote],
    ids=lambda build: build.__name__,
)
def test_by_input_and_variable(build: Callable[..., Any]) -> None:
    check(imported(calling(build)))


def of_attributes(op: str, **attributes: Any) -> Callable[..., Any]:
    """A function that multiplies x by the sum of an op's first output."""

    @tf.function
    def function(x: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
        made = getattr(tf.raw_ops, op)(**attributes)
        first = made[0] if isinstance(made, tuple) else made
        return x * tf.cast(tf.reduce_sum(first), tf.float64)

    return function


NETWORK = {
    **{name: np.ones([1, 1, 1], np.float32) for name in ("input", "input_h", "input_c")},
    **{"params": np.ones([8], np.float32), "rnn_mode": "rnn_tanh"},
}
RUNS = np.ones([1], np.int32)


@pytest.mark.parametrize(
    ("op", "attributes", "random"),
    [
        ("Empty", {"shape": [2], "dtype": tf.float32}, {"init": False}),
        ("CudnnRNN", NETWORK, {"dropout": 0.5}),
        ("CudnnRNNV2", NETWORK, {"dropout": 0.5}),
        ("CudnnRNNV3", {**NETWORK, "sequence_lengths": RUNS}, {"dropout": 0.5}),
    ],
)
def test_attributes_that_make_an_op_deterministic(
    op: str, attributes: dict[str, Any], random: dict[str, Any]
) -> None:
    """Otherwise the call must hand out the value, which an open session would not see.

    Some of these ops have no kernel here, so the gradient does not run.
    """

    def differentiate(**more: Any) -> list[str | None]:
        graph = imported(calling(of_attributes(op, **attributes, **more)))
        graph.run(["dy_1:0"], {})
        return graph.gradients(["y:0"], ["x:0"], [])

    assert differentiate(**({"init": True} if op == "Empty" else {})) != [None]
    with pytest.raises(ClientError, match=f"of op {op} .*need not give the same value twice"):
        differentiate(**random)


def test_the_gradient_that_the_graph_names_for_a_function() -> None:
    # TF_GraphCopyFunction(graph, function, gradient, status) does this.
    @tf.function
    def given(x: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
        return 7.0 * dy * x

    @tf.function
    def square(x: tf.Tensor) -> tf.Tensor:
        return x * x

    spec = tf.TensorSpec(X.shape, tf.float64)
    other = given.get_concrete_function(spec, spec)

    def build(x: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
        other.add_to_graph()
        return square(x)

    graph_def = calling(build)
    call = next(node for node in graph_def.node if node.op == "PartitionedCall")
    named = graph_def.library.gradient.add()
    named.function_name = call.attr["f"].func.name
    named.gradient_func = other.function_def.signature.name
    graph = imported(graph_def)
    found = gradient(graph, "y:0")
    np.testing.assert_allclose(graph.run([found], {"x:0": X})[0], 7 * X)


def test_a_missing_function() -> None:
    # TF_GraphImportGraphDef does not ask for one.
    graph_def = calling(formula)
    for node in graph_def.node:
        if "PartitionedCall" in node.op:
            node.attr["f"].func.name = "nowhere"
    graph = imported(graph_def)
    with pytest.raises(ClientError, match="'nowhere' is not in the graph's library"):
        graph.gradients(["y:0"], ["x:0"], [])


def test_many_threads() -> None:
    serialized = calling(nested).SerializeToString()

    def differentiate() -> np.ndarray:
        graph = CLIENT.import_graph(serialized)
        found = graph.gradients(["y:0"], ["x:0", "v:0"], [])
        graph.run([], {"value:0": V}, targets=["assign"])
        return np.concatenate(graph.run([str(name) for name in found], {"x:0": X}))

    first, *others = in_threads(differentiate)
    for other in others:
        np.testing.assert_array_equal(other, first)
