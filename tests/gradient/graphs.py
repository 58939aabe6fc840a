"""Graphs that Python builds and the C API runs, and numerical derivatives of their results."""

import concurrent.futures
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from c_client import Client, ClientError, Graph, tensorflow_dir
from tensorflow.core.framework import graph_pb2, node_def_pb2

from tensorflow_ext._runtime import _library
from tensorflow_ext._runtime._attributes import to_node_def

v1 = tf.compat.v1
CLIENT = Client(tensorflow_dir(), _library.PATH)


def graph_def_of(build: Callable[[], Any]) -> graph_pb2.GraphDef:
    with v1.Graph().as_default() as graph:
        build()
    return graph.as_graph_def()


def add_call(build: Callable[[tf.Tensor, tf.Tensor], Any], shape: tuple[int, ...]) -> None:
    """Adds y = build(x, handle) to the graph; x is fed, and the handle is that of a variable v.

    `assign` writes the placeholder `value` into v, and `now` is its value.
    """
    x = v1.placeholder(tf.float64, shape, name="x")
    v = tf.raw_ops.VarHandleOp(dtype=tf.float64, shape=shape, shared_name="v", name="v")
    tf.identity(build(x, v), name="y")
    value = v1.placeholder(tf.float64, shape, name="value")
    tf.raw_ops.AssignVariableOp(resource=v, value=value, name="assign")
    tf.raw_ops.ReadVariableOp(resource=v, dtype=tf.float64, name="now")


def imported(graph_def: graph_pb2.GraphDef) -> Graph:
    return CLIENT.import_graph(graph_def.SerializeToString())


def graph_of(build: Callable[[], Any]) -> Graph:
    return imported(graph_def_of(build))


def graph_with(node: node_def_pb2.NodeDef, shape: object, **inputs: tf.DType) -> Graph:
    """A graph of the node, with placeholders for its inputs and for an upstream gradient u."""
    upstream = tf.as_dtype(node.attr["T"].type)

    def placeholders() -> None:
        for name, dtype in {**inputs, "u": upstream}.items():
            v1.placeholder(dtype, shape, name)

    node.input.extend(inputs)
    graph_def = graph_def_of(placeholders)
    graph_def.node.append(node)
    return imported(graph_def)


def unary_graph(op: str, dtype: tf.DType = tf.float32) -> Graph:
    """A graph of `op` applied to x, called f, with an upstream gradient u."""
    node = to_node_def(op, {"T": dtype})
    node.name = "f"
    return graph_with(node, [3], x=dtype)


def gradient(graph: Graph, y: str, x: str = "x:0", *upstream: str) -> str:
    """The gradient that TF_AddGradients adds; there must be one."""
    (found,) = graph.gradients([y], [x], upstream)
    assert found is not None
    return found


@contextlib.contextmanager
def client_error(code: int, match: str) -> Iterator[None]:
    """Expects a ClientError with this code."""
    with pytest.raises(ClientError, match=match) as error:
        yield
    assert error.value.code == code


def in_threads(function: Callable[[], Any]) -> list[Any]:
    """The results of eight concurrent calls."""
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        return [call.result() for call in [threads.submit(function) for _ in range(8)]]


def value(graph: Graph, tensor: str) -> Callable[[np.ndarray], Any]:
    """The tensor as a function of the placeholder x."""
    return lambda x: graph.run([tensor], {"x:0": x})[0]


def central_differences(f: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    step = 1e-5
    columns = np.eye(x.size).reshape(x.size, *x.shape) * step
    return np.reshape([(f(x + d) - f(x - d)) / (2 * step) for d in columns], x.shape)
