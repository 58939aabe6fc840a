# SPDX-License-Identifier: Apache-2.0
"""Graphs that Python builds and the C API runs, and the slopes of what they compute."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from c_client import Client, Graph, tensorflow_dir
from tensorflow.core.framework import graph_pb2

from tensorflow_ext import _library

v1 = tf.compat.v1
CLIENT = Client(tensorflow_dir(), _library.PATH)


def graph_def_of(build: Callable[[], Any]) -> graph_pb2.GraphDef:
    with v1.Graph().as_default() as graph:
        build()
    return graph.as_graph_def()


def imported(graph_def: graph_pb2.GraphDef) -> Graph:
    return CLIENT.import_graph(graph_def.SerializeToString())


def graph_of(build: Callable[[], Any]) -> Graph:
    return imported(graph_def_of(build))


def value(graph: Graph, tensor: str) -> Callable[[np.ndarray], Any]:
    """The tensor as a function of the placeholder x."""
    return lambda x: graph.run([tensor], {"x:0": x})[0]


def central_differences(f: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    step = 1e-5
    columns = np.eye(x.size).reshape(x.size, *x.shape) * step
    return np.reshape([(f(x + d) - f(x - d)) / (2 * step) for d in columns], x.shape)
