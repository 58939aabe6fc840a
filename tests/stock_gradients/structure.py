# SPDX-License-Identifier: Apache-2.0
"""Expressions of graphs: of op types, attributes and inputs, without names."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import op_def_library, op_def_registry

v1 = tf.compat.v1
# The name and the output of a tensor, as in "op:0".
Name = str


def call(op: str, *inputs: Any, **attributes: Any) -> list[Any]:
    """The outputs of a new node, flattened; list arguments are lists."""
    op_def = op_def_registry.get(op)
    arguments = [arg.name for arg in op_def.input_arg]
    defaults = {
        attr.name: python_value(attr.default_value)
        for attr in op_def.attr
        if attr.type != "type" and attr.HasField("default_value")
    }
    made = op_def_library.apply_op(
        op, **dict(zip(arguments, inputs, strict=True)), **{**defaults, **attributes}
    )
    return tf.nest.flatten(made)


def python_value(value: Any) -> Any:
    """That of an attribute which is a number, a string or a list of integers."""
    if value.HasField("list"):
        return list(value.list.i)
    return getattr(value, value.WhichOneof("value"))


@dataclasses.dataclass
class Case:
    """One op on placeholders.

    Attributes:
      op: Its type.
      name: What the case is about, unique for the op.
      inputs: The type and shape of each placeholder; a list of them is a list
        argument.
      attributes: Of the op.
      outputs: How many of its outputs, from the first, have an upstream gradient.
      expected: Takes the inputs (flattened) and the upstream gradients and returns
        the gradients by the inputs of floating type, for Python's own.
      error: A fragment of the message that the client gives instead.
      twice: Whether the gradients are differentiated by the upstream gradients.
    """

    op: str
    name: str
    inputs: Sequence[Any]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    outputs: int = 1
    expected: Callable[..., list[Any]] | None = None
    error: str | None = None
    twice: bool = False

    @property
    def id(self) -> str:
        return f"{self.op}-{self.name}"


def names(gradients: Sequence[Any]) -> list[Name | None]:
    return [g if g is None else tf.convert_to_tensor(g).name for g in gradients]


class Problem:
    """The graph of a case and Python's gradients in a graph of their own."""

    def __init__(self, case: Case) -> None:
        self.graph, self.reference = tf.Graph(), tf.Graph()
        with self.graph.as_default():
            self._build(case)
        with self.reference.as_default():
            xs, us, ws = self._build(case)
            if case.error is not None:
                self.first, self.second = [], []
                return
            differentiable = [x for x in xs if x.dtype.is_floating]
            if case.expected is None:
                ys = [self.reference.get_tensor_by_name(y) for y in self.ys]
                first = tf.gradients(ys, differentiable, us)
            else:
                first = case.expected(*xs, *us)
            second = tf.gradients(first, us, ws) if case.twice else []
            self.first, self.second = names(first), names(second)

    def _build(self, case: Case) -> tuple[list[Any], list[Any], list[Any]]:
        xs: list[Any] = []

        def placeholder(dtype: Any, shape: Any) -> Any:
            xs.append(v1.placeholder(dtype, shape, name=f"x{len(xs)}"))
            return xs[-1]

        inputs = [
            [placeholder(*one) for one in spec] if isinstance(spec, list) else placeholder(*spec)
            for spec in case.inputs
        ]
        with tf.device("/cpu:0"):  # Python's gradients of NCCL ops ask for one
            outputs = call(case.op, *inputs, **case.attributes)[: case.outputs]
            us = [v1.placeholder(y.dtype, y.shape, name=f"u{k}") for k, y in enumerate(outputs)]
        ws = [
            v1.placeholder(x.dtype, x.shape, name=f"w{i}")
            for i, x in enumerate(xs)
            if x.dtype.is_floating
        ]
        self.ys = [y.name for y in outputs]
        self.xs = [x.name for x in xs if x.dtype.is_floating]
        self.us, self.ws = [u.name for u in us], [w.name for w in ws]
        return xs, us, ws


def attribute(value: Any) -> Any:
    """A value of an attribute, to compare."""
    if value.HasField("tensor"):
        return tf.make_ndarray(value.tensor).tolist()
    return value.SerializeToString(deterministic=True)


def expression(graph: bytes, tensor: Name | None) -> Any:
    """How the tensor is made of placeholders, without the names of the nodes."""
    nodes = {node.name: node for node in graph_pb2.GraphDef.FromString(graph).node}

    def made(name: Name) -> Any:
        name, _, output = name.partition(":")
        node = nodes[name]
        if node.op == "Placeholder":
            return name
        inputs = [made(i) for i in node.input if i[0] != "^"]
        if node.op == "Identity":
            return inputs[0]
        attributes = {key: attribute(value) for key, value in node.attr.items() if key[0] != "_"}
        return node.op, output or "0", attributes, inputs

    return tensor and made(tensor)
