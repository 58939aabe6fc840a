# SPDX-License-Identifier: Apache-2.0
"""The functions of gradient/c_api.h that take a TF_Graph, through ctypes."""

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from c_client import Graph, Output


class Sliced(NamedTuple):
    """A gradient after TfExt_SliceGradients: `dense`, or the three tensors of slices."""

    dense: str | None
    values: str | None
    indices: str | None
    shape: str | None
    reason: str


class Training(NamedTuple):
    """Nodes and handles that TfExt_Minimize adds, and the optimizer's variables by their names."""

    step: str
    initialize: str
    iteration: str
    learning_rate: str | None
    state: dict[str, str]


class _TrainingStep(ctypes.Structure):
    _fields_ = (
        ("step", ctypes.c_void_p),
        ("initialize", ctypes.c_void_p),
        ("iteration", Output),
        ("learning_rate", Output),
    )


class GraphApi:
    """The functions of libtensorflow_ext.so, a loaded library, on a client's graph."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)

    def add_gradients(
        self,
        graph: Graph,
        ys: Sequence[str],
        xs: Sequence[str],
        dys: Sequence[str] = (),
        unconnected: int = 0,
    ) -> list[str | None]:
        """TfExt_AddGradients. None means no gradient."""
        found = (Output * len(xs))()
        y, x, dy = graph._outputs(ys), graph._outputs(xs), graph._outputs(dys) if dys else None
        with graph._client.status() as status:
            self._library.TfExt_AddGradients(
                graph._graph, None, y, len(y), x, len(x), dy, status, found, unconnected
            )
        return graph._names(found)

    def inline_calls(self, graph: Graph, outputs: Sequence[str]) -> list[str]:
        """TfExt_InlineCalls."""
        found = (Output * len(outputs))()
        with graph._client.status() as status:
            self._library.TfExt_InlineCalls(
                graph._graph, graph._outputs(outputs), len(outputs), found, status
            )
        return [str(name) for name in graph._names(found)]

    def slice_gradients(
        self, graph: Graph, gradients: Sequence[str | None], summed: int = 0
    ) -> list[Sliced]:
        """TfExt_SliceGradients."""
        n = len(gradients)
        given = (Output * n)()
        for k, name in enumerate(gradients):
            if name is not None:
                (given[k],) = graph._outputs([name])
        dense, slices = (Output * n)(), (Output * (3 * n))()

        def fill(reasons: ctypes.c_void_p) -> None:
            with graph._client.status() as status:
                self._library.TfExt_SliceGradients(
                    graph._graph, given, n, summed, dense, slices, reasons, status
                )

        reasons = graph._client.filled(fill).decode().split("\n")
        parts = graph._names(slices)
        each = zip(graph._names(dense), parts[::3], parts[1::3], parts[2::3], reasons, strict=True)
        return [Sliced(*fields) for fields in each]

    def minimize(
        self, graph: Graph, loss: str, variables: Sequence[str], optimizer: str
    ) -> Training:
        """TfExt_Minimize."""
        made = _TrainingStep()
        (y,), x = graph._outputs([loss]), graph._outputs(variables)

        def fill(state: ctypes.c_void_p) -> None:
            with graph._client.status() as status:
                self._library.TfExt_Minimize(
                    graph._graph,
                    y,
                    x,
                    len(x),
                    optimizer.encode(),
                    ctypes.byref(made),
                    state,
                    status,
                )

        lines = graph._client.filled(fill).decode().splitlines()
        nodes = (Output * 2)(Output(made.step, 0), Output(made.initialize, 0))
        handles = (Output * 2)(made.iteration, made.learning_rate)
        step, initialize = (str(name).removesuffix(":0") for name in graph._names(nodes))
        iteration, learning_rate = graph._names(handles)
        state = {name: handle for handle, name in (line.split("\t") for line in lines)}
        return Training(step, initialize, str(iteration), learning_rate, state)
