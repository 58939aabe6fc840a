"""The interface of an op's wrapper, read from its OpDef."""

import dataclasses
import enum
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from tensorflow.core.framework import attr_value_pb2, op_def_pb2, types_pb2


class InterfaceError(Exception):
    """The ops cannot have wrappers in one file; the message says why."""


class Arity(enum.Enum):
    """The number of tensors in an argument."""

    SINGLE = "single"
    LIST_OF_ONE_TYPE = "list of one type"
    LIST_OF_TYPES = "list of types"


@dataclasses.dataclass(frozen=True)
class Argument:
    """An input or an output.

    Attributes:
      name: The name in the OpDef.
      description: The documentation; may be empty or have several lines.
      arity: A tensor, or a list of tensors.
      type_attr: The attribute that is its type, or its list of types; empty if the type
        is fixed.
      number_attr: The attribute that is the length of a list of one type, or empty.
      types: The types that it may have, such as 'DT_FLOAT'; empty means any.
      is_ref: Whether it is a reference to a variable, as in TensorFlow 1.
    """

    name: str
    description: str
    arity: Arity
    type_attr: str
    number_attr: str
    types: tuple[str, ...]
    is_ref: bool

    @property
    def is_list(self) -> bool:
        """True if it is a list of tensors."""
        return self.arity is not Arity.SINGLE


@dataclasses.dataclass(frozen=True)
class Attribute:
    """An attribute.

    Its values are Python's int, float and bool; bytes for a string; the name of a type,
    such as 'DT_FLOAT'; a tuple for a shape, with None for an unknown size, or None for an
    unknown rank; a TensorProto; a NameAttrList for a function; a tuple for a list.

    Attributes:
      name: The name in the OpDef.
      description: The documentation, as for an argument.
      type: 'int', 'float', 'bool', 'string', 'type', 'shape', 'tensor' or 'func'; for a
        list, the type of its elements.
      is_list: Whether it is a list.
      has_default: Whether it may be omitted.
      default: Its value if it is omitted.
      minimum: The minimum of an int, or the minimum length of a list; None means any.
      allowed: The values that a string or a type (or an element of a list) may have;
        empty means any.
    """

    name: str
    description: str
    type: str
    is_list: bool
    has_default: bool
    default: Any
    minimum: int | None
    allowed: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Op:
    """An op.

    Attributes:
      op: The op's type, such as 'TfExt>RoiPool'.
      name: The type without the namespace, 'RoiPool'.
      text: The documentation; may be empty.
      inputs: The inputs, in order.
      outputs: The outputs, in order.
      inferred: The attributes that are inferred from the inputs.
      required: The other attributes without default.
      optional: The other attributes with a default.
      is_stateful: Whether the same inputs may give different outputs.
    """

    op: str
    name: str
    text: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    inferred: tuple[Attribute, ...]
    required: tuple[Attribute, ...]
    optional: tuple[Attribute, ...]
    is_stateful: bool


def describe(op_def: op_def_pb2.OpDef) -> Op:
    """Describes an op."""
    attributes = {attr.name: _attribute(attr) for attr in op_def.attr}
    inputs = tuple(_argument(arg, attributes) for arg in op_def.input_arg)
    inferred = {x.type_attr for x in inputs} | {x.number_attr for x in inputs}
    given = [a for a in attributes.values() if a.name not in inferred]
    return Op(
        op=op_def.name,
        name=op_def.name.rpartition(">")[2],
        text=_text(op_def.summary, op_def.description),
        inputs=inputs,
        outputs=tuple(_argument(arg, attributes) for arg in op_def.output_arg),
        inferred=tuple(a for a in attributes.values() if a.name in inferred),
        required=tuple(a for a in given if not a.has_default),
        optional=tuple(a for a in given if a.has_default),
        is_stateful=op_def.is_stateful,
    )


def describe_all(op_defs: Iterable[op_def_pb2.OpDef]) -> list[Op]:
    """Describes ops, sorted by name, without hidden ops, whose names begin with an
    underscore.

    Raises:
      InterfaceError: Two ops have the same name after their namespaces.
    """
    ops = sorted((describe(op_def) for op_def in op_defs), key=lambda op: op.name)
    ops = [op for op in ops if not op.name.startswith("_")]
    for first, second in itertools.pairwise(ops):
        if first.name == second.name:
            raise InterfaceError(
                f"The wrappers of {first.op!r} and {second.op!r} would both be named "
                f"{first.name}: write the wrappers of their libraries into different "
                "files, each with its own --name."
            )
    return ops


def _text(summary: str, description: str) -> str:
    """The text of REGISTER_OP's Doc, joined from summary and description. The first line
    was its own paragraph only if it ends a sentence."""
    between = "\n\n" if summary.endswith((".", ":")) else "\n"
    return between.join(filter(None, (summary, description)))


def _argument(arg: op_def_pb2.OpDef.ArgDef, attributes: Mapping[str, Attribute]) -> Argument:
    arity = Arity.SINGLE
    if arg.number_attr:
        arity = Arity.LIST_OF_ONE_TYPE
    elif arg.type_list_attr:
        arity = Arity.LIST_OF_TYPES
    type_attr = arg.type_attr or arg.type_list_attr
    types: tuple[str, ...] = (types_pb2.DataType.Name(arg.type),)
    if type_attr:
        types = attributes[type_attr].allowed
    return Argument(
        name=arg.name,
        description=arg.description.strip(),
        arity=arity,
        type_attr=type_attr,
        number_attr=arg.number_attr,
        types=types,
        is_ref=arg.is_ref,
    )


def _attribute(attr: op_def_pb2.OpDef.AttrDef) -> Attribute:
    element = attr.type.removeprefix("list(").removesuffix(")")
    is_list = element != attr.type
    has_default = attr.HasField("default_value")
    return Attribute(
        name=attr.name,
        description=attr.description.strip(),
        type=element,
        is_list=is_list,
        has_default=has_default,
        default=to_value(attr.default_value, element, is_list) if has_default else None,
        minimum=attr.minimum if attr.has_minimum else None,
        allowed=to_value(attr.allowed_values, element, True),
    )


# The fields of an AttrValue and of its list.
FIELDS = {
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}


def to_value(value: attr_value_pb2.AttrValue, element: str, is_list: bool) -> Any:
    """The value in the form that `Attribute` documents."""
    holder = value.list if is_list else value
    content = getattr(holder, FIELDS[element])
    if is_list:
        return tuple(_scalar(x, element) for x in content)
    return _scalar(content, element)


def _scalar(value: Any, element: str) -> Any:
    if element == "type":
        return types_pb2.DataType.Name(value)
    if element == "shape":
        if value.unknown_rank:
            return None
        return tuple(d.size if d.size >= 0 else None for d in value.dim)
    return value
