# SPDX-License-Identifier: Apache-2.0
"""Ops that graphs of today may not hold, but old ones that are still loaded may."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import op_def_registry

# A version of GraphDefs before the oldest of these ops was removed.
_PRODUCER = 10


def of_version(producer: int, build: Callable[..., Any]) -> Callable[..., Any]:
    """`build` in a graph of this version, which still takes the op."""

    def built(*inputs: Any, **attributes: Any) -> Any:
        tf.import_graph_def(tf.compat.v1.GraphDef(versions={"producer": producer}))
        return build(*inputs, **attributes)

    return built


def old_op(op: str, **attributes: Any) -> Callable[..., list[Any]]:
    """A function of an op's inputs that adds the op and returns its outputs.

    The graph becomes an old one by it: it takes the lowest version of its parts.
    """

    def build(*inputs: Any) -> list[Any]:
        graph = graph_pb2.GraphDef()
        graph.versions.producer = _PRODUCER
        node = graph.node.add(name="old", op=op)
        op_def = op_def_registry.get(op)
        tensors = [tf.convert_to_tensor(value) for value in inputs]
        for argument, tensor in zip(op_def.input_arg, tensors, strict=True):
            if argument.type_attr:
                node.attr[argument.type_attr].type = tensor.dtype.as_datatype_enum
        for name, value in attributes.items():
            node.attr[name].b = value
        for i, tensor in enumerate(tensors):
            graph.node.add(name=f"x{i}", op="Placeholder").attr[
                "dtype"
            ].type = tensor.dtype.as_datatype_enum
            node.input.append(f"x{i}")
        outputs = tf.import_graph_def(
            graph,
            input_map={f"x{i}": tensor for i, tensor in enumerate(tensors)},
            return_elements=[f"old:{k}" for k in range(len(op_def.output_arg))],
            name="",
        )
        return list(outputs)

    return build
