"""The arguments of TfExt_SliceGradients, and the op for clients that cannot call functions."""

import numpy as np
import pytest
import tensorflow as tf
from graph_api import Sliced
from graphs import client_error, graph_def_of, imported, in_threads
from tables import (
    API,
    IDS,
    TABLE,
    gradients,
    in_zeros,
    looked_up,
    loss,
    outer,
    slices_of,
    table_graph,
    v1,
    variable_graph,
)
from tensorflow.core.framework import graph_pb2

from tensorflow_ext import raw_ops


def test_gradients_that_do_not_exist_stay_so() -> None:
    graph = table_graph(tf.gather)
    (dense,) = gradients(graph)
    before, sliced, same = API.slice_gradients(graph, [None, dense, dense])
    assert before == Sliced(None, None, None, None, "")
    slices_of(sliced)
    parts = graph.run(slices_of(same), {"x:0": TABLE, "ids:0": IDS})
    np.testing.assert_array_equal(parts[1], IDS)


def test_wrong_arguments_are_errors() -> None:
    graph = table_graph(tf.gather)
    (dense,) = gradients(graph)
    before = graph.nodes()
    with client_error(tf.errors.INVALID_ARGUMENT, "repeated: expected TFEXT_REPEATED_STAY or"):
        API.slice_gradients(graph, [dense], 7)
    with client_error(tf.errors.INVALID_ARGUMENT, r"gradients\[0\].*output 3 was requested"):
        API.slice_gradients(graph, ["x:3"])
    assert graph.nodes() == before


def test_many_threads() -> None:
    graph = variable_graph(looked_up)
    dense = gradients(graph, "v:0")
    found = in_threads(lambda: API.slice_gradients(graph, dense)[0])
    names = {name for sliced in found for name in slices_of(sliced)}
    assert len(names) == 24
    for parts in (graph.run(slices_of(sliced), {"ids:0": IDS}) for sliced in found):
        np.testing.assert_array_equal(parts[1], IDS)


# ---- As an op, for clients that cannot call a library's functions


def test_the_op() -> None:
    """A client that can only import a GraphDef combines both graphs."""
    graph = variable_graph(outer)
    dense = gradients(graph, "v:0", "w:0")
    serialized = graph.graph_def()
    nodes, *fields = raw_ops.slice_gradients(serialized, dense)
    texts = [[name.decode() for name in field.numpy()] for field in fields]
    first, second = zip(*texts, strict=True)
    assert first[3:] == ("", "")
    assert second[:3] == ("", "", "")
    assert "of op" in second[4]
    whole = imported(graph_pb2.GraphDef.FromString(serialized + nodes.numpy()))
    whole.run([], {}, targets=["v/Assign", "w/Assign"])
    expected = whole.run(dense, {"ids:0": IDS})
    *parts, found = whole.run([*first[:3], second[3]], {"ids:0": IDS})
    np.testing.assert_allclose(in_zeros(*parts), expected[0])
    np.testing.assert_allclose(found, expected[1])
    # Rust's strings hold no bytes.
    numbers, *same = raw_ops.slice_gradients(tf.io.decode_raw(serialized, tf.uint8), dense)
    assert graph_pb2.GraphDef.FromString(
        numbers.numpy().tobytes()
    ) == graph_pb2.GraphDef.FromString(nodes.numpy())
    for field, other in zip(fields, same, strict=True):
        np.testing.assert_array_equal(field, other)


def test_the_op_sums_repeated_indices() -> None:
    graph = table_graph(tf.gather)
    (dense,) = gradients(graph)
    serialized = graph.graph_def()
    nodes, _, indices, *_ = raw_ops.slice_gradients(serialized, [dense], sum_repeated=True)
    whole = imported(graph_pb2.GraphDef.FromString(serialized + nodes.numpy()))
    (found,) = whole.run([indices.numpy()[0].decode()], {"x:0": TABLE, "ids:0": IDS})
    np.testing.assert_array_equal(found, [4, 1, 0])


def test_the_op_refuses_wrong_inputs() -> None:
    serialized = graph_def_of(lambda: v1.placeholder(tf.float32, [], name="x")).SerializeToString()
    wrong = [
        (b"no graph", ["x:0"], "graph_def: expected a serialized tensorflow.GraphDef"),
        (serialized, ["z:0"], "TfExt>SliceGradients: gradients: 'z:0' is no tensor of"),
        ([serialized], ["x:0"], r"'graph_def' has shape \[1\], expected a scalar"),
        (serialized, "x:0", r"'gradients' has shape \[\], expected a vector"),
    ]
    for graph, names, message in wrong:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            raw_ops.slice_gradients(graph, names)
    nodes, *fields = raw_ops.slice_gradients(serialized, tf.zeros([0], tf.string))
    assert nodes.numpy() == b""
    assert [field.shape for field in fields] == [(0,)] * 5


def test_functions_must_be_there() -> None:
    graph_def = graph_def_of(lambda: loss(looked_up(TABLE, TABLE[0], IDS)))
    names = [node.name for node in graph_def.node if "Call" in node.op]
    del graph_def.library.function[:]
    with pytest.raises(tf.errors.OpError, match="looked_up"):
        raw_ops.slice_gradients(graph_def.SerializeToString(), [f"{names[0]}:0"])
