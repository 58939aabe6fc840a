# SPDX-License-Identifier: Apache-2.0
"""TfExt_SliceGradients of gradient/c_api.h, in C and as an op.

Slices, written into zeros, must equal the dense gradient. Where Python gives IndexedSlices, values
and indices must equal these, in their order.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import Graph
from graph_api import GraphApi, Sliced
from graphs import (
    CLIENT,
    central_differences,
    client_error,
    graph_def_of,
    graph_of,
    imported,
    in_threads,
    value,
)
from tensorflow.core.framework import graph_pb2

from tensorflow_ext import raw_ops
from tensorflow_ext._runtime import _library

v1 = tf.compat.v1
API = GraphApi(str(_library.PATH))
SUMMED = 1
ROWS, WIDTH = 6, 3
IDS = np.array([4, 1, 4, 0], np.int32)
RANDOM = np.random.default_rng(5)
TABLE = RANDOM.normal(size=[ROWS, WIDTH])

Build = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def loss(y: tf.Tensor) -> tf.Tensor:
    """A loss whose gradient differs in each element."""
    weights = tf.reshape(tf.range(1.0, tf.cast(tf.size(y) + 1, tf.float32)), tf.shape(y))
    return tf.reduce_sum(tf.cast(weights, y.dtype) * y * y, name="loss")


def table_graph(
    build: Build,
    table_shape: Any = (ROWS, WIDTH),
    ids_shape: Any = (None,),
    dtype: tf.DType = tf.float64,
    id_type: tf.DType = tf.int32,
) -> Graph:
    """A graph of the loss of build(table, ids), of the placeholders x and ids."""

    def whole() -> None:
        x = v1.placeholder(dtype, table_shape, name="x")
        ids = v1.placeholder(id_type, ids_shape, name="ids")
        loss(build(x, ids))

    return graph_of(whole)


def gradients(graph: Graph, *xs: str) -> list[str]:
    return [str(name) for name in API.add_gradients(graph, ["loss:0"], xs or ["x:0"])]


def in_zeros(values: np.ndarray, indices: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """The dense gradient with these slices."""
    dense = np.zeros(shape, values.dtype)
    np.add.at(dense, indices, values)
    return dense


def slices_of(sliced: Sliced) -> list[str]:
    """The tensors of a gradient that must be slices."""
    assert (sliced.dense, sliced.reason) == (None, "")
    return [str(name) for name in (sliced.values, sliced.indices, sliced.shape)]


def check(graph: Graph, feeds: dict[str, np.ndarray], rtol: float = 1e-12) -> Any:
    """Checks the slices by x; returns values and indices."""
    (dense,) = gradients(graph)
    (sliced,) = API.slice_gradients(graph, [dense])
    expected, *parts = graph.run([dense, *slices_of(sliced)], feeds)
    np.testing.assert_allclose(in_zeros(*parts), expected, rtol=rtol, atol=rtol)
    assert parts[2].dtype == parts[1].dtype
    return parts[:2]


def python_slices(build: Build, feeds: dict[str, np.ndarray]) -> Any:
    """The values and indices of Python's IndexedSlices in the graph of `build`."""
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float64, (ROWS, WIDTH), name="x")
        ids = v1.placeholder(tf.int32, [None], name="ids")
        (found,) = v1.gradients(loss(build(x, ids)), [x])
        assert isinstance(found, tf.IndexedSlices)
        with v1.Session() as session:
            return session.run([found.values, found.indices], feeds)


# ---- Which gradients become slices


def bags(values: tf.Tensor) -> tf.SparseTensor:
    """Two values in the first of two bags, the others in the second."""
    count = tf.size(values, tf.int64)
    places = tf.range(count)
    bag = tf.cast(places > 1, tf.int64)
    return tf.SparseTensor(tf.stack([bag, places], 1), values, [2, count])


