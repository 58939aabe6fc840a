"""The Java code for the program of all calls."""

import json
from typing import Any

from calls import Call
from objects import Object

from tensorflow_ext import _names as names
from tensorflow_ext_codegen import java, op_interface, optimizers


def _value(item: java.Item, value: Any) -> str:
    attribute = item.of
    if item.type.startswith("Class<"):
        return f"{java.TENSORS[value]}.class"
    if attribute.is_list:
        return f"List.of({', '.join(_scalar(attribute.type, x) for x in value)})"
    return _scalar(attribute.type, value)


def _scalar(element: str, value: Any) -> str:
    match element:
        case "bool":
            return str(value).lower()
        case "int":
            return f"{value}L"
        case "float":
            return f"{value}f"
        case "string":
            return json.dumps(value.decode())
        case "type":
            return f"DataType.{value}"
        case "shape":
            sizes = ("Shape.UNKNOWN_SIZE" if x is None else str(x) for x in value)
            return f"Shape.of({', '.join(sizes)})"
        case "tensor":
            return f"TFloat32.scalarOf({value.float_val[0]}f)"
    raise ValueError(f"no value of {element}")


def _attributes(c: java.Class, call: Call) -> list[str]:
    """The arguments of a call after the tensors."""
    values = {a.name: value for a, value in call.required + call.optional}
    given = [_value(x, values[x.of.name]) for x in c.required]
    given += [_value(x, values[x.of.name]) for x in c.chosen if x.of.name in values]
    options = [x for x in c.optional if x.of.name in values]
    return given + [f"{c.name}.{x.name}({_value(x, values[x.of.name])})" for x in options]


def _output(c: java.Class, argument: op_interface.Argument) -> str:
    return next(x.name for x in c.outputs if x.of == argument)


def _field(value: Any, field: optimizers.Field) -> str:
    """The value of a field of an optimizer or another class."""
    if isinstance(value, Object):
        return names.camel_case(value.made.name)
    if field.kind == optimizers.NUMBERS:
        return f"new double[] {{{', '.join(map(str, value))}}}"
    return json.dumps(value).strip("[]")  # Axes are several arguments.


FILTERS = {
    "attributes": _attributes,
    "described": java.describe,
    "field": _field,
    "group": java.group,
    "output": _output,
}
