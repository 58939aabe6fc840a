"""Graphs of losses of gathered rows of tables, and checks of the slices of their gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from c_client import Graph
from graph_api import GraphApi, Sliced
from graphs import graph_of

from tensorflow_ext._runtime import _library

v1 = tf.compat.v1
API = GraphApi(str(_library.PATH))
SUMMED = 1
ROWS, WIDTH = 6, 3
IDS = np.array([4, 1, 4, 0], np.int32)
TABLE = np.random.default_rng(5).normal(size=[ROWS, WIDTH])

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