SLICED: dict[str, Build] = {
    "gather": tf.gather,
    "negative axis": lambda x, ids: tf.gather(x, ids, axis=-2),
    "embedding_lookup": tf.nn.embedding_lookup,
    "two gathers": lambda x, ids: tf.gather(x, ids) * tf.gather(x, ids + 1),
    "concatenated": lambda x, ids: tf.concat([tf.gather(x, ids), tf.gather(x, ids[1:])], 0),
    "indices of two types": lambda x, ids: tf.concat(
        [tf.gather(x, ids), tf.gather(x, tf.cast(ids, tf.int64))], 1
    ),
    "cast": lambda x, ids: tf.gather(tf.cast(x, tf.float32), ids),
    "negated and scaled": lambda x, ids: tf.gather(-x * 3.0, ids) + tf.gather(x, ids),
    "sums of rows": lambda x, ids: tf.nn.embedding_lookup_sparse(x, bags(ids), None, combiner="sum"),
    "means of rows": lambda x, ids: tf.nn.embedding_lookup_sparse(
        x, bags(ids), None, combiner="mean"
    ),
    "scaled sums of rows": lambda x, ids: tf.nn.embedding_lookup_sparse(
        x, bags(ids), None, combiner="sqrtn"
    ),
    "weighted sums of rows": lambda x, ids: tf.nn.embedding_lookup_sparse(
        x, bags(ids), bags(tf.ones_like(ids, tf.float64)), combiner="sum"
    ),
}
# Python's are dense where a table is negated or the axis is negative.
SAME_AS_PYTHON = sorted(set(SLICED) - {"cast", "negative axis", "negated and scaled"})


@pytest.mark.parametrize("name", SLICED)
def test_gathers_give_slices(name: str) -> None:
    tolerance = 1e-6 if name == "cast" else 1e-12
    check(table_graph(SLICED[name]), {"x:0": TABLE, "ids:0": IDS}, tolerance)


@pytest.mark.parametrize("name", SAME_AS_PYTHON)
def test_slices_are_those_of_python(name: str) -> None:
    feeds = {"x:0": TABLE, "ids:0": IDS}
    found = check(table_graph(SLICED[name]), feeds)
    for own, python in zip(found, python_slices(SLICED[name], feeds), strict=True):
        np.testing.assert_allclose(own, python, rtol=1e-15)


@pytest.mark.parametrize("table_shape", [(ROWS, 2, WIDTH), (None, 2, WIDTH), (None,) * 3, None])
@pytest.mark.parametrize("ids_shape", [(), (2, 2), None])
def test_shapes(table_shape: Any, ids_shape: Any) -> None:
    graph = table_graph(tf.gather, table_shape, ids_shape)
    ids = IDS[0] if ids_shape == () else IDS.reshape(2, 2)
    x = RANDOM.normal(size=[ROWS, 2, WIDTH])
    values, indices = check(graph, {"x:0": x, "ids:0": ids})
    assert (values.shape, indices.shape) == ((ids.size, 2, WIDTH), (ids.size,))


def test_no_ids_and_tables_without_columns() -> None:
    none = np.zeros([0], np.int32)
    check(table_graph(tf.gather), {"x:0": TABLE, "ids:0": none})
    check(table_graph(tf.gather, (ROWS, 0)), {"x:0": TABLE[:, :0], "ids:0": IDS})
    check(table_graph(tf.gather, (ROWS,)), {"x:0": TABLE[:, 0], "ids:0": IDS})


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
@pytest.mark.parametrize("id_type", [tf.int32, tf.int64])
@pytest.mark.parametrize("op", ["Gather", "GatherV2"])
def test_types(dtype: tf.DType, id_type: tf.DType, op: str) -> None:
    build = tf.gather if op == "GatherV2" else lambda x, i: tf.raw_ops.Gather(params=x, indices=i)
    graph = table_graph(build, dtype=dtype, id_type=id_type)
    (dense,) = gradients(graph)
    (sliced,) = API.slice_gradients(graph, [dense], SUMMED)
    ids = IDS.astype(id_type.as_numpy_dtype)
    x = TABLE.astype(dtype.as_numpy_dtype)
    expected, values, indices, shape = graph.run(
        [dense, *slices_of(sliced)], {"x:0": x, "ids:0": ids}
    )
    np.testing.assert_array_equal(indices, np.array([4, 1, 0], indices.dtype))
    assert values.dtype == dtype.as_numpy_dtype
    assert {indices.dtype, shape.dtype} == {np.dtype(id_type.as_numpy_dtype)}
    found = in_zeros(values.astype(float), indices, shape)
    np.testing.assert_allclose(found, expected.astype(float), rtol=1e-2)


