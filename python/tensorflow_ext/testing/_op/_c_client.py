# SPDX-License-Identifier: Apache-2.0
"""Differentiates an op as a C program does: TF_AddGradients, called through ctypes.

The graph goes to C and back as a GraphDef. Python then runs the nodes that C added.
"""

import contextlib
import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from tensorflow_ext._runtime import _library
from tensorflow_ext.testing._op import _calls
from tensorflow_ext.testing._op._calls import Problem

_C: Any = _library._LIBRARY  # It is linked to TensorFlow's C API, so ctypes finds that too.


class _Output(ctypes.Structure):
    """TF_Output of tensorflow/c/c_api.h."""

    _fields_ = (("operation", ctypes.c_void_p), ("index", ctypes.c_int))


def _declare() -> None:
    """Declares the signatures of the functions below to ctypes."""
    pointer = ctypes.c_void_p
    outputs = ctypes.POINTER(_Output)
    signatures: dict[str, tuple[Any, ...]] = {
        "TF_NewGraph": (pointer,),
        "TF_DeleteGraph": (None, pointer),
        "TF_NewImportGraphDefOptions": (pointer,),
        "TF_DeleteImportGraphDefOptions": (None, pointer),
        "TF_NewBufferFromString": (
            ctypes.POINTER(_library._Buffer),
            ctypes.c_char_p,
            ctypes.c_size_t,
        ),
        "TF_GraphImportGraphDef": (
            None,
            pointer,
            ctypes.POINTER(_library._Buffer),
            pointer,
            pointer,
        ),
        "TF_GraphToGraphDef": (None, pointer, ctypes.POINTER(_library._Buffer), pointer),
        "TF_GraphOperationByName": (pointer, pointer, ctypes.c_char_p),
        "TF_OperationName": (ctypes.c_char_p, pointer),
        "TF_AddGradients": (
            None,
            pointer,
            outputs,
            ctypes.c_int,
            outputs,
            ctypes.c_int,
            outputs,
            pointer,
            outputs,
        ),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(_C, name)
        function.restype, function.argtypes = result, arguments


_declare()


class _Graph:
    """A TF_Graph; tensors are `node:index`."""

    def __init__(self, graph_def: graph_pb2.GraphDef) -> None:
        self._graph = _C.TF_NewGraph()
        serialized = graph_def.SerializeToString()
        buffer = _C.TF_NewBufferFromString(serialized, len(serialized))
        options = _C.TF_NewImportGraphDefOptions()
        try:
            with _library._status() as status:
                _C.TF_GraphImportGraphDef(self._graph, buffer, options, status)
        finally:
            _C.TF_DeleteImportGraphDefOptions(options)
            _C.TF_DeleteBuffer(buffer)

    def close(self) -> None:
        """Deletes the graph."""
        _C.TF_DeleteGraph(self._graph)

    def _outputs(self, names: Sequence[str]) -> Any:
        outputs = (_Output * len(names))()
        for output, name in zip(outputs, names, strict=True):
            node, _, index = name.partition(":")
            output.operation = _C.TF_GraphOperationByName(self._graph, node.encode())
            output.index = int(index or 0)
        return outputs

    def gradients(
        self, ys: Sequence[str], xs: Sequence[str], upstreams: Sequence[str]
    ) -> list[str | None]:
        """Calls TF_AddGradients; None for an input without gradient."""
        results = (_Output * len(xs))()
        with _library._status() as status:
            _C.TF_AddGradients(
                self._graph,
                self._outputs(ys),
                len(ys),
                self._outputs(xs),
                len(xs),
                self._outputs(upstreams),
                status,
                results,
            )
        return [
            f"{_C.TF_OperationName(result.operation).decode()}:{result.index}"
            if result.operation
            else None
            for result in results
        ]

    def graph_def(self) -> graph_pb2.GraphDef:
        """The graph as a GraphDef."""
        content = _library._call(
            lambda buffer, status: _C.TF_GraphToGraphDef(self._graph, buffer, status)
        )
        return graph_pb2.GraphDef.FromString(content)


def require_import(graph_def: graph_pb2.GraphDef) -> None:
    """Imports a graph as C does, which is stricter than Python.

    Raises:
      tf.errors.OpError: C refuses it.
    """
    with contextlib.closing(_Graph(graph_def)):
        pass


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
    with contextlib.closing(_Graph(forward.as_graph_def())) as graph:
        if sources and present:
            first = graph.gradients(
                [outputs[k] for k in present], sources, [upstreams[k] for k in present]
            )
            wanted += first
            if weights:
                both = [*sources, *(upstreams[k] for k in present)]
                wanted += _second(graph, first, both, weights)
        complete = graph.graph_def()
    with tf.Graph().as_default():
        tf.graph_util.import_graph_def(complete, name="")
        with tf.compat.v1.Session() as session:
            fed = {t.name: array for t, array in zip(tensors, problem.fed, strict=True)}
            values = iter(session.run([name for name in wanted if name], fed))
    return [np.asarray(next(values)) if name else None for name in wanted]


def _second(
    graph: _Graph, first: Sequence[str | None], sources: Sequence[str], weights: Sequence[str]
) -> list[str | None]:
    """The gradients of the weighted gradients; None where they do not depend."""
    pairs = [(y, w) for y, w in zip(first, weights, strict=True) if y]
    ys = [y for y, _ in pairs]
    # TF_AddGradients fails for all inputs if one of them does not lead to any of ys.
    leading = _leads_to(graph.graph_def(), ys)
    connected = [x for x in sources if x.partition(":")[0] in leading]
    if not connected:
        return [None] * len(sources)
    results = graph.gradients(ys, connected, [w for _, w in pairs])
    by_source = dict(zip(connected, results, strict=True))
    return [by_source.get(x) for x in sources]
