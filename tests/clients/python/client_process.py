"""Clients in other languages, with the interface of those in clients.py."""

from collections.abc import Sequence

import graph_defs
import numpy as np
import tensorflow as tf
from clients import Problem, Results
from protocol import Program
from references import is_floating
from tensorflow.core.framework import graph_pb2

_TYPES = {
    dtype.as_datatype_enum: np.dtype(dtype.as_numpy_dtype)
    for dtype in vars(tf.dtypes).values()
    if isinstance(dtype, tf.DType) and dtype.is_numpy_compatible and dtype != tf.string
}


class ClientProcess(Program):
    """A client's process. If TensorFlow refuses a request, the process raises the error that Python
    would raise, with its code and message.
    """

    types = _TYPES

    def error(self, code: int, message: str) -> Exception:
        error = tf.compat.v1.errors.exception_type_from_error_code(code)
        return error(None, None, message)

    def __call__(self, problem: Problem) -> Results:
        """Returns what the clients of clients.py return."""
        graph = graph_defs.CaseGraph(problem)
        self.import_graph(graph.graph_def.SerializeToString())
        gradients: list[str | None] = []
        second: list[str | None] = []
        if any(graph.upstreams):
            gradients = self._gradients(graph.outputs, graph.inputs, graph.upstreams)
        if any(graph.weights):
            sources = [*graph.inputs, *graph.upstreams]
            second = self._gradients(gradients, sources, graph.weights)
        groups = [graph.outputs, gradients, second]
        fetches = [name for group in groups for name in group if name]
        values = iter(self.run(graph.feeds, fetches))
        return Results(*([next(values) if name else None for name in group] for group in groups))

    def _gradients(
        self, ys: Sequence[str | None], xs: Sequence[str | None], grad_ys: Sequence[str | None]
    ) -> list[str | None]:
        """A gradient for each x; None if there is none, or no x."""
        pairs = [(y, dy) for y, dy in zip(ys, grad_ys, strict=True) if y and dy]
        # TensorFlow refuses the whole call for an x that no y depends on.
        graph_def = graph_pb2.GraphDef.FromString(self.export_graph())
        used = graph_defs.ancestors(graph_def, (y for y, _ in pairs))
        known = [x for x in xs if x and x.partition(":")[0] in used]
        if not known:
            return [None] * len(xs)
        added = self.add_gradients([y for y, _ in pairs], known, [dy for _, dy in pairs])
        by_name = dict(zip(known, added, strict=True))
        return [by_name.get(x) if x else None for x in xs]


class EagerProcess:
    """A client's process that runs eager ops with its language's gradient tapes, which give zeros
    instead of a missing gradient.
    """

    none_is_zero = True

    def __init__(self, process: ClientProcess) -> None:
        self._process = process

    def __call__(self, problem: Problem) -> Results:
        """Returns what the clients of clients.py return."""
        (node,) = (n for n in graph_defs.CaseGraph(problem).graph_def.node if n.name == "op")
        xs = [i for i, x in enumerate(problem.inputs) if is_floating(x)]
        fed = {
            i: dy for i, dy in enumerate(problem.upstreams) if dy is not None and is_floating(dy)
        }
        outputs, first, second = self._process.run_eagerly(
            node.op,
            {name: value.SerializeToString() for name, value in node.attr.items()},
            problem.inputs,
            xs,
            fed,
            {xs.index(i): w for i, w in enumerate(problem.weights) if w is not None},
        )
        inputs = len(problem.inputs)
        by = [*xs, *(inputs + i for i in fed)]
        return Results(
            outputs,
            _placed(first, xs, inputs if problem.upstreams else 0),
            _placed(second, by, inputs + len(problem.upstreams) if problem.weights else 0),
        )


def _placed(
    arrays: Sequence[np.ndarray], places: Sequence[int], length: int
) -> list[np.ndarray | None]:
    """A list with the arrays at these places, and None at others."""
    found = dict(zip(places, arrays, strict=False))
    return [found.get(i) for i in range(length)]
