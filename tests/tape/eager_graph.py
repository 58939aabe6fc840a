"""Runs the nodes of a graph as eager ops and differentiates them with tapes: a way to the gradients
of everything that is described as a graph.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from eager_client import Context, Tape, Tensor
from tensorflow.core.framework import graph_pb2, node_def_pb2

# Only graphs have these attributes.
_OF_GRAPHS = ("_class", "_output_shapes")
_MOST_OUTPUTS = 64


class EagerGraph:
    """A graph whose nodes run as eager ops. Tensors are "node:index".

    Args:
      context: Gets the functions of the graph.
      graph_def: The graph.
    """

    def __init__(self, context: Context, graph_def: graph_pb2.GraphDef) -> None:
        self.context = context
        self._nodes = {node.name: node for node in graph_def.node}
        for function in graph_def.library.function:
            context.add_function(function)

    def run(
        self,
        targets: Iterable[str],
        known: dict[str, Tensor],
        see: Callable[[str, Tensor], None] = lambda name, tensor: None,
    ) -> None:
        """Runs all nodes that lead to these tensors or nodes, each once.

        Args:
          targets: Their names.
          known: Tensors by name, which replace outputs of nodes. Gets the other outputs.
          see: Is called with each output before another node runs.
        """
        done: set[str] = set()
        pending = [target for target in targets if target not in known]
        while pending:
            node = self._nodes[pending[-1].removeprefix("^").partition(":")[0]]
            inputs = [x if x[0] == "^" or ":" in x else f"{x}:0" for x in node.input]
            first = [
                x
                for x in inputs
                if x not in known and x.removeprefix("^").partition(":")[0] not in done
            ]
            if first and node.name not in done:
                pending += reversed(first)
                continue
            pending.pop()
            if node.name in done:
                continue
            done.add(node.name)
            outputs = self._run(node, [known[x] for x in inputs if x[0] != "^"])
            for index, tensor in enumerate(outputs):
                if known.setdefault(f"{node.name}:{index}", tensor) is tensor:
                    see(f"{node.name}:{index}", tensor)

    def _run(self, node: node_def_pb2.NodeDef, inputs: Sequence[Tensor]) -> list[Tensor]:
        attrs = {name: value for name, value in node.attr.items() if name not in _OF_GRAPHS}
        return self.context.run(node.op, *inputs, outputs=_MOST_OUTPUTS, **attrs)


def orders(
    graph: EagerGraph,
    feeds: Mapping[str, np.ndarray],
    ys: Sequence[str],
    xs: Sequence[str | None],
    upstream: Sequence[str | None],
    weights: Sequence[str | None] = (),
) -> Iterator[list[np.ndarray | None]]:
    """Yields the values of `ys`, the gradients by a tape and, if there are weights, those of the
    weighted gradients by a second tape, which records the first one's gradient.

    None stands for a missing tensor; a y without an upstream gradient is not differentiated.

    Args:
      graph: The graph.
      feeds: The values fed, by the tensor's name.
      ys: The outputs.
      xs: What to differentiate by.
      upstream: For each y, the upstream gradient.
      weights: For each x, the upstream gradient of its gradient.
    """
    known = {name: graph.context.tensor(value) for name, value in feeds.items()}
    tapes = [Tape(graph.context) for _ in range(2 if weights else 1)]
    for name in filter(None, upstream if weights else ()):
        tapes[1].watch(known[name])

    def see(name: str, tensor: Tensor) -> None:
        for tape in tapes if name in xs else ():
            tape.watch(tensor)

    for name, tensor in known.items():
        see(name, tensor)
    graph.run([*ys, *filter(None, xs)], known, see)
    yield _arrays([known[y] for y in ys])
    by = [x for x in xs if x]
    pairs = [(known[y], known[dy]) for y, dy in zip(ys, upstream, strict=True) if dy]
    found = iter(
        tapes[0].gradients([y for y, _ in pairs], [known[x] for x in by], [dy for _, dy in pairs])
    )
    first = [next(found) if x else None for x in xs]
    yield _arrays(first)
    if not weights:
        return
    by += [dy for dy in upstream if dy]
    pairs = [(g, known[w]) for g, w in zip(first, weights, strict=True) if g and w]
    found = iter(
        tapes[1].gradients([y for y, _ in pairs], [known[x] for x in by], [dy for _, dy in pairs])
    )
    yield _arrays([next(found) if x else None for x in (*xs, *upstream)])


def _arrays(tensors: Sequence[Tensor | None]) -> list[np.ndarray | None]:
    return [None if tensor is None else tensor.numpy() for tensor in tensors]
