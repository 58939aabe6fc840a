"""Asks TF_AddGradients for the first and second order of ops; see coverage.py.

Prints a line for each op of standard input: op, first, second, with values of
`Answer`, flushed at once: where an op aborts the process, the reader knows which.
"""

import enum
import itertools
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "stock_gradients"), str(ROOT / "tools")]

from c_client import Client, ClientError, Graph, tensorflow_dir  # noqa: E402
from op_instances import FUNCTIONS, instances, types_of  # noqa: E402
from tensorflow.core.framework import graph_pb2, node_def_pb2, op_def_pb2, types_pb2  # noqa: E402
from tensorflow.python.framework import op_def_registry  # noqa: E402

_DIFFERENTIABLE = {
    types_pb2.DT_HALF,
    types_pb2.DT_BFLOAT16,
    types_pb2.DT_FLOAT,
    types_pb2.DT_DOUBLE,
    types_pb2.DT_COMPLEX64,
    types_pb2.DT_COMPLEX128,
    # Types that hold numbers: lists of tensors, sparse matrices, variables.
    types_pb2.DT_VARIANT,
    types_pb2.DT_RESOURCE,
}


class Answer(str, enum.Enum):
    YES = "yes"
    NO = "no"
    # Differentiable, but no gradient reaches any input.
    NONE = "none"
    # No graph of the op could be made.
    UNKNOWN = "unknown"

    __str__ = str.__str__


def _graph(
    client: Client, op_def: op_def_pb2.OpDef, node: node_def_pb2.NodeDef
) -> tuple[Graph, list[str], list[str]]:
    """A graph with the op on placeholders, and its differentiable ys and xs."""
    graph_def = graph_pb2.GraphDef(library=FUNCTIONS)
    node.name = "op"
    xs = []
    for i, kind in enumerate(types_of(list(op_def.input_arg), op_def, node)):
        placeholder = graph_def.node.add(name=f"x{i}", op="Placeholder")
        placeholder.attr["dtype"].type = kind
        node.input.append(f"x{i}")
        if kind in _DIFFERENTIABLE:
            xs.append(f"x{i}:0")
    graph_def.node.append(node)
    outputs = types_of(list(op_def.output_arg), op_def, node)
    ys = [f"op:{i}" for i, kind in enumerate(outputs) if kind in _DIFFERENTIABLE]
    return client.import_graph(graph_def.SerializeToString()), ys, xs


def _differentiate(graph: Graph, ys: list[str], xs: list[str]) -> tuple[Answer, list[str]]:
    """True if the ys can be differentiated by the xs, and the gradients."""
    found: list[str] = []
    for x in xs:
        try:
            found += [name for name in graph.gradients(ys, [x], []) if name]
        except ClientError as error:
            if "unreachable" not in str(error):
                return Answer.NO, []
    return (Answer.YES if found else Answer.NONE), found


def probe(client: Client, op: str) -> tuple[Answer, Answer]:
    """The first and second order of an op."""
    op_def = op_def_registry.get(op)
    if op_def is None:
        return Answer.UNKNOWN, Answer.UNKNOWN
    best = (Answer.UNKNOWN, Answer.UNKNOWN)
    for node in itertools.islice(instances(op_def), 40):
        try:
            graph, ys, xs = _graph(client, op_def, node)
        except (ClientError, KeyError):
            continue
        if not xs or not ys:
            continue
        first, gradients = _differentiate(graph, ys, xs)
        if first != Answer.YES:
            best = (first, Answer.UNKNOWN) if best[0] != Answer.NONE else best
            continue
        second, _ = _differentiate(graph, gradients, xs)
        if second != Answer.NO:
            return first, second
        best = first, second
    return best


def main() -> None:
    (library,) = sys.argv[1:]
    client = Client(tensorflow_dir(), library)
    for line in sys.stdin:
        op = line.strip()
        print(op, *probe(client, op), sep="\t", flush=True)


if __name__ == "__main__":
    main()
