"""A case as a GraphDef, built without TensorFlow's checks.

The client that imports it must meet the errors of shape functions.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf
from clients import Problem
from tensorflow.core.framework import graph_pb2, node_def_pb2, op_def_pb2
from tensorflow.python.framework import op_def_registry

_FIELDS = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type"}


def _add_op(
    graph: graph_pb2.GraphDef, problem: Problem, inputs: Sequence[str]
) -> node_def_pb2.NodeDef:
    """The op, its types and the lengths of its lists, taken from its inputs."""
    case = problem.case
    op_def = op_def_registry.get(case.op)
    node = graph.node.add(name="op", op=case.op)
    node.input.extend(inputs)
    for argument in op_def.input_arg:
        types = [
            tf.as_dtype(array.dtype).as_datatype_enum
            for declared, array in zip(case.inputs, problem.inputs, strict=True)
            if declared.argument == argument.name
        ]
        if argument.number_attr:
            node.attr[argument.number_attr].i = len(types)
        if argument.type_list_attr:
            node.attr[argument.type_list_attr].list.type.extend(types)
        elif argument.type_attr and types:
            node.attr[argument.type_attr].type = types[0]
    kinds = {attr.name: attr.type for attr in op_def.attr}
    for name, value in case.make_attrs(case.type_of_t(problem.inputs)).items():
        if kinds[name] == "type":
            value = tf.as_dtype(value).as_datatype_enum
        elif kinds[name] == "string":
            value = str(value).encode()
        setattr(node.attr[name], _FIELDS[kinds[name]], value)
    return node


def _output_count(op_def: op_def_pb2.OpDef, node: node_def_pb2.NodeDef) -> int:
    """The number of outputs of a node, counting the elements of lists."""
    return sum(
        node.attr[output.number_attr].i
        if output.number_attr
        else len(node.attr[output.type_list_attr].list.type)
        if output.type_list_attr
        else 1
        for output in op_def.output_arg
    )


class CaseGraph:
    """The graph of a problem. Tensors are named "node:index".

    Attributes:
      graph_def: Placeholders for everything that is fed, and the op.
      outputs: The op's outputs.
      inputs: A placeholder per input.
      upstreams: One per output; None if nothing is fed.
      weights: One per gradient; None if there is none.
    """

    def __init__(self, problem: Problem) -> None:
        self.graph_def = graph_pb2.GraphDef()
        # The version of current graphs; old graphs get other defaults.
        self.graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
        self.feeds: dict[str, np.ndarray] = {}
        known = problem.known_shapes
        self.inputs = self._placeholders("input", problem.inputs, known)
        node = _add_op(self.graph_def, problem, [x for x in self.inputs if x])
        count = _output_count(op_def_registry.get(node.op), node)
        self.outputs = [f"op:{i}" for i in range(count)]
        self.upstreams = self._placeholders("upstream", problem.upstreams, False)
        self.weights = self._placeholders("weight", problem.weights, False)

    def _placeholders(
        self, kind: str, arrays: Iterable[np.ndarray | None], known_shapes: bool
    ) -> list[str | None]:
        names: list[str | None] = []
        for i, array in enumerate(arrays):
            if array is None:
                names.append(None)
                continue
            node = self.graph_def.node.add(name=f"{kind}_{i}", op="Placeholder")
            node.attr["dtype"].type = tf.as_dtype(array.dtype).as_datatype_enum
            shape = tf.TensorShape(array.shape if known_shapes else None)
            node.attr["shape"].shape.CopyFrom(shape.as_proto())
            names.append(f"{node.name}:0")
            self.feeds[f"{node.name}:0"] = array
        return names


def ancestors(graph_def: graph_pb2.GraphDef, tensors: Iterable[str]) -> set[str]:
    """The names of the nodes that any of these tensors depends on."""
    inputs = {node.name: node.input for node in graph_def.node}
    found: set[str] = set()
    pending = [tensor.partition(":")[0] for tensor in tensors]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += [i.removeprefix("^").partition(":")[0] for i in inputs[name]]
    return found
