"""Attaches a custom gradient to the outputs of an op that has run.

Eagerly, a tape records it instead of the op's own. In a graph, an IdentityN follows the
op, as with tf.custom_gradient, and the gradient is registered for that node. There
tf.gradients, functions, loops and branches, XLA and SavedModel find it.
"""

import dataclasses
import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.autograph.impl import api as autograph
from tensorflow.python.eager import backprop, backprop_util, record
from tensorflow.python.framework import func_graph, ops
from tensorflow.python.ops import gen_array_ops, handle_data_util, resource_variable_ops

from tensorflow_ext._override._frames import without

Tensors = Sequence[tf.Tensor]
# A function that tf.RegisterGradient takes.
Gradient = Callable[..., Any]

# The prefix of the names under which gradients of nodes are registered.
_PREFIX = "tensorflow_ext."


class Operation:
    """The op that a gradient gets, in every mode. Like those of an eager tape."""

    # A tape tells a gradient here which inputs need none.
    skip_input_indices = None

    def __init__(
        self, op_type: str, name: str, attrs: tuple[Any, ...], inputs: Tensors, outputs: Tensors
    ) -> None:
        self.type = op_type
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        # Names and values alternate.
        self.attrs = attrs

    def get_attr(self, name: str) -> Any:
        """The value of an attribute, as tf.Operation.get_attr returns it."""
        values = dict(zip(self.attrs[::2], self.attrs[1::2], strict=True))
        return backprop.make_attr(backprop.op_attr_type(self.type, name), values[name])


@dataclasses.dataclass(frozen=True)
class Attached:
    """A gradient for an op that runs with these attributes."""

    # The function that attaches it, for messages and names of nodes.
    by: str
    op_type: str
    # The op and its inputs, for messages.
    name: str
    input_names: Sequence[str]
    # Names and values alternating, as a tape keeps them.
    attrs: tuple[Any, ...]
    gradient: Gradient

    def to(self, outputs: Tensors, inputs: Tensors) -> list[tf.Tensor]:
        """The outputs, as tensors that have this gradient.

        Nothing else may have recorded how eager outputs depend on the inputs.
        """
        outputs, inputs = list(outputs), list(inputs)
        if not any(map(_may_have_gradient, inputs)):
            return outputs
        if not any(map(backprop_util.IsTrainable, outputs)):
            return outputs
        if not isinstance(outputs[0], ops.EagerTensor):
            outputs = self._behind(outputs, inputs)

        def backward(*upstream: Any) -> list[Any]:
            return self.run(inputs, outputs, upstream)

        record.record_operation(self.op_type, outputs, inputs, backward)
        return outputs

    def _behind(self, outputs: Tensors, inputs: Tensors) -> list[tf.Tensor]:
        """The outputs, passed through a node of the graph that has the gradient."""
        operation = outputs[0].op
        graph = operation.graph
        scope = graph.name_scope(f"{operation.name}/{self.by}/")
        sources = [*outputs, *inputs]
        with graph.as_default(), scope, record.stop_recording():
            tensors = without(gen_array_ops.identity_n)(sources)
        for source, tensor in zip(sources, tensors, strict=True):
            handle_data_util.copy_handle_data(source, tensor)
        node = tensors[0].op
        name = self._register(node, len(outputs))
        node._set_attr("_gradient_op_type", attr_value_pb2.AttrValue(s=name.encode()))
        return list(tensors[: len(outputs)])

    def _register(self, node: tf.Operation, num_outputs: int) -> str:
        """Registers the gradient of a node for as long as its graph lives."""
        # Names must differ between processes, because one loads models that another saved.
        name = f"{_PREFIX}{self.by}:{self.name}:{uuid.uuid4().hex}"
        node_name = node.name
        graph = weakref.ref(node.graph)

        @autograph.do_not_convert
        def gradient(node: tf.Operation | None, *upstream: Any) -> list[Any]:
            if node is None:  # SavedModel's export traces gradients this way.
                node = _alive(graph).get_operation_by_name(node_name)
            inputs, outputs = node.inputs[num_outputs:], node.outputs[:num_outputs]
            results = self.run(inputs, outputs, upstream[:num_outputs])
            return [None] * num_outputs + results

        gradient.attached = self
        gradient.num_outputs = num_outputs
        ops.RegisterGradient(name)(gradient)
        entries = ops.gradient_registry._registry
        weakref.finalize(_outermost(node.graph), entries.pop, name, None)
        return name

    def run(self, inputs: Tensors, outputs: Tensors, upstream: Tensors) -> list[Any]:
        """The checked gradients of the inputs."""
        op = Operation(self.op_type, self.name, self.attrs, inputs, outputs)
        upstream = [
            _upstream(gradient, output) for gradient, output in zip(upstream, outputs, strict=True)
        ]
        results = without(self.gradient)(op, *upstream)
        if not isinstance(results, list | tuple):
            results = [results]
        if len(results) != len(inputs):
            raise ValueError(
                f"{self._who()} returned {len(results)} gradients; expected "
                f"{len(inputs)}, one for each input (None for no gradient): "
                f"{', '.join(map(self._input, range(len(inputs))))}"
            )
        return [
            self._checked(index, result, tensor)
            for index, (result, tensor) in enumerate(zip(results, inputs, strict=True))
        ]

    def _checked(self, index: int, result: Any, tensor: tf.Tensor) -> Any:
        """The checked gradient of input `index`, which is `tensor`."""
        if result is None:
            return None
        if isinstance(result, tf.Variable):
            result = tf.convert_to_tensor(result)
        if isinstance(result, tf.IndexedSlices) and result.dense_shape is not None:
            dense_shape = tf.convert_to_tensor(result.dense_shape)
            result = tf.IndexedSlices(result.values, result.indices, dense_shape)
        dtype, shape = _dtype_and_shape(tensor)
        where = f"{self._who()} returned for input {self._input(index)}"
        if not isinstance(result, tf.Tensor | tf.IndexedSlices):
            raise TypeError(
                f"{where} {_described(result)}; expected a tensor of type {dtype.name} "
                f"and shape {shape}, or None"
            )
        if dtype != tf.resource and result.dtype.base_dtype != dtype:
            raise TypeError(
                f"{where} a tensor of type {result.dtype.name}; expected "
                f"{dtype.name}, the type of the input, or None"
            )
        if not result.shape.is_compatible_with(shape):
            raise ValueError(
                f"{where} a tensor of shape {result.shape}; expected {shape}, the shape "
                "of the input, or None"
            )
        if isinstance(result, tf.Tensor) and not result.shape.is_fully_defined():
            result = tf.ensure_shape(result, shape, f"gradient_of_{self.op_type}")
        return tf.nest.map_structure(_here, result, expand_composites=True)

    def _who(self) -> str:
        return f"{self.by}: the gradient {name_of(self.gradient)} of {self.name}"

    def _input(self, index: int) -> str:
        if index < len(self.input_names):
            return f"{index} ({self.input_names[index]})"
        return str(index)


