"""Differentiates an op as a C program does: TF_AddGradients, called through ctypes.

The graph goes to C and back as a GraphDef. Python then runs the nodes that C added.
"""

import ctypes
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from tensorflow_ext._runtime import _library
from tensorflow_ext.testing._op import _c_api, _calls
from tensorflow_ext.testing._op._calls import Problem

# The library is linked to TensorFlow's C API, so ctypes finds that in it.
_API = _c_api.Api(ctypes.CDLL(str(_library.PATH)), _library._exception)


def _imported(graph_def: graph_pb2.GraphDef) -> _c_api.Graph:
    graph = _c_api.Graph(_API)
    graph.add(graph_def.SerializeToString())
    return graph


def _graph_def(graph: _c_api.Graph) -> graph_pb2.GraphDef:
    return graph_pb2.GraphDef.FromString(graph.graph_def())


def require_import(graph_def: graph_pb2.GraphDef) -> None:
    """Imports a graph as C does, which is stricter than Python.

    Raises:
      tf.errors.OpError: C refuses it.
    """
    _imported(graph_def)


def _leads_to(graph: graph_pb2.GraphDef, ys: Sequence[str]) -> set[str]:
    """The nodes that some tensors depend on."""
    nodes = {node.name: node for node in graph.node}
    found: set[str] = set()
    pending = [y.partition(":")[0] for y in ys]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += [i.lstrip("^").partition(":")[0] for i in nodes[name].input]
    return found


def evaluate(problem: Problem) -> list[np.ndarray | None]:
    """The results of `Problem.differentiate`, from the gradients that C adds."""
    with tf.Graph().as_default() as forward:
        tensors = [
            tf.compat.v1.placeholder(tensor.dtype, tensor.shape, f"fed_{k}")
            for k, tensor in enumerate(problem.tensors())
        ]
        inputs, upstreams, weights = problem.split([t.name for t in tensors])
        outputs = [o.name for o in _calls.call(problem.variant, tensors[: len(inputs)])]
    wanted: list[str | None] = list(outputs)
    sources = [inputs[i] for i in problem.wanted]
    present = [k for k, u in enumerate(upstreams) if u is not None]
    graph = _imported(forward.as_graph_def())
    if sources and present:
        first = graph.gradients(
            [outputs[k] for k in present], sources, [upstreams[k] for k in present]
        )
        wanted += first
        if weights:
            both = [*sources, *(upstreams[k] for k in present)]
            wanted += _second(graph, first, both, weights)
    complete = _graph_def(graph)
    with tf.Graph().as_default():
        tf.graph_util.import_graph_def(complete, name="")
        with tf.compat.v1.Session() as session:
            fed = {t.name: array for t, array in zip(tensors, problem.fed, strict=True)}
            values = iter(session.run([name for name in wanted if name], fed))
    return [np.asarray(next(values)) if name else None for name in wanted]


def _second(
    graph: _c_api.Graph, first: Sequence[str | None], sources: Sequence[str], weights: Sequence[str]
) -> list[str | None]:
    """The gradients of the weighted gradients; None where they do not depend."""
    pairs = [(y, w) for y, w in zip(first, weights, strict=True) if y]
    ys = [y for y, _ in pairs]
    # TF_AddGradients fails for all inputs if one of them does not lead to any of ys.
    leading = _leads_to(_graph_def(graph), ys)
    connected = [x for x in sources if x.partition(":")[0] in leading]
    if not connected:
        return [None] * len(sources)
    results = graph.gradients(ys, connected, [w for _, w in pairs])
    by_source = dict(zip(connected, results, strict=True))
    return [by_source.get(x) for x in sources]
