# SPDX-License-Identifier: Apache-2.0
"""What a wrapper of an op takes and gives, read from its OpDef."""

import dataclasses
import enum
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from tensorflow.core.framework import attr_value_pb2, op_def_pb2, types_pb2


class InterfaceError(Exception):
    """Ops cannot have wrappers side by side; the message says why."""


class Arity(enum.Enum):
    """How many tensors an argument is."""

    SINGLE = "single"
    LIST_OF_ONE_TYPE = "list of one type"
    LIST_OF_TYPES = "list of types"


@dataclasses.dataclass(frozen=True)
class Argument:
    """An input or an output.

    Attributes:
      name: As the OpDef has it.
      description: Its documentation; may be empty, may have several lines.
      arity: A tensor, or a list of tensors.
      type_attr: The attribute that is its type, or of a list of types its types;
        empty where the type is fixed.
      number_attr: The attribute that is the length of a list of one type, or empty.
      types: The types that it may have, such as 'DT_FLOAT'; empty: any.
      is_ref: Whether it is a reference to a variable, as TensorFlow 1 had them.
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
        """Whether it is a list of tensors."""
        return self.arity is not Arity.SINGLE


@dataclasses.dataclass(frozen=True)
class Attribute:
    """An attribute.

    Its values are Python's int, float and bool; bytes of a string; of a type its name,
    such as 'DT_FLOAT'; of a shape a tuple, None for an unknown size and None for an
    unknown rank; a TensorProto; of a function a NameAttrList; of a list a tuple.

    Attributes:
      name: As the OpDef has it.
      description: Its documentation, as an argument's.
      type: 'int', 'float', 'bool', 'string', 'type', 'shape', 'tensor' or 'func': of a
        list that of its elements.
      is_list: Whether it is a list.
      has_default: Whether it may be left out.
      default: Its value then.
      minimum: The least value of an int, the least length of a list; None: any.
      allowed: The values that a string or a type (an element, of a list) may have;
        empty: any.
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
      op: Its type, such as 'TfExt>RoiPool'.
      name: That without the namespace, 'RoiPool'.
      text: Its documentation; may be empty.
      inputs: In order.
      outputs: In order.
      inferred: The attributes that follow from the inputs.
      required: Those that do not, and have no default.
      optional: Those that do not, and have one.
      is_stateful: Whether the same inputs may give something else.
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
    """Describes ops, sorted by name; without those that TensorFlow calls hidden, whose
    names begin with an underscore.

    Raises:
      InterfaceError: Two ops have the same name behind their namespaces.
    """
    ops = sorted((describe(op_def) for op_def in op_defs), key=lambda op: op.name)
    ops = [op for op in ops if not op.name.startswith("_")]
    for first, second in itertools.pairwise(ops):
        if first.name == second.name:
            raise InterfaceError(
                f"The wrappers of {first.op!r} and {second.op!r} would both be called "
                f"{first.name}: write the wrappers of their libraries into different "
                "files, each with a --name of its own."
            )
    return ops


def _text(summary: str, description: str) -> str:
    """The parts that REGISTER_OP's Doc was cut into, the first line and the rest, as
    they were: only a line that ends a sentence was a paragraph."""
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


# The fields of an AttrValue, and of its list.
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
    """The value as `Attribute` says it."""
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
