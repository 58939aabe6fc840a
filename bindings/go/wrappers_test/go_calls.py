"""The Go code for the program of all calls."""

import json
from typing import Any

from calls import has_no_function
from objects import Object
from tensorflow.core.framework import types_pb2

from tensorflow_ext import _names as names
from tensorflow_ext_codegen import go, op_interface, optimizers


def _value(attribute: op_interface.Attribute, value: Any) -> str:
    """A value in Go."""
    if attribute.is_list:
        values = ", ".join(_scalar(attribute.type, x) for x in value)
        return f"{go.parameter(attribute)}{{{values}}}"
    return _scalar(attribute.type, value)


def _scalar(element: str, value: Any) -> str:
    if element == "type":
        return _type(value)
    if element == "shape":
        sizes = ["-1" if size is None else str(size) for size in value]
        return f"tf.MakeShape({', '.join(sizes)})"
    if element == "tensor":
        return f"scalar({value.float_val[0]})"
    return json.dumps(value.decode() if isinstance(value, bytes) else value)


def _type(name: str) -> str:
    return f"tf.DataType({types_pb2.DataType.Value(name)})"


def _field(value: Any, field: optimizers.Field) -> str:
    """The value of a field of an optimizer or another class, in Go."""
    if isinstance(value, Object):
        return names.camel_case(value.made.name)
    if field.kind in (optimizers.NUMBERS, optimizers.OPTIONAL_AXES):
        return f"{go.train.field_type(field)}{{{', '.join(map(str, value))}}}"
    call = {
        optimizers.RATE: "train.Rate",
        optimizers.OPTIONAL_NUMBER: "train.Number",
        optimizers.OPTIONAL_COUNT: "train.Count",
    }.get(field.kind)
    return f"{call}({value})" if call else json.dumps(value)


FILTERS = {"can_call": has_no_function, "data_type": _type, "field": _field, "value": _value}
