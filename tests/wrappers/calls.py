"""Calls of every wrapper, and their expected graph."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from tensorflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2, tensor_pb2, types_pb2
from tensorflow.python.framework import op_def_library

from tensorflow_ext_codegen.op_interface import Argument, Arity, Attribute, Op

# Types for OpDefs that admit any type; one of the wrapper's two calls uses the first, the other the
# last.
_ANY_TYPE = ("DT_INT32", "DT_FLOAT", "DT_DOUBLE")
# The only valid value of these attributes besides the default.
_ONLY = {"x_order": 1, "y_order": 1}
# Text that source code must escape.
_TEXT = b'a "b" \\ c'


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor of a call: a placeholder, or the Identity of an output."""

    name: str
    type: str


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of a wrapper.

    Attributes:
      name: The node's name.
      op: The op.
      inputs: The placeholders of each input; one for an input that is not a list.
      required: The values of the required attributes, in order.
      optional: The values of the optional attributes that are given: either all, none of them with
        its default, or none.
      outputs: The Identities of each output.
      attributes: The expected attributes of the node, by name.
    """

    name: str
    op: Op
    inputs: list[tuple[Argument, list[Tensor]]]
    required: list[tuple[Attribute, Any]]
    optional: list[tuple[Attribute, Any]]
    outputs: list[tuple[Argument, list[Tensor]]]
    attributes: dict[str, attr_value_pb2.AttrValue]


def calls(ops: Sequence[Op]) -> list[Call]:
    """Two calls of each wrapper, one with and one without its optional attributes, with
    different types and lengths of lists."""
    return [_call(op, given) for op in ops for given in (False, True)]


def has_no_function(call: Call) -> bool:
    """True if no given attribute is a function; some bindings set none."""
    return all(a.type != "func" for a, _ in call.required + call.optional)


def _call(op: Op, given: bool) -> Call:
    name = f"{op.name}.{'given' if given else 'default'}"
    values = {a.name: _of_inputs(a, given) for a in op.inferred}
    others = _Values(given)
    required = [(a, others.value(a)) for a in op.required]
    optional = [(a, others.value(a)) for a in op.optional] if given else []
    values |= {a.name: a.default for a in op.optional}
    values |= {a.name: value for a, value in required + optional}
    return Call(
        name=name,
        op=op,
        inputs=[(x, _tensors(f"{name}.in", x, values)) for x in op.inputs],
        required=required,
        optional=optional,
        outputs=[(x, _tensors(f"{name}.out", x, values)) for x in op.outputs],
        attributes={
            a.name: _attr_value(a, values[a.name])
            for a in (*op.inferred, *op.required, *op.optional)
        },
    )


def _of_inputs(attribute: Attribute, given: bool) -> Any:
    """The value of an attribute that the inputs decide: a type, a length, a list of types."""
    if attribute.type == "int":
        return max(attribute.minimum or 0, 3 if given else 2)
    types = attribute.allowed or _ANY_TYPE
    chosen = types[-1] if given else types[0]
    if attribute.is_list:
        return (types[0], chosen) if given else (chosen,)
    return chosen


class _Values:
    """Values of attributes. All numbers differ, so a wrapper that confuses two attributes
    is noticed."""

    def __init__(self, given: bool) -> None:
        self._given = given
        self._ints: set[int] = set()
        self._floats = 0

    def value(self, attribute: Attribute) -> Any:
        """A value that is not the default."""
        if not attribute.is_list:
            return self._scalar(attribute)
        count = max(2, attribute.minimum or 0)
        return tuple(self._scalar(attribute) for _ in range(count))

    def _scalar(self, attribute: Attribute) -> Any:
        if attribute.name in _ONLY:
            return _ONLY[attribute.name]
        if attribute.type == "int":
            value = 3 if attribute.minimum else 1
            # Odd, as the size of a kernel must be.
            while value in self._ints | {attribute.default}:
                value += 2
            self._ints.add(value)
            return value
        if attribute.type == "float":
            # Increasing, because a lower bound precedes an upper one.
            self._floats += 1
            value = self._floats / 8
            return value + 1 / 16 if value == attribute.default else value
        if attribute.type == "bool":
            return attribute.default is not True
        if attribute.type == "shape":
            return (2, None)
        if attribute.type == "tensor":
            return tensor_pb2.TensorProto(
                dtype=types_pb2.DT_FLOAT, tensor_shape={}, float_val=[2.5]
            )
        if attribute.type == "func":
            return attr_value_pb2.NameAttrList(name="some_function")
        others = [x for x in attribute.allowed if x != attribute.default]
        if not others:
            others = list(_ANY_TYPE) if attribute.type == "type" else [_TEXT]
        return others[-1] if self._given else others[0]


def _tensors(prefix: str, argument: Argument, values: dict[str, Any]) -> list[Tensor]:
    """The tensors of an argument, for these values of the attributes."""
    types = argument.types[:1]
    if argument.type_attr:
        value = values[argument.type_attr]
        types = value if argument.arity is Arity.LIST_OF_TYPES else (value,)
    if argument.arity is Arity.LIST_OF_ONE_TYPE:
        types *= values[argument.number_attr]
    return [Tensor(f"{prefix}.{argument.name}.{i}", dtype) for i, dtype in enumerate(types)]


def _attr_value(attribute: Attribute, value: Any) -> attr_value_pb2.AttrValue:
    kind = f"list({attribute.type})" if attribute.is_list else attribute.type
    if attribute.type == "type":
        number = types_pb2.DataType.Value
        value = [number(x) for x in value] if attribute.is_list else number(value)
    result = op_def_library.value_to_attr_value(value, kind, attribute.name)
    if attribute.is_list:
        result.list.SetInParent()  # An empty list is a list, too.
    return result


def faults(graph: graph_pb2.GraphDef, expected: Sequence[Call]) -> Iterator[str]:
    """The differences between the graph of a program and these calls.

    A node `x` of a call may be named `x` or be in the scope `x`.
    """
    by_label: dict[str, node_def_pb2.NodeDef] = {}
    label_of: dict[str, str] = {}
    for node in graph.node:
        label = node.name.partition("/")[0]
        if label in by_label:
            yield f"{node.name}: a second node of {label}"
        by_label[label] = node
        label_of[node.name] = label

    def inputs(node: node_def_pb2.NodeDef) -> list[str]:
        found = []
        for x in node.input:
            name, _, index = x.partition(":")
            found.append(f"{label_of.get(name, name)}:{index or 0}")
        return found

    for call in expected:
        node = by_label.pop(call.name, None)
        if node is None:
            yield f"{call.name}: there is no such node"
            continue
        if node.op != call.op.op:
            yield f"{call.name}: is a {node.op}, expected {call.op.op}"
        placeholders = [x for _, tensors in call.inputs for x in tensors]
        if inputs(node) != (wanted := [f"{x.name}:0" for x in placeholders]):
            yield f"{call.name}: its inputs are {inputs(node)}, expected {wanted}"
        yield from _attribute_faults(node, call)
        for x in placeholders:
            by_label.pop(x.name, None)
        identities = [x for _, tensors in call.outputs for x in tensors]
        for index, x in enumerate(identities):
            identity = by_label.pop(x.name, None)
            wanted = [f"{call.name}:{index}"]
            if identity is None:
                yield f"{x.name}: there is no such node"
            elif wanted != inputs(identity):
                yield f"{x.name}: is {inputs(identity)}, expected {wanted}"
            elif (found := types_pb2.DataType.Name(identity.attr["T"].type)) != x.type:
                yield f"{x.name}: is {found}, expected {x.type}"
    for label in by_label:
        yield f"{label}: no call makes this node"


def _attribute_faults(node: node_def_pb2.NodeDef, call: Call) -> Iterator[str]:
    own = {name for name in node.attr if not name.startswith("_")}
    if own != set(call.attributes):
        yield (
            f"{call.name}: it has the attributes {sorted(own)}, expected {sorted(call.attributes)}"
        )
    for name in own & set(call.attributes):
        if node.attr[name] != call.attributes[name]:
            found, wanted = (
                " ".join(str(x).split()) for x in (node.attr[name], call.attributes[name])
            )
            yield f"{call.name}: {name} is {found}, expected {wanted}"
