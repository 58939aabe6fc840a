"""A FunctionDef as the gradient of an op, for tensorflow_ext.override_gradient."""

import threading
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, function_pb2, node_def_pb2, op_def_pb2
from tensorflow.python.framework import function_def_to_graph

from tensorflow_ext._override import _recording
from tensorflow_ext._runtime import _attributes, _registration

# The op that marks an input without gradient in a definition.
_NO_GRADIENT = "TfExt>NoGradient"


class FunctionGradient:
    """Runs a definition that takes an op's inputs and upstream gradients."""

    def __init__(self, forward: op_def_pb2.OpDef, definition: function_pb2.FunctionDef) -> None:
        self.__qualname__ = definition.signature.name
        signature = definition.signature
        expected = len(forward.input_arg) + len(forward.output_arg)
        for what, found, wanted in (
            ("arguments", len(signature.input_arg), expected),
            ("results", len(signature.output_arg), len(forward.input_arg)),
        ):
            if found != wanted:
                raise ValueError(
                    f"override_gradient: the definition {signature.name!r} has {found} "
                    f"{what}; as a gradient of {forward.name!r} it needs {wanted}: the "
                    "op's inputs and an upstream gradient for each output as "
                    "arguments, a gradient for each input as results"
                )
        args = (*forward.input_arg, *signature.input_arg, *signature.output_arg)
        if any(arg.number_attr or arg.type_list_attr for arg in args):
            raise ValueError(
                f"override_gradient: {forward.name!r} or the definition "
                f"{signature.name!r} has lists of tensors; give a function "
                "gradient(op, *upstream)"
            )
        self._forward = forward.name
        self._definition = function_pb2.FunctionDef.FromString(definition.SerializeToString())
        self._defaults = {
            attr.name: attr.default_value
            for attr in signature.attr
            if attr.HasField("default_value")
        }
        self._functions: dict[bytes, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, op: _recording.Operation, *upstream: Any) -> Any:
        node = self._node(op)
        key = node.SerializeToString(deterministic=True)
        with self._lock:
            function = self._functions.get(key)
            if function is None:
                function = self._instantiate(node)
                _registration.insert(self._functions, key, function)
        arguments = [
            tf.zeros([]) if gradient is None else tf.convert_to_tensor(gradient)
            for gradient in upstream
        ]
        return list(function(*op.inputs, *arguments))

    def _node(self, op: _recording.Operation) -> node_def_pb2.NodeDef:
        """A NodeDef with the op's attributes."""
        flat = op.attrs
        attrs = dict(zip(flat[::2], flat[1::2], strict=True))
        return _attributes.to_node_def(self._forward, attrs)

    def _instantiate(self, node: node_def_pb2.NodeDef) -> Any:
        """The definition for an op's attributes, as a function of tensors."""
        definition = function_pb2.FunctionDef.FromString(self._definition.SerializeToString())
        signature = definition.signature
        del signature.attr[:]
        for arg in (*signature.input_arg, *signature.output_arg):
            if arg.type_attr:
                arg.type = self._value(node, arg.type_attr).type
                arg.type_attr = ""
        for step in definition.node_def:
            for value in step.attr.values():
                self._fill_in(node, value)
        without = {step.name for step in definition.node_def if step.op == _NO_GRADIENT}
        results = [definition.ret[arg.name] for arg in signature.output_arg]
        wanted = [result.partition(":")[0] not in without for result in results]
        graph_def, names = function_def_to_graph.function_def_to_graph_def(definition)
        inputs = [arg.name for arg in signature.input_arg]
        outputs = [names[r] for r, want in zip(results, wanted, strict=True) if want]

        def run(*arguments: tf.Tensor) -> list[tf.Tensor | None]:
            found = tf.graph_util.import_graph_def(
                graph_def,
                input_map=dict(zip(inputs, arguments, strict=True)),
                return_elements=outputs,
                name="",
            )
            gradients = iter(found)
            return [next(gradients) if want else None for want in wanted]

        return tf.function(run, autograph=False, reduce_retracing=True)

    def _value(self, node: node_def_pb2.NodeDef, name: str) -> attr_value_pb2.AttrValue:
        if name not in node.attr and name in self._defaults:
            return self._defaults[name]
        if name not in node.attr:
            raise ValueError(
                f"override_gradient: the definition {self.__qualname__!r} needs the "
                f"attribute {name!r}, which {node.op!r} does not have; fill it in, or give "
                "a function gradient(op, *upstream)"
            )
        return node.attr[name]

    def _fill_in(self, node: node_def_pb2.NodeDef, value: attr_value_pb2.AttrValue) -> None:
        """Replaces references to the op's attributes by their values."""
        if value.placeholder:
            value.CopyFrom(self._value(node, value.placeholder))
        for inner in value.func.attr.values():
            self._fill_in(node, inner)
