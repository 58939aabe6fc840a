"""Adds the nodes of a gradient's plan to the current graph, as ordinary nodes.

A step's op, attributes and names are known beforehand, so each node only has to be
created. TensorFlow's generated wrappers determine them each time, which takes as long as
creating the node. They are used only in the rare cases that need them.
"""

import functools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import execute
from tensorflow.python.framework import op_callbacks, op_def_library, ops

from tensorflow_ext._runtime import _attributes, _library, _plan, _shape_checks

Tensors = Sequence[tf.Tensor]
Gradients = tuple[tf.Tensor | None, ...]


class GraphReplay:
    """A plan as a function that adds its nodes to the current graph."""

    def __init__(self, plan: _plan.Plan) -> None:
        self._plan = plan
        self._used = [(name, name[0], int(name[1:])) for name in plan.used]

    @functools.cached_property
    def _nodes(self) -> list["_Node"]:
        """The nodes, made when a graph first needs them."""
        return [_Node(step) for step in self._plan.steps]

    def __call__(self, inputs: Tensors, outputs: Tensors, upstream: Sequence[Any]) -> Gradients:
        graph = ops.get_default_graph()
        tensors: dict[str, tf.Tensor] = {}
        for name, kind, index in self._used:
            if kind == "g":
                tensors[name] = to_tensor(upstream[index], outputs, index)
            else:
                tensors[name] = (inputs if kind == "i" else outputs)[index]
        operations: list[tf.Operation] = []
        for node in self._nodes:
            control = node.step.control
            if control:
                with graph.control_dependencies([operations[i] for i in control]):
                    operation = node.add(graph, tensors)
            else:
                operation = node.add(graph, tensors)
            operations.append(operation)
        gradients = tuple(None if name is None else tensors[name] for name in self._plan.results)
        _shape_checks.check(self._plan, inputs, outputs, upstream, gradients)
        if _library.check_gradient_shapes():
            return _shape_checks.checked_in_graph(self._plan, inputs, gradients)
        return gradients


def to_tensor(gradient: object, outputs: Tensors, index: int) -> tf.Tensor:
    """An upstream gradient as a tensor; zeros if there is none."""
    if gradient is None:
        return tf.zeros_like(outputs[index])
    return tf.convert_to_tensor(gradient)


def flat(attrs: dict[str, Any]) -> tuple[Any, ...]:
    """Names and values alternating, as the tape keeps them."""
    return tuple(element for pair in attrs.items() for element in pair)


class _Node:
    """A step that can be added to any graph as a node."""

    def __init__(self, step: _plan.Step) -> None:
        self.step = step
        self._inputs = step.flat_inputs
        self._outputs = step.flat_outputs
        self._op_def = _attributes.find_op_def(step.op)
        # The wrappers colocate a node with a reference that it takes.
        self._takes_references = any(a.is_ref for a in self._op_def.input_arg)

    def add(self, graph: tf.Graph, tensors: dict[str, tf.Tensor]) -> tf.Operation:
        """Adds the node; reads its inputs from `tensors`, writes its outputs there."""
        step = self.step
        inputs = [tensors[name] for name in self._inputs]
        if self._takes_references or not _are_simple(inputs, graph):
            operation, outputs = self._add_by_wrapper(tensors)
        else:
            operation = graph._create_op_internal(
                step.op, inputs, name=step.name, attrs=step.attr_values, op_def=self._op_def
            )
            outputs = operation.outputs
        if execute.must_record_gradient():
            attrs = {name: operation.get_attr(name) for name in step.all_attrs}
            execute.record_gradient(step.op, operation.inputs, flat(attrs), outputs)
        tensors.update(zip(self._outputs, outputs, strict=True))
        return operation

    def _add_by_wrapper(
        self, tensors: dict[str, tf.Tensor]
    ) -> tuple[tf.Operation, list[tf.Tensor]]:
        """Adds the node as TensorFlow's generated wrappers do."""
        step = self.step
        names = (argument.name for argument in self._op_def.input_arg)
        keywords = dict(zip(names, step.arguments(tensors), strict=True))
        _, _, operation, outputs = op_def_library._apply_op_helper(
            step.op, name=step.name, **keywords, **step.attrs
        )
        return operation, outputs


def _are_simple(inputs: list[tf.Tensor], graph: tf.Graph) -> bool:
    """True if these can be inputs of a node of the graph without conversion.

    Others must be captured or refused. Op callbacks, such as the debugger's, may replace
    a node's outputs.
    """
    if op_callbacks.should_invoke_op_callbacks():
        return False
    for tensor in inputs:
        if type(tensor) is not ops.SymbolicTensor or tensor.graph is not graph:
            return False
    return True