def _alive(graph: "weakref.ref[tf.Graph]") -> tf.Graph:
    found = graph()
    if found is None:
        raise LookupError("the graph of this gradient no longer exists")
    return found


def name_of(gradient: Any) -> str:
    """The name of a function in messages."""
    name = getattr(gradient, "__qualname__", None)
    return repr(name) if isinstance(name, str) else f"of type {type(gradient).__name__}"


def _described(value: Any) -> str:
    """A value that is not a tensor, described for a message."""
    if isinstance(value, np.ndarray):
        return f"a NumPy array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


def attached_to(node: tf.Operation) -> tuple[Attached, int] | None:
    """The gradient for which `Attached.to` made this node, and its number of outputs."""
    try:
        name = node.get_attr("_gradient_op_type").decode()
    except ValueError:
        return None
    if not name.startswith(_PREFIX):
        return None
    gradient = ops.gradient_registry.lookup(name)
    return gradient.attached, gradient.num_outputs


def _here(tensor: tf.Tensor) -> tf.Tensor:
    """A gradient as a tensor of the graph that is being built.

    If the gradient returns an op's input unchanged, it belongs to the graph of the op.
    """
    graph = tf.compat.v1.get_default_graph()
    if isinstance(tensor, ops.EagerTensor) or tensor.graph is graph:
        return tensor
    return tf.identity(tensor)


def _upstream(gradient: Any, output: tf.Tensor) -> Any:
    """An upstream gradient, the same in all modes; None for an output without derivatives."""
    if not backprop_util.IsTrainable(output):
        return None
    return tf.zeros_like(output) if gradient is None else gradient


def _may_have_gradient(tensor: tf.Tensor) -> bool:
    return tensor.dtype in (tf.resource, tf.variant) or backprop_util.IsTrainable(tensor)


def _dtype_and_shape(tensor: tf.Tensor) -> tuple[tf.DType, tf.TensorShape]:
    """The type and shape of a tensor's gradient; for a variable's handle, the variable's."""
    if tensor.dtype == tf.resource:
        data = resource_variable_ops.get_eager_safe_handle_data(tensor)
        if data is not None and data.is_set and len(data.shape_and_type) == 1:
            (found,) = data.shape_and_type
            return tf.as_dtype(found.dtype), tf.TensorShape(found.shape)
        return tf.resource, tf.TensorShape(None)
    if tensor.dtype == tf.variant:
        return tensor.dtype, tf.TensorShape(None)
    return tensor.dtype.base_dtype, tensor.shape


def _outermost(graph: tf.Graph) -> tf.Graph:
    """The outermost function's graph, or the graph itself."""
    while isinstance(graph, func_graph.FuncGraph):
        outer = graph.outer_graph
        if not isinstance(outer, func_graph.FuncGraph):
            break
        graph = outer
    return graph
