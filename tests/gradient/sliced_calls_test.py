"""TfExt_SliceGradients through calls and branches, and in steps."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import UNOPTIMIZED, Graph
from graphs import central_differences, imported
from tables import (
    API,
    IDS,
    TABLE,
    WIDTH,
    gradients,
    in_zeros,
    looked_up,
    outer,
    slices_of,
    table_graph,
    variable_graph,
)
from tensorflow.core.framework import graph_pb2


@tf.function
def in_one_branch(v: Any, w: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    return tf.cond(
        ids[0] > 2, lambda: tf.gather(v, ids) * w, lambda: w * tf.ones([tf.size(ids), 1], w.dtype)
    )


@tf.function
def in_cases(v: Any, w: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    branches = [
        lambda: looked_up(v, w, ids[:1]),
        lambda: in_one_branch(v, w, tf.cast(ids, tf.int32)),
        lambda: w[None] * tf.gather(v, tf.cast(ids, tf.int64)),
    ]
    return tf.switch_case(ids[0] % 3, branches)


CALLED = {f.python_function.__name__: f for f in (looked_up, outer, in_one_branch, in_cases)}
MANY_IDS = [IDS, IDS[::-1], np.array([2, 2, 5, 1], np.int32)]


@pytest.mark.parametrize(
    ("name", "optimized"), [*((name, True) for name in CALLED), ("outer", False)]
)
def test_calls_and_branches(name: str, optimized: bool) -> None:
    graph = variable_graph(CALLED[name])
    if not optimized:
        graph.config = UNOPTIMIZED
    dense = gradients(graph, "v:0", "w:0")
    graph.run(dense, {"ids:0": IDS})  # the session has seen the graph by now
    sliced, of_w = API.slice_gradients(graph, dense)
    assert of_w.values is None
    assert of_w.dense != dense[1]  # made by the call that gives the slices
    for ids in MANY_IDS:
        feeds = {"ids:0": ids}
        expected = graph.run(dense, feeds)
        *parts, found = graph.run([*slices_of(sliced), str(of_w.dense)], feeds)
        np.testing.assert_allclose(in_zeros(*parts), expected[0], rtol=1e-12)
        np.testing.assert_allclose(found, expected[1], rtol=1e-12)


def needed_ops(graph: Graph, tensors: Sequence[str]) -> list[str]:
    """The ops that compute the tensors, with those of called functions."""
    graph_def = graph_pb2.GraphDef.FromString(graph.graph_def())
    names = list(tensors)
    by_name = {node.name: node for node in graph_def.node}
    used: dict[str, Any] = {}
    while names:
        name = re.sub(r"^\^|:\d+$", "", names.pop())
        if name not in used:
            used[name] = by_name[name]
            names += used[name].input
    ops = [node.op for node in used.values()]
    called = [node.attr["f"].func.name for node in used.values() if "f" in node.attr]
    for function in graph_def.library.function:
        if function.signature.name in called:
            ops += [node.op for node in function.node_def]
    return ops


def test_no_dense_gradient_is_computed() -> None:
    graph = variable_graph(looked_up)
    dense = gradients(graph, "v:0", "w:0")
    sliced, of_w = API.slice_gradients(graph, dense)
    assert "UnsortedSegmentSum" in needed_ops(graph, dense)
    calls = {"PartitionedCall", "StatefulPartitionedCall"}
    ops = needed_ops(graph, [*slices_of(sliced), str(of_w.dense)])
    assert "UnsortedSegmentSum" not in ops
    # That of the loss, and one gradient.
    assert sum(op in calls for op in ops) == 2


def test_a_result_that_something_else_needs_stays() -> None:
    """The clipped gradient needs the dense one, which the same call gives."""
    graph = variable_graph(looked_up)
    (dense,) = gradients(graph, "v:0")
    whole = graph_pb2.GraphDef.FromString(graph.graph_def())
    with tf.Graph().as_default() as client:
        (tensor,) = tf.import_graph_def(whole, return_elements=[dense], name="")
        tf.identity(tf.clip_by_norm(tensor, 0.5), name="clipped")
    graph = imported(client.as_graph_def())
    sliced, clipped = API.slice_gradients(graph, [dense, "clipped:0"])
    assert clipped.dense != "clipped:0"
    graph.run([], {}, targets=["v/Assign", "w/Assign"])
    expected = graph.run([dense, "clipped:0"], {"ids:0": IDS})
    *parts, found = graph.run([*slices_of(sliced), str(clipped.dense)], {"ids:0": IDS})
    np.testing.assert_allclose(in_zeros(*parts), expected[0])
    np.testing.assert_allclose(found, expected[1])


def test_loops_give_a_dense_gradient() -> None:
    @tf.function
    def looped(v: Any, w: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        start = tf.zeros([tf.size(ids), WIDTH], w.dtype)
        return tf.while_loop(
            lambda k, _: k < 3, lambda k, y: (k + 1, y * w + tf.gather(v, ids)), [0, start]
        )[1]

    graph = variable_graph(looped)
    (dense,) = gradients(graph, "v:0")
    (sliced,) = API.slice_gradients(graph, [dense])
    assert sliced.dense == dense
    assert "of op While in function" in sliced.reason


def test_updates_wait_for_the_gradient() -> None:
    """A step with ResourceScatterSub, after which the table has what the dense step gives."""
    graph = variable_graph(looked_up)
    (dense,) = gradients(graph, "v:0")
    (sliced,) = API.slice_gradients(graph, [dense])
    whole = graph_pb2.GraphDef.FromString(graph.graph_def())
    names = ["v:0", *slices_of(sliced)[:2]]
    with tf.Graph().as_default() as client:
        v, values, indices = tf.import_graph_def(whole, return_elements=names, name="")
        step = tf.raw_ops.ResourceScatterSub(resource=v, indices=indices, updates=values)
        with tf.control_dependencies([step]):
            tf.raw_ops.ReadVariableOp(resource=v, dtype=tf.float64, name="after")
    graph = imported(client.as_graph_def())
    graph.run([], {}, targets=["v/Assign", "w/Assign"])
    (gradient,) = graph.run([dense], {"ids:0": IDS})
    (after,) = graph.run(["after:0"], {"ids:0": IDS})
    np.testing.assert_allclose(after, TABLE - gradient)


def test_the_slices_have_gradients() -> None:
    graph = table_graph(lambda x, ids: tf.sin(tf.gather(x, ids)))
    (dense,) = gradients(graph)
    (sliced,) = API.slice_gradients(graph, [dense])
    values, *_ = slices_of(sliced)
    (second,) = API.add_gradients(graph, [values], ["x:0"])

    def with_ids(tensor: str) -> Callable[[np.ndarray], Any]:
        return lambda x: graph.run([tensor], {"x:0": x, "ids:0": IDS})[0]

    expected = central_differences(lambda x: with_ids(values)(x).sum(), TABLE)
    np.testing.assert_allclose(with_ids(str(second))(TABLE), expected, rtol=1e-6, atol=1e-6)