DENSE: dict[str, tuple[Build, str]] = {
    "another op": (lambda x, ids: tf.gather(x, ids) @ tf.transpose(x), "of op Transpose$"),
    "another axis": (lambda x, ids: tf.gather(x, ids[:1], axis=1), "of op Reshape$"),
    "batch dimensions": (
        lambda x, ids: tf.gather(x, ids[:, None] // 2, batch_dims=1),
        "of op Reshape$",
    ),
    "a reshaped table": (
        lambda x, ids: tf.gather(tf.reshape(x, [-1]), ids),
        "of op Reshape$",
    ),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense_gradients_stay_and_say_why(name: str) -> None:
    build, reason = DENSE[name]
    graph = table_graph(build, (None, None))
    (dense,) = gradients(graph)
    before = graph.nodes()
    (sliced,) = API.slice_gradients(graph, [dense])
    assert sliced[:4] == (dense, None, None, None)
    assert graph.nodes() == before
    assert re.search(reason, sliced.reason)


def test_zeros_stay_dense() -> None:
    graph = table_graph(lambda x, ids: tf.cast(ids, tf.float64) + 0 * tf.stop_gradient(x[0, 0]))
    (zeros,) = API.add_gradients(graph, ["loss:0"], ["x:0"], unconnected=1)
    (sliced,) = API.slice_gradients(graph, [zeros])
    assert sliced.dense == zeros
    assert sliced.reason.endswith("of op ZerosLike, which is zeros everywhere")


# ---- Calls and branches


def variable_graph(body: Callable[[Any, tf.Tensor, tf.Tensor], tf.Tensor]) -> Graph:
    """A graph of the loss of body(v, w, ids): v is a table, and w, [WIDTH], is another variable."""

    def build() -> None:
        ids = v1.placeholder(tf.int32, [None], name="ids")
        v = v1.get_variable("v", initializer=TABLE, use_resource=True)
        w = v1.get_variable("w", initializer=TABLE[0], use_resource=True)
        loss(body(v, w, ids))

    graph = graph_of(build)
    graph.run([], {}, targets=["v/Assign", "w/Assign"])
    return graph


@tf.function
def looked_up(v: Any, w: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    return tf.sin(tf.gather(v, ids) * w)


@tf.function(jit_compile=True)
def compiled(v: Any, w: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    return tf.gather(v, tf.concat([ids, ids], 0)) * w


@tf.function
def outer(v: Any, w: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    return looked_up(v, w, ids) + compiled(v, w, ids)[: tf.size(ids)]


@tf.function
def in_one_branch(v: Any, w: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    return tf.cond(
        ids[0] > 2,
        lambda: tf.gather(v, ids) * w,
        lambda: w * tf.ones([tf.size(ids), 1], w.dtype),
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


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("name", CALLED)
def test_calls_and_branches(name: str, optimized: bool) -> None:
    graph = variable_graph(CALLED[name])
    if not optimized:
        graph.config = b"R\x05R\x03\x98\x01\x01"
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


# ---- Arguments


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
    first, second = zip(*[[name.decode() for name in field.numpy()] for field in fields], strict=True)
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
