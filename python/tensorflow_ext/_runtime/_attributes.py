"""Converts an op's attributes between Python values and a NodeDef."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, node_def_pb2, op_def_pb2
from tensorflow.python.framework import op_def_library, op_def_registry

_EXPECTED = {
    "type": "a type such as tf.float32",
    "shape": "a shape such as [2, None]",
    "tensor": "a TensorProto",
    "func": "the name of a function",
}


class Argument(NamedTuple):
    """An argument of an op: the often-read fields of its OpDef.ArgDef. Reading a field of
    a protocol buffer takes ten times as long."""

    name: str
    number_attr: str
    type_list_attr: str
    type_attr: str


Arguments: TypeAlias = "Iterable[op_def_pb2.OpDef.ArgDef | Argument]"


class Signature(NamedTuple):
    """An op's arguments, and the types of its attributes by name."""

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attrs: dict[str, str]


def find_op_def(op: str) -> op_def_pb2.OpDef:
    """Returns the OpDef of a registered op.

    Raises:
      tf.errors.NotFoundError: No op of that name is registered.
    """
    op_def = op_def_registry.get(op)
    if op_def is None:
        raise tf.errors.NotFoundError(
            None,
            None,
            f"There is no op {op!r} in this process: check the name, or load the "
            "library that holds it.",
        )
    return op_def


@functools.cache
def signature(op: str) -> Signature:
    """Returns the signature of a registered op.

    Raises:
      tf.errors.NotFoundError: No op of that name is registered.
    """
    op_def = find_op_def(op)

    def read(arguments: Iterable[op_def_pb2.OpDef.ArgDef]) -> tuple[Argument, ...]:
        fields = Argument._fields
        return tuple(Argument(*(getattr(a, f) for f in fields)) for a in arguments)

    types = {attr.name: attr.type for attr in op_def.attr}
    return Signature(read(op_def.input_arg), read(op_def.output_arg), types)


def to_node_def(op: str, attrs: Mapping[str, Any]) -> node_def_pb2.NodeDef:
    """Converts Python values to a NodeDef that holds them.

    Args:
      op: Name of a registered op.
      attrs: Values by attribute, each an AttrValue or anything that TensorFlow's own
        wrappers take. Annotations (names that begin with '_') are skipped.

    Raises:
      tf.errors.NotFoundError: The op is not registered.
      tf.errors.InvalidArgumentError: The op has no such attribute, or the value
        has another type.
    """
    types = signature(op).attrs
    node = node_def_pb2.NodeDef(op=op)
    for name, value in attrs.items():
        if name.startswith("_"):
            continue
        if name not in types:
            raise tf.errors.InvalidArgumentError(
                None,
                None,
                f"{op} has no attribute {name!r} (given as {value!r}); expected one "
                f"of {sorted(types)}.",
            )
        node.attr[name].CopyFrom(_to_attr_value(op, name, types[name], value))
    return node


def _to_attr_value(op: str, name: str, attr_type: str, value: object) -> attr_value_pb2.AttrValue:
    if isinstance(value, attr_value_pb2.AttrValue):
        return value
    try:
        return op_def_library.value_to_attr_value(value, attr_type, name)
    except (TypeError, ValueError, AttributeError) as error:
        element = attr_type.removeprefix("list(").removesuffix(")")
        expected = _EXPECTED.get(element, f"{element}")
        if element != attr_type:
            expected = f"a list, each element {expected}"
        raise tf.errors.InvalidArgumentError(
            None, None, f"{op}: attribute {name!r} is {value!r}; expected {expected}."
        ) from error


def to_python(value: attr_value_pb2.AttrValue) -> Any:
    """Converts to a value that both TFE_Py_FastPathExecute and the graph builder take."""
    kind = value.WhichOneof("value")
    if kind == "list":
        filled = value.list.ListFields()
        if not filled:
            return []
        field, values = filled[0]
        return [_scalar(field.name, element) for element in values]
    return _scalar(kind, getattr(value, kind))


def _scalar(kind: str, value: Any) -> Any:
    if kind == "type":
        return tf.as_dtype(value)
    if kind == "shape":
        return tf.TensorShape(value)
    if kind == "func" and not value.attr:
        return value.name
    return value


def num_inputs(node: node_def_pb2.NodeDef) -> int:
    """The number of inputs of an op, with list inputs flattened."""
    sizes = argument_sizes(signature(node.op).inputs, node)
    return sum(1 if size is None else size for size in sizes)


def argument_sizes(arguments: Arguments, node: node_def_pb2.NodeDef) -> list[int | None]:
    """The length of each argument that is a list; None for any other."""

    def size(argument: op_def_pb2.OpDef.ArgDef | Argument) -> int | None:
        if argument.number_attr:
            return node.attr[argument.number_attr].i
        if argument.type_list_attr:
            return len(node.attr[argument.type_list_attr].list.type)
        return None

    return [size(argument) for argument in arguments]


def inferred(arguments: Arguments, inputs: Sequence[object]) -> set[str]:
    """The attributes that TensorFlow infers from the inputs for these arguments.

    From an empty list, TensorFlow infers only the length.
    """
    names = set()
    for argument, value in zip(arguments, inputs, strict=True):
        names |= {argument.number_attr, argument.type_list_attr}
        if not (isinstance(value, list) and len(value) == 0):
            names.add(argument.type_attr)
    return names - {""}
