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


class Saver(NamedTuple):
    """The nodes that TfExt_AddSaver adds."""

    prefix: str
    save: str
    restore: str


class _TrainingStep(ctypes.Structure):
    _fields_ = (
        ("step", ctypes.c_void_p),
        ("initialize", ctypes.c_void_p),
        ("iteration", Output),
        ("learning_rate", Output),
    )


class _Saver(ctypes.Structure):
    _fields_ = (("prefix", Output), ("save", ctypes.c_void_p), ("restore", ctypes.c_void_p))


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
        step, initialize = _nodes(graph, made.step, made.initialize)
        iteration, learning_rate = graph._names((Output * 2)(made.iteration, made.learning_rate))
        state = {name: handle for handle, name in (line.split("\t") for line in lines)}
        return Training(step, initialize, str(iteration), learning_rate, state)

    def new_variable(
        self, graph: Graph, name: str, dtype: int, shape: Sequence[int], initializer: str
    ) -> tuple[str, str]:
        """TfExt_NewVariable: the handle and the node that initializes it."""
        handle, initialize = Output(), ctypes.c_void_p()
        with graph._client.status() as status:
            self._library.TfExt_NewVariable(
                graph._graph,
                name.encode(),
                dtype,
                (ctypes.c_int64 * len(shape))(*shape),
                len(shape),
                initializer.encode(),
                ctypes.byref(handle),
                ctypes.byref(initialize),
                status,
            )
        (node,) = _nodes(graph, initialize.value)
        return str(graph._names((Output * 1)(handle))[0]), node

    def add_saver(self, graph: Graph, variables: Sequence[str], names: str | None = None) -> Saver:
        """TfExt_AddSaver."""
        made = _Saver()
        x = graph._outputs(variables)
        with graph._client.status() as status:
            self._library.TfExt_AddSaver(
                graph._graph,
                x,
                len(x),
                None if names is None else names.encode(),
                ctypes.byref(made),
                status,
            )
        (prefix,) = graph._names((Output * 1)(made.prefix))
        return Saver(str(prefix), *_nodes(graph, made.save, made.restore))


def _nodes(graph: Graph, *operations: int | None) -> list[str]:
    outputs = (Output * len(operations))(*[Output(operation, 0) for operation in operations])
    return [str(name).removesuffix(":0") for name in graph._names(outputs)]
